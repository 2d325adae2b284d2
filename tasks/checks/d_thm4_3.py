"""In linearised kernels Deep RFM's Gram G_l converges to yy^T: d_{l+1} <= (1 - eps) d_l + O(lambda_k^2 lambda_Phi^-2).

d_l = ||G_l - yy^T||, G_{l+1} = kappa^-1 X^T M X, X^T X = G_l + lambda_Phi I; y is one-hot with n samples in a class.
As printed, kappa = 1 - 2 lambda_k (1 + 1/lambda_Phi) and lambda_k <= C lambda_Phi (1 - eps) / (2 (1 + 1/lambda_Phi) n).
The remainder's order is the slope of the largest excess over (1 - eps) d_l in lambda_k, down to 2^-11 of the bound's
lambda_k; its constant is generous: 4.5 n (lambda_k / lambda_Phi)^2.
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
    "the points, as in Section 3.3, and not the sum that Algorithm 1 and the proof have."
)
QUANTITIES = ("thm4_3/ratio", "thm4_3/remainder", "thm4_3/exact", "thm4_3/rate", "thm4_3/floor")


def rule(rows: Rows) -> Finding:
    """Both sides of the inequality over the grid, the remainder's order, and without remainder for the exact kappa."""
    exact = rows.where(quantity="thm4_3/exact")
    parts = {
        "inequality": bound(rows.where(quantity="thm4_3/ratio")),
        "remainder": order(rows.where(quantity="thm4_3/remainder"), 2),
    }
    found = every(**parts, **({"no_remainder": bound(exact)} if len(exact) else {}))
    floor, rate = rows.where(quantity="thm4_3/floor"), rows.where(quantity="thm4_3/rate")
    numbers = {**found.numbers, "largest floor / n": float(floor.value.max())}
    if len(rate):
        numbers["largest rate / (λ_k/λ_Φ)"] = float((rate.value / rate.x).max())
    slope, worst = (parts[name].statistic for name in ("remainder", "inequality"))
    measured = f"left / right at most {worst:.3g}; the remainder's slope in λ_k is {slope:.2f}"
    return replace(found, numbers=numbers, measured=measured)
