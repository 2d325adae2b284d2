"""C, Figure 7: the similarity of AGOP against that of FACT, a point for each pair, and the proportional line."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.checks.c_fig7 import r_squared
from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the first seed's pairs at convergence and for each control, with the R² of all seeds."""
    rows = rows[rows["quantity"] == "modular/pair"]
    arms = ["claim", *style.controls(rows)]
    figure, grid = style.panels(key, columns=len(arms), height=3.2, width=3.0 * len(arms))
    for axes, arm in zip(grid[0], arms, strict=True):
        of = rows[rows["arm"] == arm]
        fits = [r_squared(one["x"].to_numpy(), one["value"].to_numpy()) for _, one in of.groupby("seed")]
        one = of[of["seed"] == 0]
        sns.scatterplot(one, x="x", y="value", s=8, alpha=0.4, linewidth=0, ax=axes, rasterized=True,
                        color=style.CLAIM if arm == "claim" else style.CONTROL)  # fmt: skip
        ends = np.array([0.0, one["x"].max()])
        axes.plot(ends, ends * (one["x"] @ one["value"]) / (one["x"] @ one["x"]), color=style.PRINTED, linewidth=1)
        name = "FACT-RFM, last iterate" if arm == "claim" else arm
        axes.set(xlabel="k′(xᵢᵀMxⱼ)", ylabel="τ(xᵢ, M, xⱼ)" if arm == "claim" else "")
        axes.set_title(f"{name}\nR² {100 * np.mean(fits):.1f} % (print: 98.7 %)", fontsize=8)
    return figure
