"""Under Neural Collapse (NC1, NC2) G_id = Y Y^T, and S_cls(G_id) is the most that the norm ||G_id||_F allows.

For centred features, readout and bias trained by least squares on the centred one-hot labels Y, and S_cls(G) =
tr(Y^T G Y) with these same labels. Features that are centred and form a simplex have classes of equal size.
"""

from dataclasses import replace

from tasks.judge import UNIT, Finding, Rows, every, exact

ID = "A.prop2"
KIND = "exact"
TITLE = "Neural Collapse attains the surrogate's maximum"
PRINTED = "G_id = YYᵀ and 𝒮_cls(G_id) maximal under ‖G_id‖_F ≤ c, Proposition 2"
QUANTITIES = ("prop2/gram", "prop2/residual", "prop2/without NC2")


def rule(rows: Rows) -> Finding:
    """Both to round-off, on simplices of two to seven classes of any scale; NC1 alone is reported beside them."""
    found = every(
        gram=exact(rows.where(quantity="prop2/gram")),
        maximum=exact(rows.where(quantity="prop2/residual")),
    )
    general = rows.where(quantity="prop2/without NC2", dtype="float64")
    if not len(general):
        return found
    worst = float(general.value.max() / UNIT["float64"])
    numbers = {**found.numbers, "G_id = YYᵀ under NC1 alone, means in general position": worst}
    return replace(found, numbers=numbers)
