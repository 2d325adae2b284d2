"""During training bFACT correlates little with W W^T for most epochs and then rises to near 1.

bFACT, the backward form of FACT, is the sum of -(W h) (∂l/∂(W h))^T over the n samples, divided by n and the weight
decay; h is the layer's input and l the loss. At a critical point it equals W W^T. At most epochs sqrt(bFACT bFACT^T)
correlates beyond chance, and more than bFACT. Figure 10 draws this, but no sentence of the paper says it: Section 6 is
about FACT (C.fig8). ReLU networks of five hidden layers are trained on CIFAR-10; correlations are means over the hidden
layers.

“Little” means that the median over epochs is below 0.5, and “near 1” that the last epoch is above 0.9. “Late” means
that the correlation rises with the epoch, and later than along a straight line: its mean over epochs is below the mean
of its first and last value. At the quick scale the images are digits of 8 x 8 pixels.
"""

from functools import partial

from tasks.judging.statement import Control
from tasks.papers.fact.claims.shared.correlation_figures import draw_epochs
from tasks.papers.fact.claims.shared.correlations import HIDDEN, epochs_statements, of_parts

ID = "C.fig10"
KIND = "statistical"
TITLE = "bFACT during training: low, then near 1"
PRINTED = "bFACT, bAGOP and beNFA against epochs, Figure 10 (as curves)"
MATH = (
    r"\rho\left( \text{bFACT}_l,\; W_l W_l^\top \right) < \frac{1}{2} \text{ for most epochs}, \quad "
    r"\approx 1 \text{ at the end}"
)
DATA_SETS = ("CIFAR-10", "digits")  # digits at the quick scale
CONTROLS = {
    "shuffled labels": Control(text="The labels are shuffled before bFACT is computed, but not in training."),
}
STATEMENTS = epochs_statements("back_", "Figure 10", layers=HIDDEN)
HYPOTHESES = of_parts(STATEMENTS, {"": DATA_SETS})  # the networks on MNIST are not in this figure

draw = partial(draw_epochs, side="back_")
