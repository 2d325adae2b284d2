"""In linearised kernels Deep RFM's Gram G_l converges to yy^T: d_{l+1} <= (1 - eps) d_l + O(lambda_k^2 lambda_Phi^-2).

d_l = ||G_l - yy^T||, G_{l+1} = kappa^-1 X^T M X, X^T X = G_l + lambda_Phi I; y is one-hot with n samples in a class.
As printed, kappa = 1 - 2 lambda_k (1 + 1/lambda_Phi) and lambda_k <= C lambda_Phi (1 - eps) / (2 (1 + 1/lambda_Phi) n).
The remainder's order is the slope of the largest excess over (1 - eps) d_l in lambda_k, down to 2^-11 of the bound's
lambda_k; its constant is generous: 4.5 n (lambda_k / lambda_Phi)^2. The print leaves C open; here C = 1, as its proof
has it. Three of the proof's constants are judged too: kappa > 1/2, eps_A / lambda_Phi < 1/2 and ||Psi~|| <= 2, where
eps_A = ||A - A*|| after one layer, A* = yy^T + lambda_Phi I, and Psi~ = A* A^-1.
"""

from dataclasses import replace

from tasks.judge import Finding, Rows, bound, every, order

ID = "D.thm4.3"
KIND = "bound"
TITLE = "Linearised Deep RFM collapses layer by layer"
PRINTED = "κ = 1 − 2λ_k(1+λ_Φ⁻¹), λ_k ≤ Cλ_Φ(1−ε)/(2(1+λ_Φ⁻¹)n), remainder O(λ_k²λ_Φ⁻²), Theorem 4.3"
CORRECTION = (
    "κ = 1 − 2λ_k/(λ_Φ+n), since (A*)⁻¹yyᵀ = yyᵀ/(λ_Φ+n) (D.lemB.2). With the printed κ the recursion stops at a "
    "distance of about 2nλ_k(1+λ_Φ⁻¹), of first order in λ_k for every C; and where λ_Φ > n, κ can be negative. "
    "The condition needs no n: λ_k ≤ λ_Φ(1−ε)/4 is enough; the remainder is at most 4.5n(λ_k/(λ_Φ+n))² and the rate at "
    "most λ_k/λ_Φ. With κ = (1+λ_k/(λ_Φ+n))⁻², yyᵀ is the fixed point and there is no remainder. M is the mean over "
    "the points, as in Section 3.3, and not the sum that Algorithm 1 and the proof have. The proof's κ > 1/2 fails for "
    "every C where λ_Φ/n is large: κ = 1 − C(1−ε)λ_Φ/n. Partial collapse, ε_A < λ_Φ/2, does not follow from the 1/2 "
    "that is shown instead; with C = 1, as in the proof, it fails at ε = 0.1: ε_A/λ_Φ reaches 0.9 at λ_Φ = 0.1 and "
    "1.5 at λ_Φ = 1, both with n = 2; C = 1/4 is small enough where κ > 0 on this grid. λ_k ≤ λ_Φ²/(12n) gives it, but "
    "nothing needs it, since (A*)⁻¹Ψ̃ = A⁻¹, of norm 1/λ_Φ at most; and ‖Ψ̃‖ ≤ 2 holds all the same."
)
FORMS = {
    "inequality": ("d_{l+1} ≤ (1−ε)d_l + O(λ_k²λ_Φ⁻²), κ = 1 − 2λ_k(1+λ_Φ⁻¹)", "κ = 1 − 2λ_k/(λ_Φ+n)"),
    "remainder": ("O(λ_k²λ_Φ⁻²)", "4.5n(λ_k/(λ_Φ+n))²"),
    "kappa": ("κ > 1/2 by choice of λ_k", "by λ_k ≤ λ_Φ(1−ε)/4, with κ = 1 − 2λ_k/(λ_Φ+n)"),
    "partial_collapse": ("ε_A/λ_Φ < 1/2 after the first layer", "by λ_k ≤ λ_Φ²/(12n)"),
    "psi": ("‖Ψ̃‖ ≤ 2",),
}
QUANTITIES = (
    "thm4_3/ratio", "thm4_3/remainder", "thm4_3/exact", "thm4_3/rate", "thm4_3/floor", "thm4_3/kappa",
    "thm4_3/collapsed", "thm4_3/psi",
)  # fmt: skip


def rule(rows: Rows) -> Finding:
    """Both sides of the inequality over the grid, the remainder's order, none for the exact kappa; the proof's."""
    others = {"no_remainder": "exact", "kappa": "kappa", "partial_collapse": "collapsed", "psi": "psi"}
    bounds = {part: rows.where(quantity=f"thm4_3/{name}") for part, name in others.items()}
    parts = {
        "inequality": bound(rows.where(quantity="thm4_3/ratio")),
        "remainder": order(rows.where(quantity="thm4_3/remainder"), 2),
    }
    found = every(**parts, **{part: bound(made) for part, made in bounds.items() if len(made)})
    floor, rate = rows.where(quantity="thm4_3/floor"), rows.where(quantity="thm4_3/rate")
    numbers = {**found.numbers, "largest floor / n": float(floor.value.max())}
    if len(rate):
        numbers["largest rate / (λ_k/λ_Φ)"] = float((rate.value / rate.x).max())
    slope, worst = (parts[name].statistic for name in ("remainder", "inequality"))
    measured = f"left / right at most {worst:.3g}; the remainder's slope in λ_k is {slope:.2f}"
    return replace(found, numbers=numbers, measured=measured)
