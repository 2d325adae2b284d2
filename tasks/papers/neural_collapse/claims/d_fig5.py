"""In the last layer of Deep RFM with Fourier features, after M^{1/2}, the Gram matrix is that of a simplex ETF.

As in D.fig1, M is the AGOP, and centred and normalised points have a mean inner product of 1 in one class and of
-1/(K-1) in different classes, to a tenth of these numbers. Class means have -1/(K-1) for every pair of classes, to 0.1
in the root mean square over pairs. At the quick scale the data are digits of 8 x 8 pixels.
"""

from tasks.judging.statement import Control
from tasks.papers.neural_collapse.claims.shared import simplex
from tasks.papers.neural_collapse.claims.shared.deep_rfm import EQUAL_SEEDS as EQUAL_SEEDS
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolation
from tasks.papers.neural_collapse.claims.shared.simplex import draw as draw
from tasks.papers.neural_collapse.claims.shared.simplex import statements

ID = "D.fig5"
KIND = "statistical"
TITLE = "The last layer's Gram matrix is that of a simplex ETF: Fourier features"
PRINTED = (
    "inner products 1 within and −1/(K−1) across classes after 18 layers: cos on CIFAR-10, SVHN and MNIST, Figure 5"
)
MATH = simplex.MATH
CASES = ("fourier",)  # endings of "data set, kernel, features"
CONTROLS = {
    "M = I": Control(text="M is the identity in every layer instead of the AGOP."),
    "fitted to shuffled labels": Control(
        text="Deep RFM is fitted to shuffled labels, and collapse is measured with the true ones."
    ),
}
STATEMENTS = statements(CASES, figure=5, rows=90)
HYPOTHESES = (interpolation(CASES),)
