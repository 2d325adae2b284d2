"""How tight a bound is: left / right side of the inequality, from the least to the largest ratio of each case."""

from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.statement import quantities


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the ratios of each case as a box whose whiskers end at the extremes, and the line that none may cross."""
    ratio = next(name for name in quantities(claim) if name.endswith("ratio"))
    rows = rows[(rows["quantity"] == ratio) & (rows["dtype"] != "float32")]
    claims = sorted(arm for arm in rows["arm"].unique() if not arm.startswith("control"))
    named = rows.assign(row=rows["case"].where(rows["arm"] == "claim", rows["arm"] + ": " + rows["case"]))
    order = [row for arm in [*claims, *style.controls(rows)] for row in sorted(set(named["row"][named["arm"] == arm]))]
    colors = {row: style.CONTROL if row.startswith("control") else style.CLAIM for row in order}

    figure, grid = style.panels(claim, height=1.3 + 0.27 * len(order))
    axes = grid[0, 0]
    sns.boxplot(named, x="value", y="row", hue="row", order=order, palette=colors, ax=axes, whis=(0, 100), width=0.6,
                linewidth=0.8, legend=False, boxprops={"alpha": 0.6})  # fmt: skip
    axes.axvline(1, color=style.PRINTED, linewidth=1)
    if named["value"].min() > 0 and named["value"].min() < 1e-3:
        axes.set_xscale("log")
    elif named["value"].max() > 20:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
    axes.set(xlabel="left / right side (box: quartiles; the bound is 1)", ylabel="")
    return figure
