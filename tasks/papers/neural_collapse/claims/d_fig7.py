"""In the five last hidden layers of an MLP most of the fall of NC1 is due to S V^T, and less to U and ReLU.

W = U S V^T. This must hold on each data set, with a small initialisation, for which the NFA holds: averaged over the
layers it must be at least the printed mean minus the printed deviation.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.neural_collapse.claims.shared.denoising import denoising
from tasks.papers.neural_collapse.claims.shared.denoising import draw as draw

ID = "D.fig7"
KIND = "statistical"
TITLE = "Most of NC1's fall in an MLP is due to the right singular structure"
PRINTED = "“decreases mostly between steps (1) and (2)”, Section 5; Figure 7"
NFA, DEVIATION = 0.74, 0.13  # printed for MLP on MNIST in Section 5: at the end, over layers and seeds
QUANTITIES = ("fall/projection", "fall/activation", "nfa/mean")


def rule(rows: Rows) -> Finding:
    """S V^T takes most of the fall of log NC1, and the NFA is at least NFA - DEVIATION, on each data set."""
    return denoising(rows, NFA - DEVIATION)
