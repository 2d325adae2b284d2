"""The last features of VGG-11 collapse while its loss falls, and the NFA holds at the end.

Sigma_W/Sigma_T, the fraction of the last features' variance that lies within classes, falls below a tenth of its value
before training. The loss also falls, below 0.36, the loss of the best constant output for ten classes. The NFA is the
Pearson correlation of W^T W with the square root of the AGOP, averaged over the layers. We ask that it rises in
training and ends above 0.5; the reasons are those of D.fig10. In a statement of ours it exceeds, in every layer, what
random matrices of the same spectra reach by chance. The text prints no level of the NFA for VGG. Another statement of
ours is on NC2, as in D.fig10. At the quick scale the data are 512 images of four digits, enlarged to 16 x 16 pixels,
and the network is smaller. The initial weights are not small there: Xavier's gain g is 0.6. The paper has 0.3 (MNIST:
0.2), and torch's default is 0.58. The best constant output for four classes has a loss of 0.75, so the limit 0.36 is
stricter.
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
CONTROLS = controls(12)
