"""The last features of ResNet-18 collapse while its loss falls; with a small initialisation the NFA holds at the end.

On each data set S_W/S_T falls, S_B/S_T rises, and they sum to 1. The NFA is the Pearson correlation of W^T W with the
square root of the AGOP. At the end of training, averaged over the five layers, it must be at least the printed mean
minus the printed deviation. Controls: labels shuffled, eigenvectors of the AGOPs drawn at random, traces divided
as in the authors' code, and a large initialisation, which the paper does not show.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.neural_collapse.claims.shared.last_features import draw as draw
from tasks.papers.neural_collapse.claims.shared.last_features import last_features

ID = "D.fig11"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of ResNet-18"
NFA, DEVIATION = 0.74, 0.17  # at the end of training, over layers and seeds
PRINTED_FOR = "CIFAR-10"  # data set
PRINTED = f"NFA {NFA} ± {DEVIATION} (ResNet, CIFAR-10), Section 5; Figure 11"
QUANTITIES = ("within", "between", "train_loss", "nfa", "nfa/null")


def rule(rows: Rows) -> Finding:
    """On each data set the features collapse, the loss falls, and the NFA is at least NFA - DEVIATION."""
    return last_features(rows, NFA, DEVIATION, PRINTED_FOR)
