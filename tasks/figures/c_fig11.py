"""C, Figure 11: cosine of AGOP^s with W_1^T W_1 against the power s, a panel for each depth, with FACT's as a line."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw mean and Student's interval over seeds; the power 1/L is marked."""
    cases = sorted(case for case in rows["case"].unique() if case.startswith("L") and "," not in case)
    figure, grid = style.panels(key, columns=len(cases), height=3.3, width=7.8)
    for axes, case in zip(grid[0], cases, strict=True):
        for arm in ["claim", *style.controls(rows)]:
            one = rows[(rows["case"] == case) & (rows["arm"] == arm)]
            color = style.CLAIM if arm == "claim" else style.CONTROL
            mark = style.MARKS["claim" if arm == "claim" else "control"]
            style.band(axes, one[one["quantity"] == "cosine/agop"], "x", color, marker=mark, label=f"AGOP^s, {arm}")
            fact = one[one["quantity"] == "cosine/fact"]["value"].mean()
            axes.axhline(fact, color=color, linestyle="--", linewidth=1, label=f"FACT, {arm}")
        depth = int(case.removeprefix("L"))
        axes.axvline(1 / depth, color=style.PRINTED, linestyle=":", linewidth=1, label="s = 1/L")
        axes.set(title=f"L = {depth}", xlabel="power s")
    grid[0, 0].set_ylabel("cosine with W₁ᵀW₁")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure
