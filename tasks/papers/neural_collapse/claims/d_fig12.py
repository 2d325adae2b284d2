"""The last features of VGG-11 collapse while its loss falls; with a small initialisation the NFA holds at the end.

As in D.fig10: the share Sigma_W/Sigma_T and the loss fall, and the NFA is above chance. The text prints no level of the
NFA for VGG. At the quick scale the images are digits of 8 x 8 pixels, and the network is smaller.
"""

from tasks.papers.neural_collapse.claims.shared.last_features import COLLAPSE, CORRELATION, controls, statements
from tasks.papers.neural_collapse.claims.shared.last_features import draw as draw
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION

ID = "D.fig12"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of VGG-11"
PRINTED = "“we verify the NFA, DNC, and plot the training loss”, Appendix D; Figure 12"
MATH = (COLLAPSE, rf"{CORRELATION} \text{{ is high at the end}}")
STATEMENTS = statements(12)
HYPOTHESES = (INTERPOLATION,)
CONTROLS = controls("SVHN")
