"""The last features of an MLP collapse while its loss falls; with a small initialisation the NFA holds at the end.

On each data set Sigma_W/Sigma_T, the fraction of the variance that lies within classes, falls below a tenth of its
value before training. The loss also falls, below that of the best constant output.

The NFA is the Pearson correlation of W^T W with the square root of the AGOP. An untrained network passes a comparison
with chance too, so we read the paper's sentence on the NFA as a result of training. The mean NFA over the five layers
must rise in training, and end above 0.5, nearer to 1 than to 0. The rise and the limits are ours. Two statements of
ours are about every layer: the NFA rises there, and it exceeds what random matrices of the same spectra reach by
chance. This chance is above the text's 0.04, which is for two random eigenvectors of dimension 512. With the paper's
own settings we also judge the NFA's printed level on MNIST. There the NFA ends near this level, but it is higher before
training.

Our "±" is over seeds, the paper's over layers and seeds. The paper says, without a figure, that only the very last
layer shows a strong progression of NC2. In a statement of ours NC2 falls in training at the last hidden layer, and more
than at any earlier one. NC2 falls there for shuffled labels too. At the quick scale the images are digits of 8 x 8
pixels, and the networks are smaller.
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

ID = "D.fig10"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of an MLP"
NFA, DEVIATION = 0.74, 0.13  # at the end of training, over layers and seeds
PRINTED_FOR = "MNIST"  # data set
PRINTED = f"NFA {NFA} ± {DEVIATION} (MLP, MNIST), Section 5; Figure 10"
MATH = (COLLAPSE, rf"{CORRELATION} = {NFA} \pm {DEVIATION} \quad\text{{at the end, mean over layers}}")
STATEMENTS = (*statements(10), printed_nfa(NFA, DEVIATION, PRINTED_FOR, "MLP"))
HYPOTHESES = (INTERPOLATION,)
CONTROLS = controls(10)
