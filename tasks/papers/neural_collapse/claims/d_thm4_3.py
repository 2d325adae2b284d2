"""In linearised kernels Deep RFM's Gram G_l converges to yy^T: d_{l+1} <= (1 - eps) d_l + O(lambda_k^2 lambda_Phi^-2).

d_l = ||G_l - yy^T||, G_{l+1} = kappa^-1 X^T M X, X^T X = G_l + lambda_Phi I; y is one-hot with n samples in a class.
As printed, kappa = 1 - 2 lambda_k (1 + 1/lambda_Phi) and lambda_k <= C lambda_Phi (1 - eps) / (2 (1 + 1/lambda_Phi) n).
The remainder's order is the slope of the largest excess over (1 - eps) d_l in lambda_k, down to 2^-11 of the bound's
lambda_k; its constant is generous: 4.5 n (lambda_k / lambda_Phi)^2. The print leaves C open; here C = 1, as its proof
has it. Three of the proof's constants are judged too: kappa > 1/2, eps_A / lambda_Phi < 1/2 and ||Psi~|| <= 2, where
eps_A = ||A - A*|| after one layer, A* = yy^T + lambda_Phi I, and Psi~ = A* A^-1.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, bound, every, order

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


SHOWN = {
    "claim": ("printed κ", style.PRINTED, "s"),
    "corrected": ("κ = 1 − 2λ_k/(λ_Φ+n)", style.CLAIM, style.MARKS["claim"]),
    "control: no nonlinearity": ("control: λ_Φ = 0", style.CONTROL, style.MARKS["control"]),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw courses by layer, the remainder against lambda_k, and rates against lambda_k / lambda_Phi."""
    figure, (axes,) = style.panels(claim, columns=3, height=3.5, width=9.6)
    course = rows[rows["quantity"] == "thm4_3/course"]
    lines = dict(zip(sorted(course["case"].unique()), (":", "-"), strict=True))
    for arm, (label, color, mark) in SHOWN.items():
        for case, dashes in lines.items():
            line = course[(course["arm"] == arm) & (course["case"] == case)].sort_values("x")
            axes[0].plot(line["x"], line["value"], color=color, linestyle=dashes, marker=mark, markevery=4,
                         markersize=3, linewidth=1, label=label if dashes == "-" else "_")  # fmt: skip
    for case, dashes in lines.items():
        axes[0].plot([], [], color=style.GUIDE, linestyle=dashes, label=case)
    axes[0].set(yscale="log", xlabel="layer l", ylabel="‖G_l − yyᵀ‖ / n", title="n = 20, λ_Φ = 1", ylim=(1e-10, 3))

    some = rows[(rows["layer"] == "random 0, ε = 0.1") & ~rows["case"].str.endswith("= 0.1") & (rows["value"] > 0)]
    excess = some[some["quantity"] == "thm4_3/remainder"]
    for arm, (_, color, _) in SHOWN.items():
        for _, line in excess[excess["arm"] == arm].groupby("case"):
            line = line.groupby("x")["value"].mean()
            axes[1].plot(line.index, line, color=color, linewidth=0.8)
    for slope, height in ((1, 30.0), (2, 0.1)):
        ends = np.array([1e-5, 1.0])
        axes[1].plot(ends, height * ends**slope, color=style.GUIDE, linestyle="--", linewidth=1.2)
        axes[1].annotate(f"slope {slope}", (1e-6, height * 1e-5**slope), fontsize=7, color=style.GUIDE)
    axes[1].set(xscale="log", yscale="log", xlabel="λ_k", ylabel="max over l of d_l₊₁ − (1−ε) d_l",
                title="remainder, ε = 0.1")  # fmt: skip

    rate = some[some["quantity"] == "thm4_3/rate"].groupby(["case", "x"], as_index=False)["value"].max()
    axes[2].plot(rate["x"], rate["value"], ".", color=style.CLAIM, markersize=3, markevery=2)
    ends = np.array([rate["x"].min(), rate["x"].max()])
    axes[2].plot(ends, ends, color=style.GUIDE, linestyle="--", linewidth=1.2)
    axes[2].annotate("λ_k/λ_Φ", (ends[0], 6 * ends[0]), fontsize=7, color=style.GUIDE)
    axes[2].set(xscale="log", yscale="log", xlabel="λ_k / λ_Φ", ylabel="d_l₊₁ / d_l", title="rate, any n")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=7)
    return figure
