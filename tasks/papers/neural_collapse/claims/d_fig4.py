"""In Deep RFM with random Fourier features (cos) NC1 falls from layer to layer, due to M^{1/2} alone; NC2 falls too.

As in D.fig3, but with the features of the l1 kernel: cos(Wx + b) with Cauchy W of scale 0.05.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.neural_collapse.claims.shared.layer_collapse import draw as draw
from tasks.papers.neural_collapse.claims.shared.layer_collapse import layer_collapse

ID = "D.fig4"
KIND = "statistical"
TITLE = "Deep RFM with Fourier features collapses, by the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; M^{1/2} lowers NC1, the feature map does not, Figure 4"
QUANTITIES = ("nc1/data", "nc1/agop", "nc1/features", "nc2/data", "ridge")
FEATURES = "fourier"


def rule(rows: Rows) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, M^{1/2} lowers NC1, and Φ does not."""
    return layer_collapse(rows, FEATURES)
