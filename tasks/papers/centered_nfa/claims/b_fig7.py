"""On data with eigenvalues 1/(1 + k), the centered NFA is more robust to the scale than the uncentered one.

The UC-NFA is small at initialisation and becomes high in training; smaller scales of the initial weights end in a
smaller test loss and in higher UC-NFA and C-NFA. Both hidden layers.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.centered_nfa.claims.shared.b_centerings_figure import draw as draw
from tasks.papers.centered_nfa.claims.shared.rules import ROBUST, SCALES, robust

ID = "B.fig7"
KIND = "statistical"
TITLE = "Centered NFA on data with eigenvalues 1/(1+k)"
PRINTED = "curves, both layers, Figure 7 and Appendix G"
CORRECTION = SCALES
QUANTITIES = ROBUST
CASE = "1/(1+k)"


def rule(rows: Rows) -> Finding:
    """``robust`` on this spectrum."""
    return robust(rows.where(case=CASE))
