"""The centered NFM and AGOP and their first time derivatives are 0 at initialization, the second are 2 Wdot^T Wdot and
2 Wdot^T K Wdot: along the gradient flow they differ from t^2 Wdot^T Wdot and t^2 Wdot^T K Wdot by O(t^3).
"""

from tasks.judge import Finding, Rows, order

ID = "B.prop3"
KIND = "exact"
TITLE = "The centered NFM and AGOP begin with their second derivatives"
PRINTED = "d/dt = 0, d²/dt² = 2ẆᵀẆ and 2ẆᵀKẆ, Proposition 3, (7)–(9)"
QUANTITIES = ("prop3/remainder",)


def rule(rows: Rows) -> Finding:
    """Slope 3 of the remainder in the time, for both matrices, every hidden layer and every network."""
    return order(rows, 3)
