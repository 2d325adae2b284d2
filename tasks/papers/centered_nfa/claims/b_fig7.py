"""On data with eigenvalues 1/(1 + k), the centered NFA is more robust to the initial scale than the uncentered NFA.

The UC-NFA is small at initialization and becomes high in training. Smaller initial weights lead to a smaller final test
loss and to a higher final UC-NFA and C-NFA. Correlations are means over both hidden layers; what holds in each of them
stands beside. The spread is the largest less the smallest value over the initial scales s₀, mean over training.
"""

from tasks.judging.statement import Control
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig7"
KIND = "statistical"
TITLE = "Centered NFA on data with eigenvalues 1/(1+k)"
PRINTED = (
    "C-NFA “more robust to the initialization scale than the UC-NFA”; UC-NFA “high through training, while being small "
    "at initialization”; test loss “improves for smaller initializations”; curves of both layers, Figure 7, Appendix G"
)
MATH = (
    (
        r"\operatorname{spread}_{s_0} \rho\left( \bar W^\top \bar W, \bar W^\top K \bar W \right) "
        r"< \operatorname{spread}_{s_0} \rho\left( W^\top W, W^\top K W \right)"
    ),
    r"\lambda_k(\Sigma) = \frac{1}{1 + k}",
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTION = centerings.CORRECTION
SPECTRUM = "1/(1+k)"
CONTROLS = {
    "no training": Control(
        scales=("quick",),  # the paper's table is older than this control
        has=("nfa/centered", "nfa/uncentered", "null/uncentered"),
    ),
    "random K": Control(
        has=("nfa/centered", "nfa/uncentered", "null/uncentered"),
        shares=("test_loss",),
        because="It replaces K in the measure; the networks, and so their losses, are the claim's.",
    ),
}
STATEMENTS = centerings.appendix_g(SPECTRUM, "Figure 7")

draw = centerings.draw_nfa_and_losses
