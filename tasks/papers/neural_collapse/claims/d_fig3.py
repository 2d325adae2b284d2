"""In Deep RFM with ReLU features NC1 falls from layer to layer, due to M^{1/2} alone; NC2 falls too.

NC1 = tr S_W / tr S_B. It falls with depth and at M^{1/2}; the random feature map does not lower it. NC2 is the distance
of the class means from a simplex ETF. In each data set both are measured before M^{1/2}, after it, and after the
feature map. The regression has no ridge, as printed, except in layers whose kernel matrix is singular in float64:
these have a ridge of 1.5e-8.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.neural_collapse.claims.shared.layer_collapse import draw as draw
from tasks.papers.neural_collapse.claims.shared.layer_collapse import layer_collapse

ID = "D.fig3"
KIND = "statistical"
TITLE = "ReLU Deep RFM collapses, by the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; M^{1/2} lowers NC1, the feature map does not, Figure 3"
QUANTITIES = ("nc1/data", "nc1/agop", "nc1/features", "nc2/data", "ridge")
FEATURES = "relu"


def rule(rows: Rows) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, M^{1/2} lowers NC1, and Φ does not."""
    return layer_collapse(rows, FEATURES)
