"""Traces of alternating words of two free families, one of them centred, factor as (12)-(15) say.

For large random matrices with independent eigenvectors the identities hold up to an error that falls as 1/size.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, equivalent, every, rate

ID = "B.free"
KIND = "statistical"
TITLE = "Alternating words of free families"
PRINTED = "(12)–(15), Appendix E.1"
EQUATIONS = ("(12)", "(13)", "(14)", "(15)")
FORMS = {
    "(12)": ("tr[C̄₁R₁] = 0",),
    "(13)": ("tr[C̄₁R₁C̄₂R₂] = tr[R₁] tr[R₂] tr[C̄₁C̄₂]",),
    "(14)": ("tr[C̄₁R₁C̄₂R₂C̄₃R₃] = tr[R₁] tr[R₂] tr[R₃] tr[C̄₁C̄₂C̄₃]",),
    "(15)": (
        "tr[C̄₁R₁C̄₂R₂C̄₃R₃C̄₄R₄] = tr[R₁] tr[R₂] tr[R₃] tr[R₄] tr[C̄₁C̄₂C̄₃C̄₄] + tr[R₁] tr[R₃] tr[R̄₂R̄₄] tr[C̄₁C̄₂] tr[C̄₃C̄₄] "
        "+ tr[R₂] tr[R₄] tr[R̄₁R̄₃] tr[C̄₂C̄₃] tr[C̄₁C̄₄]",
    ),
}
QUANTITIES = tuple(f"free/{equation}" for equation in EQUATIONS)
MARGIN = 0.02  # of the mean error at the largest size, where tr[C²] = tr[R²] = 1


def rule(rows: Rows) -> Finding:
    """For each identity: errors fall as 1/size, and their mean at the largest size is 0."""
    parts = {}
    for equation in EQUATIONS:
        found = rows.where(quantity=f"free/{equation}")
        last = found.where(x=found.x.max()).value
        parts[equation] = every(rate=rate(found, -1), limit=equivalent(last, MARGIN, "the mean error"))
    return every(**parts)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """One panel an identity: the root mean square over seeds as a line, its 5 % and 95 % quantiles of |error|."""
    names = QUANTITIES
    figure, grid = style.panels(claim, columns=len(names), height=2.9)
    limits = [1e-4, 3 * rows["value"].abs().max()]
    for axes, name in zip(grid[0], names, strict=True):
        for arm, color, mark in (("claim", style.CLAIM, "o"), (style.controls(rows)[0], style.CONTROL, "X")):
            found = rows[(rows["quantity"] == name) & (rows["arm"] == arm)]
            low, high = (found["value"].abs().groupby(found["x"]).quantile(q) for q in (0.05, 0.95))
            axes.fill_between(low.index, low, high, color=color, alpha=0.15, linewidth=0)
            size = found.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            axes.plot(size.index, size, color=color, marker=mark, markersize=4, label=arm)
            if arm == "claim":
                first = size.index[0]
                axes.plot(
                    size.index, size.iloc[0] * first / size.index * 2, color=style.GUIDE, ls="--", label="slope −1"
                )
        axes.set(xscale="log", yscale="log", title=name.removeprefix("free/"), xlabel="size", ylim=limits)
        axes.set_xticks(size.index, [f"{x:g}" for x in size.index], minor=False)
        axes.minorticks_off()
    grid[0, 0].set_ylabel("|left − right side|")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    lines, labels = grid[0, 0].get_legend_handles_labels()
    seeds = rows["seed"].nunique()
    figure.legend(lines, labels, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"root mean square over {seeds} seeds; band: 90 % of them", title_fontsize=7)  # fmt: skip
    return figure
