"""The surrogate bounds Target Linearity: T_lambda(H, Y) >= 1 - C / S(G_id), where S(G_id) = Y^T H^T W^T W H Y.

C = e_0^-1 e_1^2 c_0^2 (2 lambda + c_1^2)^2 / (4 lambda) as in C.3, with ||W||_op <= c_0, ||H||_F <= c_1, and
e_0 = ||Y - mean||_2^2. The body has e_1 = ||Y||_2, the appendix e_1 = ||Y||_2^2.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, bound

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


LINES = {
    ("corrected", "left"): ("1 − T, measured", style.CLAIM, "-"),
    ("corrected", "best"): ("4/27 of the bound: the best constant", style.OTHER, "-."),
    ("corrected", "right"): ("bound C/S, e₁ = ‖Y‖² (appendix)", style.PRINTED, "--"),
    ("claim", "right"): ("C/S with e₁ = ‖Y‖ (body)", style.GUIDE, ":"),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw both sides along training, the median and range over networks; beside it their ratio by kind."""
    figure, grid = style.panels(claim, columns=2, height=4.9, width=7.8)
    left, right = grid[0]
    sides = rows[rows["quantity"].isin(["thm2/left", "thm2/right"])]
    sides = sides.assign(side=sides["quantity"].str.slice(5))
    best = sides[sides["side"] == "right"].assign(side="best", value=lambda one: 4 / 27 * one["value"])
    for (arm, side), (label, color, dashes) in LINES.items():
        found = pd.concat([sides, best])
        values = found[(found["arm"] == arm) & (found["side"] == side)].groupby("step")["value"]
        median = values.median()
        left.plot(median.index, median, color=color, linestyle=dashes, linewidth=1.4, label=label)
        left.fill_between(median.index, values.min(), values.max(), color=color, alpha=0.1, linewidth=0)
    left.set_xscale("symlog", linthresh=3)
    left.set_xticks(sorted(sides["step"].unique()), sorted(sides["step"].unique()))
    left.minorticks_off()
    left.set(yscale="log", xlabel=f"step (median and range of {sides['seed'].nunique()} networks)",
             ylabel="1 − T and its bounds")  # fmt: skip
    left.legend(fontsize=7, loc="upper left", bbox_to_anchor=(-0.2, -0.16))
    ratios = rows[rows["quantity"] == "thm2/ratio"]
    shown = {"claim": "body: ", "corrected": "", **{arm: f"{arm}, " for arm in style.controls(ratios)}}
    ratios = ratios.assign(row=ratios["arm"].map(shown) + ratios["case"])
    order = [row for arm in shown for row in sorted(set(ratios["row"][ratios["arm"] == arm]), key=_numbered)]
    order = [row for row in order if not row.startswith("body") or row.endswith("Y")]  # the others are as below
    ratios = ratios[ratios["row"].isin(order)]
    colors = {row: style.CONTROL if row.startswith("control") else style.CLAIM for row in order}
    sns.boxplot(ratios, x="value", y="row", hue="row", order=order, palette=colors, ax=right, whis=(0, 100), width=0.6,
                linewidth=0.7, legend=False, boxprops={"alpha": 0.6})  # fmt: skip
    right.axvline(1, color=style.PRINTED, linewidth=1)
    right.axvline(4 / 27, color=style.OTHER, linestyle="-.", linewidth=1)
    right.set(xscale="log", xlabel="(1 − T) S / C (box: quartiles)", ylabel="")
    right.tick_params(axis="y", labelsize=7)
    return figure


def _numbered(name: str) -> str:
    """For sorting: numbers of steps in their order."""
    return " ".join(word.zfill(6) if word.isdigit() else word for word in name.split())
