"""After training, FACT correlates more with W^T W than AGOP, eNFA and their square roots, on every hidden layer.

ReLU networks of five hidden layers are trained with mean squared error on MNIST and on CIFAR-10. The correlation is
Pearson's. At the quick scale the images are digits of 8 x 8 pixels. Each data set has its own statements and
conditions. The control computes FACT with shuffled labels.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_layers
from tasks.papers.fact.claims.shared.correlations import SETS, layers_statements, of_parts, shuffled_labels

ID = "C.fig3"
KIND = "statistical"
TITLE = "FACT is ahead of AGOP and eNFA on every layer"
PRINTED = "FACT above AGOP, eNFA and √eNFA at every layer, on MNIST and CIFAR-10, Figure 3"
MATH = (
    r"\rho\left( \text{FACT}_l,\; W_l^\top W_l \right) > \rho\left( \text{AGOP}_l,\; W_l^\top W_l "
    r"\right),\; \rho\left( \text{eNFA}_l,\; W_l^\top W_l \right) \quad\text{at every layer } l"
)
SIDE = ""  # of the layer: its input
STATEMENTS = layers_statements(SIDE, "Figure 3", prefix="")
HYPOTHESES = of_parts(STATEMENTS, SETS)
CONTROLS = shuffled_labels("agop", "root agop")

draw = partial(draw_layers, side=SIDE)
