"""The surrogate bounds Target Linearity: T_lambda(H, Y) >= 1 - C / S(G_id), where S(G_id) = Y^T H^T W^T W H Y.

H holds the features, a sample in each column, Y the labels, W the weight and lambda the ridge of the regression.
C = e_0^-1 e_1^2 c_0^2 (2 lambda + c_1^2)^2 / (4 lambda) as in Appendix C.3, with ||W||_op <= c_0, ||H||_F <= c_1 and
e_0 = ||Y - mean of Y||_2^2. The theorem's text has e_1 = ||Y||_2, the appendix e_1 = ||Y||_2^2.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound
from tasks.judging.statement import Statement

ID = "A.thm2"
KIND = "bound"
TITLE = "Target Linearity is bounded by the surrogate"
PRINTED = "𝒯_λ ≥ 1 − C·𝒮(G_id)⁻¹, e₁ = ‖Y‖₂, Theorem 2"
MATH = (
    (
        r"\mathcal{T}_\lambda(H, Y) \ge 1 - C\, \mathcal{S}(G_{\text{id}})^{-1}, \quad "
        r"\mathcal{S}(G_{\text{id}}) = Y^\top H^\top W^\top W H Y"
    ),
    (
        r"C = \frac{c_0^2\, e_1^2\, (2 \lambda + c_1^2)^2}{4 \lambda\, e_0}, \quad e_0 = \| Y - \bar Y "
        r"\|_2^2, \quad e_1 = \| Y \|_2"
    ),
)
MATH_CORRECTED = (
    r"\mathcal{T}_\lambda(H, Y) \ge 1 - C\, \mathcal{S}(G_{\text{id}})^{-1}",
    r"C = \frac{c_0^2\, e_1^2\, (2 \lambda + c_1^2)^2}{4 \lambda\, e_0}, \quad e_1 = \| Y \|_2^2",
)
CORRECTION = (
    "e₁ = ‖Y‖₂², as in Appendix C.3. With e₁ = ‖Y‖₂, as in the theorem's text, a rescaling of Y changes the right side "
    "but not the left. The bound is loose by a factor of at least 27/4: (1 − 𝒯_λ)𝒮/C ≤ 4/27. Equality holds for "
    "rank-one features with λ_max = λ and two thirds of ‖Y‖² in their direction."
)
BEST = 4 / 27  # the largest (1 - T) S / C
LINES = {
    ("corrected", "left"): ("1 − T, measured", style.CLAIM, "-"),
    ("corrected", "best"): ("4/27 of the bound: the best constant", style.OTHER, "-."),
    ("corrected", "right"): ("bound C/S, e₁ = ‖Y‖² (appendix)", style.PRINTED, "--"),
    ("claim", "right"): ("C/S with e₁ = ‖Y‖ (body)", style.GUIDE, ":"),
}


def below_one(rows: Rows) -> Finding:
    """(1 - T_lambda) / (C / S) is at most 1, on layers of every kind and for Y of any size."""
    finding = bound(rows)
    loosest = float(rows.value.min())
    measured = f"(1 − 𝒯)𝒮/C is at most {finding.statistic:.4g} and at least {loosest:.2g}"
    return replace(finding, numbers={**finding.numbers, "least left / right": loosest}, measured=measured)


def below_best(rows: Rows) -> Finding:
    """(1 - T_lambda) / (C / S) is at most 4/27."""
    return bound(Rows(rows.frame.assign(value=rows.value / BEST)))


QUOTE = "Let … and …, and assume … Then … for some fixed constant"
STATEMENTS = (
    Statement(
        name="lower bound",
        quote=QUOTE,
        place="Theorem 2; C in Appendix C.3",
        rule=below_one,
        reads=("thm2/ratio",),
        printed="𝒯_λ ≥ 1 − C/𝒮(G_id), e₁ = ‖Y‖₂",
        derived="e₁ = ‖Y‖₂², as in Appendix C.3",
        cases=13,
        rows=200,
    ),
    Statement(
        name="best constant",
        quote=QUOTE,
        place="Theorem 2; C in Appendix C.3",
        rule=below_best,
        reads=("thm2/ratio",),
        kind="ours",
        derived="𝒯_λ ≥ 1 − (4/27) C/𝒮(G_id)",
        cases=13,
        rows=200,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw both sides along training, the median and range over networks; beside it their ratio by kind."""
    figure, grid = style.panels(claim, columns=2, height=4.9, width=7.8)
    _draw_training(grid[0, 0], rows[rows["quantity"].isin(["thm2/left", "thm2/right"])])
    _draw_ratios(grid[0, 1], rows[rows["quantity"] == "thm2/ratio"])
    return figure


def _draw_training(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows.assign(side=rows["quantity"].str.removeprefix("thm2/"))
    best = rows[rows["side"] == "right"].assign(side="best", value=lambda right: BEST * right["value"])
    sides = pd.concat([rows, best])
    for (arm, side), (label, color, dashes) in LINES.items():
        values = sides[(sides["arm"] == arm) & (sides["side"] == side)].groupby("step")["value"]
        median = values.median()
        axes.plot(median.index, median, color=color, linestyle=dashes, linewidth=1.4, label=label)
        axes.fill_between(median.index, values.min(), values.max(), color=color, alpha=0.1, linewidth=0)
    steps = sorted(rows["step"].unique())
    axes.set_xscale("symlog", linthresh=3)
    axes.set_xticks(steps, steps)
    axes.minorticks_off()
    axes.set(yscale="log", xlabel=f"step (median and range of {rows['seed'].nunique()} networks)",
             ylabel="1 − T and its bounds")  # fmt: skip
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(-0.2, -0.16))


def _draw_ratios(axes: Axes, rows: pd.DataFrame) -> None:
    prefixes = {"claim": "body: ", "corrected": "", **{arm: f"{arm}, " for arm in style.controls(rows)}}
    rows = rows.assign(row=rows["arm"].map(prefixes) + rows["case"])
    order = [row for arm in prefixes for row in sorted(set(rows["row"][rows["arm"] == arm]), key=_with_padded_numbers)]
    # of the body's form only the cases that differ from the appendix's: those that rescale Y
    order = [row for row in order if not row.startswith("body") or row.endswith("Y")]
    colors = {row: style.CONTROL if row.startswith("control") else style.CLAIM for row in order}
    sns.boxplot(rows[rows["row"].isin(order)], x="value", y="row", hue="row", order=order, palette=colors, ax=axes,
                whis=(0, 100), width=0.6, linewidth=0.7, legend=False, boxprops={"alpha": 0.6})  # fmt: skip
    axes.axvline(1, color=style.PRINTED, linewidth=1)
    axes.axvline(BEST, color=style.OTHER, linestyle="-.", linewidth=1)
    axes.set(xscale="log", xlabel="(1 − T) S / C (box: quartiles)", ylabel="")
    axes.tick_params(axis="y", labelsize=7)


def _with_padded_numbers(name: str) -> str:
    """A sort key that orders numbers of steps by size."""
    return " ".join(word.zfill(6) if word.isdigit() else word for word in name.split())
