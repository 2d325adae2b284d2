"""In the last layer of Deep RFM, after M^{1/2}, the Gram matrix of the points is that of a simplex ETF.

M is the layer's AGOP. The points are centred and normalised. The mean inner product of two points must be 1 in one
class and -1/(K-1) in different classes, each to a tenth of the printed number. For every pair of class means the inner
product must be -1/(K-1) too, to 0.1 in the root mean square over pairs. At the quick scale the data are digits of 8 x 8
pixels. The regression has no ridge, as printed, unless the kernel matrix is singular in float64: then the ridge is
1.5e-8 of the matrix's mean diagonal. The controls have M = I, or a Deep RFM that is fitted to shuffled labels. Figure 1
shows layers 1 to 19, each after its M^{1/2}. Our 18 layers end with the M of layer 18.
"""

from tasks.judging.statement import Control
from tasks.papers.neural_collapse.claims.shared import simplex
from tasks.papers.neural_collapse.claims.shared.deep_rfm import EQUAL_SEEDS as EQUAL_SEEDS
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolation
from tasks.papers.neural_collapse.claims.shared.simplex import draw as draw
from tasks.papers.neural_collapse.claims.shared.simplex import statements

ID = "D.fig1"
KIND = "statistical"
TITLE = "The last layer's Gram matrix is that of a simplex ETF"
PRINTED = (
    "inner products 1 within and −1/(K−1) across classes after 18 layers: CIFAR-10 by cos, MNIST by ReLU, Figure 1"
)
MATH = simplex.MATH
CASES = (  # data set, kernel, features
    "cifar10, laplace, fourier", "cifar10-jpeg, laplace, fourier", "mnist, gaussian, relu",
    "digits, laplace, fourier", "digits, laplace, relu",
)  # fmt: skip
CONTROLS = {
    "M = I": Control(text="M is the identity in every layer instead of the AGOP."),
    "fitted to shuffled labels": Control(
        text="Deep RFM is fitted to shuffled labels, and collapse is measured with the true ones."
    ),
}
STATEMENTS = statements(CASES, figure=1, rows=108)
HYPOTHESES = (interpolation(CASES),)
