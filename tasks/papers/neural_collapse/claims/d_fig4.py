"""In Deep RFM with random Fourier features (cos) NC1 falls layer by layer, by M^{1/2} alone; NC2 falls too.

As D.fig3, with the features of the l1 kernel: cos(Wx + b) with Cauchy W of scale 0.05.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_collapse_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.deep_rfm import collapse

ID = "D.fig4"
KIND = "statistical"
TITLE = "Deep RFM with Fourier features collapses, by the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; M^{1/2} lowers NC1, the feature map does not, Figure 4"
QUANTITIES = ("nc1/data", "nc1/agop", "nc1/features", "nc2/data", "ridge")
FEATURES = "fourier"


def rule(rows: Rows) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, and mean log steps of NC1 at M^{1/2} and Φ."""
    return collapse(rows, FEATURES)
