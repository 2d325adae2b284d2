"""In Deep RFM with ReLU features NC1 falls layer by layer, by M^{1/2} alone; NC2 falls too.

NC1 = tr S_W / tr S_B falls with depth and at M^{1/2}; the random feature map does not lower it. NC2 is the class means'
distance from a simplex ETF. Measured before M^{1/2}, after it, and after the feature map, in each data set.
Without ridge, as printed, but for layers whose kernel matrix is singular in float64: these have one of 1.5e-8.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_collapse_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.deep_rfm import collapse

ID = "D.fig3"
KIND = "statistical"
TITLE = "ReLU Deep RFM collapses, by the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; M^{1/2} lowers NC1, the feature map does not, Figure 3"
QUANTITIES = ("nc1/data", "nc1/agop", "nc1/features", "nc2/data", "ridge")
FEATURES = "relu"


def rule(rows: Rows) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, and mean log steps of NC1 at M^{1/2} and Φ."""
    return collapse(rows, FEATURES)
