"""After M^{1/2} in the last layer, centred and normalised points have inner product 1 within a class, -1/(K-1) across.

That is the Gram matrix of a simplex equiangular tight frame. Judged to a tenth: the mean over pairs within a class,
over pairs across, and, since each pair of classes must have -1/(K-1), their root mean square deviation from it.
Without ridge, as printed, but for layers whose kernel matrix is singular in float64: these have one of 1.5e-8.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_gram_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.deep_rfm import simplex

ID = "D.fig1"
KIND = "statistical"
TITLE = "The Gram image ends as a simplex ETF"
PRINTED = "within 1, across −1/(K−1) after 18 layers: CIFAR-10 by cos, MNIST by ReLU, Figure 1"
QUANTITIES = ("gram/within", "gram/across", "gram/spread", "ridge")
# digits, where they stand for CIFAR-10 and for MNIST
FEATURES = ("cifar10, laplace, fourier", "mnist, gaussian, relu", "digits, laplace, fourier", "digits, gaussian, relu")


def rule(rows: Rows) -> Finding:
    """Each deviation's Student interval over seeds within a tenth, in every data set."""
    return simplex(rows, FEATURES)
