"""In Deep RFM with ReLU features NC1 falls from layer to layer, due to M^{1/2} alone; NC2 falls too.

NC1 = tr S_W / tr S_B. It falls with depth and at M^{1/2}; the random feature map does not lower it. NC2 is the distance
of the class means from a simplex ETF. In each data set both are measured before M^{1/2}, after it, and after the
feature map. The regression has no ridge, as printed, except in layers whose kernel matrix is singular in float64:
these have a ridge of 1.5e-8.
"""

from tasks.papers.neural_collapse.claims.shared import layer_collapse
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolation
from tasks.papers.neural_collapse.claims.shared.layer_collapse import draw as draw
from tasks.papers.neural_collapse.claims.shared.layer_collapse import statements

ID = "D.fig3"
KIND = "statistical"
TITLE = "ReLU Deep RFM collapses, by the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; M^{1/2} lowers NC1, the feature map does not, Figure 3"
MATH = layer_collapse.MATH
FEATURES = "relu"
STATEMENTS = statements(FEATURES, figure=3)
HYPOTHESES = (interpolation(FEATURES),)
