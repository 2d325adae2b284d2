"""The surrogate bounds Target Linearity from below.

H holds the features, a sample in each column, Y the labels, W the weight and lambda the ridge of the regression, with
||W||_op <= c_0 and ||H||_F <= c_1. The theorem says “some fixed constant C” and defines e_1 = ||Y||_2. Appendix C.3
gives C and defines e_1 = ||Y||_2^2. The printed form puts the theorem's e_1 into the appendix's C. We do not question
that some constant exists.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound
from tasks.judging.statement import Control, Drawn, Statement

ID = "A.thm2"
KIND = "bound"
TITLE = "The surrogate bounds Target Linearity from below"
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
CORRECTS = "a detail"
CORRECTION = (
    "Only the definition of e₁ is corrected: the theorem and the appendix have two. The constant C of Appendix C.3 "
    "needs e₁ = ‖Y‖₂², as that appendix defines it. With e₁ = ‖Y‖₂, as the theorem's text defines it, a rescaling of Y "
    "changes the right side but not the left. The theorem itself names only “some fixed constant”, and one exists: (1 "
    "− 𝒯_λ)𝒮 is at most c₀²c₁²‖Y‖₂⁴/e₀ for every λ ≥ 0, while the appendix's C is infinite at λ = 0. The bound is "
    "loose by a factor of at least 27/4: (1 − 𝒯_λ)𝒮/C ≤ 4/27. Equality holds for rank-one features with λ_max = λ and "
    "two thirds of ‖Y‖² in their direction."
)
BEST = 4 / 27  # the largest (1 - T) S / C
LINES = {
    ("corrected", "left"): ("1 − T, measured", style.CLAIM, "-"),
    ("corrected", "best"): ("4/27 C/S, the best", style.OTHER, "-."),
    ("corrected", "right"): ("C/S, corrected: e₁ = ‖Y‖²", style.GUIDE, "--"),
    ("claim", "right"): ("C/S as printed: e₁ = ‖Y‖", style.PRINTED, ":"),
}


def below_one(rows: Rows) -> Finding:
    """(1 - T_lambda) / (C / S) is at most 1, on layers of every kind and for Y of any size."""
    finding = bound(rows)
    loosest = float(rows.value.min())
    measured = f"(1 − 𝒯)𝒮/C, by the theorem at most 1, is {loosest:.2g} to {finding.statistic:.4g}"
    return replace(finding, numbers={**finding.numbers, "least left / right": loosest}, measured=measured)


def below_best(rows: Rows) -> Finding:
    """(1 - T_lambda) / (C / S) is at most 4/27."""
    return bound(Rows(rows.frame.assign(value=rows.value / BEST)))


QUOTE = (
    "Let e₀ = ‖Y − Ȳ‖₂² and e₁ = ‖Y‖₂, and assume ‖W‖_op ≤ c₀, ‖H‖_F ≤ c₁, and N > d. Then 𝒯_λ(H, Y) ≥ 1 − C "
    "· 𝒮(G_id)⁻¹, for some fixed constant C."
)
DRAWN = {"thm2/ratio": Drawn(0.9, "The printed bound divides by the surrogate, which is 0 where a layer is dead.")}
CONTROLS = {
    "0.99 of 4/27 C": Control(
        text="The bound has 0.99 · 4/27 times the corrected C in place of C.",
        cases=("extremal",),
        parts_because="There the bound is nearly attained.",
    ),
    "W beyond c_0": Control(
        text="The corrected C is computed with c₀ = ‖W‖/3, so that ‖W‖ exceeds c₀.",
        cases=("extremal",),
        parts_because="There the bound is nearly attained.",
    ),
}
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
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the ratio of the two sides by arm and kind of instance; below it both sides along training."""
    ratios = _by_form(rows[rows["quantity"] == "thm2/ratio"])
    figure, grid = style.panels(claim, rows=2, height=6.3, height_ratios=(1.7, 1))
    _draw_ratios(grid[0, 0], ratios)
    _draw_training(grid[1, 0], rows[rows["quantity"].isin(["thm2/left", "thm2/right"])])
    return figure


def _by_form(rows: pd.DataFrame) -> pd.DataFrame:
    """The ratios by line of the panel: kinds of Y in the printed form, all kinds in the corrected form, controls."""
    printed = (rows["arm"] == "claim") & rows["case"].str.endswith("Y")  # elsewhere the two forms are equal
    name = rows["case"].where(~printed, "as printed, " + rows["case"])
    name = name.where(~rows["arm"].str.startswith("control"), rows["arm"].str.replace("control: ", "✗ "))
    return rows.assign(row=name)[printed | (rows["arm"] != "claim")]


def _draw_ratios(axes: Axes, rows: pd.DataFrame) -> None:
    order = sorted(rows["row"].unique(), key=_with_padded_numbers)
    axes.set_xscale("log")
    least = 1e-9
    for place, row in enumerate(order):
        values = rows["value"][rows["row"] == row]
        # the controls are of the constant 4/27, whose limit is their ratio's 1
        limit = 1.0 if row.startswith("✗") or "as printed" in row else BEST
        name = "4/27" if limit == BEST else "1"
        broken = int((values > limit * (1 + 1e-12)).sum())
        color = style.CLAIM if not row.startswith("✗") else style.CONTROL if broken else style.GUIDE
        quantiles = np.maximum(values.quantile([0, 0.25, 0.5, 0.75, 1]), least).to_numpy()
        axes.plot(quantiles[[0, 4]], [place, place], color=color, linewidth=0.8)
        axes.plot(quantiles[[1, 3]], [place, place], color=color, linewidth=4, alpha=0.5, solid_capstyle="butt")
        axes.plot(quantiles[4], place, style.MARKS["control" if row.startswith("✗") else "claim"], color=color,
                  markersize=5, markeredgecolor="white", markeredgewidth=0.5)  # fmt: skip
        words = f"{broken:,} of {len(values):,} beyond {name}" if broken else f"none beyond {name}"
        axes.text(1.015, place, words, transform=axes.get_yaxis_transform(), color=color, fontsize=style.SMALL,
                  va="center")  # fmt: skip
    axes.axvline(1, color=style.PRINTED, linestyle="--", linewidth=0.8, zorder=0)
    axes.axvline(BEST, color=style.OTHER, linestyle="-.", linewidth=0.8, zorder=0)
    axes.text(BEST, -0.9, "4/27 ", color=style.OTHER, fontsize=style.SMALL, ha="right")
    axes.text(1, -0.9, " 1", fontsize=style.SMALL)
    axes.set(ylim=(len(order) - 0.5, -1.7), xlim=(least, None))
    axes.set_xlabel(
        "(1 − T) S / C: thin range, thick quartiles, mark the largest; controls divided by 4/27 (left edge: ≤ 10⁻⁹)"
    )
    axes.set_yticks(range(len(order)), order, fontsize=style.SMALL)
    for label in axes.get_yticklabels():
        label.set_color(style.CONTROL if label.get_text().startswith("✗") else "black")


def _with_padded_numbers(row: str) -> tuple[int, str]:
    """A sort key: printed before corrected before controls, and numbers of steps by size."""
    place = 0 if row.startswith("as printed") else 2 if row.startswith("✗") else 1
    return place, " ".join(word.zfill(6) if word.isdigit() else word for word in row.split())


def _draw_training(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows.assign(side=rows["quantity"].str.removeprefix("thm2/"))
    best = rows[rows["side"] == "right"].assign(side="best", value=lambda right: BEST * right["value"])
    sides = pd.concat([rows, best])
    steps = sorted(rows["step"].unique())
    axes.set_xscale("symlog", linthresh=3)
    axes.set_yscale("log")
    axes.set_xticks(steps, steps)
    axes.minorticks_off()
    ends = []
    for (arm, side), (label, color, dashes) in LINES.items():
        values = sides[(sides["arm"] == arm) & (sides["side"] == side)].groupby("step")["value"]
        low, median, high = values.quantile(0.05), values.median(), values.quantile(0.95)
        axes.plot(median.index, median, color=color, linestyle=dashes, linewidth=1.4, label=label)
        axes.fill_between(median.index, low, high, color=color, alpha=0.12, linewidth=0)
        ends.append((float(median.iloc[-1]), label, color))
    axes.set(xlabel=f"step of trained networks (median, and 90 % of {rows['seed'].nunique()} networks)",
             ylabel="1 − T and its bounds")  # fmt: skip
    style.label_ends(axes, ends, gap=0.13)
