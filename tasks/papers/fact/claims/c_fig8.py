"""During training FACT correlates little with W^T W for most epochs and then rises to near 1.

At most epochs sqrt(FACT FACT^T) correlates beyond chance, and more than FACT. ReLU networks of five hidden layers are
trained on CIFAR-10; correlations are means over the first three layers. “Little” means that the median over epochs is
below 0.5, and “near 1” that the last epoch is above 0.9. “Sharply increasing” means that the correlation rises with the
epoch, and later than along a straight line: its mean over epochs is below the mean of its first and last value. Also,
more than half of the rise must come within a fifth of the epochs, a threshold of ours as in C.fig1. The paper's reason
is that FACT need not correlate before interpolation. So a statement of ours compares two times: FACT passes 0.5 after
the training accuracy has reached 0.99. At the quick scale the images are digits of 8 x 8 pixels.
"""

from functools import partial

from tasks.judging.statement import Control
from tasks.papers.fact.claims.shared.correlation_figures import draw_epochs
from tasks.papers.fact.claims.shared.correlations import epochs_statements, interpolation_statement, of_parts

ID = "C.fig8"
KIND = "statistical"
TITLE = "FACT during training: low, then near 1"
PRINTED = "“low correlation for most epochs”, “sharply increasing to near-perfect correlation”, Figure 8"
MATH = (
    r"\rho\left( \text{FACT}_l,\; W_l^\top W_l \right) < \frac{1}{2} \text{ for most epochs}, \quad "
    r"\approx 1 \text{ at the end}"
)
DATA_SETS = ("CIFAR-10", "digits")  # digits at the quick scale
LAYERS = {"0", "2", "4"}
CONTROLS = {  # the network is the claim's, and so is its training accuracy
    "shuffled labels": Control(
        text="The labels are shuffled before FACT is computed, but not in training.",
        has=("pearson/fact", "pearson/symmetric fact", "null/fact"),
    ),
}
STATEMENTS = (*epochs_statements("", "Figure 8", LAYERS), interpolation_statement(LAYERS))
HYPOTHESES = of_parts(STATEMENTS, {"": DATA_SETS})  # the networks on MNIST are not in this figure

draw = partial(draw_epochs, side="")
