"""The actual update is bounded by the virtual one: |sigma(W+ h) - sigma(W h)| <= L^2 |h+ - h|, with equal signs.

Both hold element-wise for one gradient step on one sample with ||h_{l-1}|| = 1 and all other layers fixed: the bound
for L-Lipschitz sigma, the signs for non-decreasing sigma (where 0 has either sign).
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, never

ID = "A.prop1"
KIND = "bound"
TITLE = "The actual update is bounded by the virtual one, with equal signs"
PRINTED = "|σ(W⁺h) − σ(Wh)| ≤ L²|h⁺ − h|, Proposition 1"
QUANTITIES = ("prop1/ratio", "prop1/opposite signs")


def rule(rows: Rows) -> Finding:
    """Both on every instance: ReLU, leaky ReLU, tanh, sigmoid, softplus and identity, each with its L."""
    return all_of(
        bound=bound(rows.where(quantity="prop1/ratio")),
        signs=never(rows.where(quantity="prop1/opposite signs"), "opposite sign"),
    )
