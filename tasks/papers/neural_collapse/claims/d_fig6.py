"""After M^{1/2} in the last layer of Deep RFM with ReLU features the Gram image is that of a simplex ETF.

As D.fig1: centred and normalised points have inner product 1 within a class and -1/(K-1) across, to a tenth.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_gram_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.deep_rfm import simplex

ID = "D.fig6"
KIND = "statistical"
TITLE = "The Gram image ends as a simplex ETF: ReLU features"
PRINTED = "within 1, across −1/(K−1) after 18 layers: ReLU on CIFAR-10, SVHN and MNIST, Figure 6"
QUANTITIES = ("gram/within", "gram/across", "gram/spread", "ridge")
FEATURES = ("relu",)


def rule(rows: Rows) -> Finding:
    """Each deviation's Student interval over seeds within a tenth, in every data set."""
    return simplex(rows, FEATURES)
