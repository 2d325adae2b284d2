"""The last features of ResNet-18 collapse while its loss falls, and begun small the NFA holds at the end.

On each data set S_W/S_T falls, S_B/S_T rises, and they sum to 1. Pearson of W^T W with the AGOP's square root, at the
end and over the five layers: its lower end as printed, 0.74 ± 0.17, is asked of it.
The controls shuffle the labels, turn the AGOPs' eigenvectors, and begin large, which the paper does not show.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_nfa_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.networks import collapsed

ID = "D.fig11"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of ResNet-18"
PRINTED = "NFA 0.74 ± 0.17 (ResNet, CIFAR-10), Section 5; Figure 11"
QUANTITIES = ("within", "between", "train_loss", "nfa", "nfa/null")


def rule(rows: Rows) -> Finding:
    """0.74 - 0.17 = 0.57 is the least NFA."""
    return collapsed(rows, least=0.57, printed={"CIFAR-10": 0.74})
