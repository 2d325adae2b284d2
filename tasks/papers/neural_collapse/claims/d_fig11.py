"""The last features of ResNet-18 collapse while its loss falls, and the NFA holds at the end.

Sigma_W/Sigma_T, the fraction of the last features' variance that lies within classes, falls below a tenth of its value
before training. The loss also falls, below 0.36, the loss of the best constant output for ten classes. The NFA is the
Pearson correlation of W^T W with the square root of the AGOP, averaged over the layers. We ask that it rises in
training and ends above 0.5; the reasons are those of D.fig10. In a statement of ours it exceeds, in every layer, what
random matrices of the same spectra reach by chance. The level of the NFA is printed for CIFAR-10. Another statement of
ours is on NC2, as in D.fig10. At the quick scale the network is smaller, and the data are 512 images of four digits, 8
x 8 pixels each. The learning rate falls to 0 there; in the paper it is constant. The initial weights are not small
there: Xavier's gain g is 0.5. The paper has 0.2, and torch's default is 0.58. The best constant output for four classes
has a loss of 0.75, so the limit 0.36 is stricter.
"""

from tasks.papers.neural_collapse.claims.shared.last_features import (
    COLLAPSE,
    CORRELATION,
    controls,
    printed_nfa,
    statements,
)
from tasks.papers.neural_collapse.claims.shared.last_features import draw as draw
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION

ID = "D.fig11"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of ResNet-18"
NFA, DEVIATION = 0.74, 0.17  # at the end of training, over layers and seeds
PRINTED_FOR = "CIFAR-10"  # data set
PRINTED = f"NFA {NFA} ± {DEVIATION} (ResNet, CIFAR-10), Section 5; Figure 11"
MATH = (COLLAPSE, rf"{CORRELATION} = {NFA} \pm {DEVIATION} \quad\text{{at the end, mean over layers}}")
STATEMENTS = (*statements(11), printed_nfa(NFA, DEVIATION, PRINTED_FOR, "ResNet"))
HYPOTHESES = (INTERPOLATION,)
CONTROLS = controls(11)
