"""S V^T takes most of what the five layers at the end of a ResNet take from NC1, and U and ReLU the lesser part.

Figure 2 shows an MLP on MNIST (A), the first row of Figure 7, and a ResNet on CIFAR-10 (B), the second of Figure 8.
This is B; A is the first line of D.fig7.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.neural_collapse.claims.shared.d_denoising_figure import draw as draw
from tasks.papers.neural_collapse.claims.shared.networks import denoised

ID = "D.fig2"
KIND = "statistical"
TITLE = "NC1 falls at the projection on the right singular structure"
PRINTED = "“decreases mostly between steps (1) and (2)”, Section 5; Figure 2"
SET = "CIFAR-10"
QUANTITIES = ("fall/projection", "fall/activation", "nfa/mean")


def rule(rows: Rows) -> Finding:
    """0.74 - 0.17 = 0.57 is the least NFA."""
    return denoised(rows, least=0.57, only=SET)
