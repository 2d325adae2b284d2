"""The surrogate bounds Target Linearity: T_lambda(H, Y) >= 1 - C / S(G_id), where S(G_id) = Y^T H^T W^T W H Y.

C = e_0^-1 e_1^2 c_0^2 (2 lambda + c_1^2)^2 / (4 lambda) as in C.3, with ||W||_op <= c_0, ||H||_F <= c_1, and
e_0 = ||Y - mean||_2^2. The body has e_1 = ||Y||_2, the appendix e_1 = ||Y||_2^2.
"""

from dataclasses import replace

from tasks.judge import Finding, Rows, bound

ID = "A.thm2"
KIND = "bound"
TITLE = "Target Linearity is bounded by the surrogate"
PRINTED = "𝒯_λ ≥ 1 − C·𝒮(G_id)⁻¹, e₁ = ‖Y‖₂, Theorem 2"
CORRECTION = (
    "e₁ = ‖Y‖₂², as in Appendix C.3: with the body's e₁ = ‖Y‖₂ the right side changes with the units of Y and the left "
    "does not. The bound is never nearer than by 27/4: (1 − 𝒯_λ)𝒮/C ≤ 4/27, attained at rank-one features with "
    "λ_max = λ and two thirds of ‖Y‖² in their direction."
)
QUANTITIES = ("thm2/ratio",)


def rule(rows: Rows) -> Finding:
    """(1 - T_lambda) / (C / S) at most 1 on random, ill-conditioned, trained and extremal layers, for Y of any size."""
    found = bound(rows)
    loosest = float(rows.value.min())
    numbers = {**found.numbers, "least left / right": loosest}
    measured = f"(1 − 𝒯)𝒮/C is at most {found.statistic:.4g} and as little as {loosest:.2g}"
    return replace(found, numbers=numbers, measured=measured)
