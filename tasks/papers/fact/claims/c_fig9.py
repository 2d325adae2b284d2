"""After training, bFACT correlates more with W W^T than bAGOP, beNFA and their square roots, on every hidden layer.

ReLU networks of five hidden layers are trained with mean squared error on MNIST and on CIFAR-10. The correlation is
Pearson's. At the quick scale the images are digits of 8 x 8 pixels. Each data set has its own statements and
conditions. The control computes bFACT with shuffled labels.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_layers
from tasks.papers.fact.claims.shared.correlations import SETS, layers_statements, of_parts, shuffled_labels

ID = "C.fig9"
KIND = "statistical"
TITLE = "bFACT is ahead of bAGOP and beNFA on every layer"
PRINTED = "bFACT above bAGOP and beNFA at every layer, on MNIST and CIFAR-10, Figure 9"
MATH = (
    r"\rho\left( \text{bFACT}_l,\; W_l W_l^\top \right) > \rho\left( \text{bAGOP}_l,\; W_l W_l^\top "
    r"\right),\; \rho\left( \text{beNFA}_l,\; W_l W_l^\top \right) \quad\text{at every layer } l"
)
SIDE = "back_"  # of the layer: its output
STATEMENTS = layers_statements(SIDE, "Figure 9", prefix="b")
HYPOTHESES = of_parts(STATEMENTS, SETS)
CONTROLS = shuffled_labels("back_agop", "back_root agop")

draw = partial(draw_layers, side=SIDE)
