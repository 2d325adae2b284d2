"""How AGOP^s and W^T W part as epsilon falls: correlation against epsilon, a line for each power s."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the correlation log-log with the order eps^min(2, 2s) that the proof finds; the control stays level."""
    rows = rows[(rows["quantity"] == "thm3.4/correlation") & (rows["x"] > 0)]
    figure, grid = style.panels(key, height=3.6)
    axes = grid[0, 0]
    axes.set(xscale="log", yscale="log", xlabel="ε, with τ = ε³, p = ε⁸, λ = ε³²p",
             ylabel="cosine of AGOPˢ and WᵀW at the minimiser")  # fmt: skip
    cases = sorted(rows["case"].unique())
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        for arm in ["claim", *style.controls(rows)]:
            line = rows[(rows["case"] == case) & (rows["arm"] == arm)].sort_values("x")
            dashes, mark, label = ("-", "o", case) if arm == "claim" else (":", "X", f"{case}, {arm}")
            axes.plot(line["x"], line["value"], color=color, linestyle=dashes, linewidth=1.3, marker=mark,
                      markersize=3.5, label=label)  # fmt: skip
        claim = rows[(rows["case"] == case) & (rows["arm"] == "claim")].sort_values("x")
        power = min(2.0, 2 * float(case.removeprefix("s = ")))
        guide = claim["value"].iloc[0] * (claim["x"] / claim["x"].iloc[0]) ** power
        axes.plot(claim["x"], guide, color=style.GUIDE, linestyle="--", linewidth=0.8,
                  label="ε^min(2, 2s)" if case == cases[-1] else "_")  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
    return figure
