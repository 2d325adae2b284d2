"""At convergence of FACT-RFM on modular addition the two similarities of Proposition 5.1 are about proportional.

tau(x_i, M, x_j) against k'(x_i^T M x_j) over 1000 random pairs of samples, with the best line through the origin. An
untrained M is hardly worse: at M = I the pairs that share a number (k' = 2, tau about 0.07) stand apart from those that
share none (0, 0.002), and R^2 is 0.94 at p = 61. So a good fit is no sign of learned features, and this control stays.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, matches, positive

ID = "C.fig7"
KIND = "statistical"
TITLE = "The similarities of AGOP and FACT are proportional"
PRINTED = "R² = 0.987 of the line through the origin, 1000 pairs, mod 61, Figure 7 (R² as the ICLR version has it)"
QUANTITIES = ("modular/pair",)


def rule(rows: Rows) -> Finding:
    """By seeds: R^2 of the best line through the origin, about the mean of tau, above 0.9."""
    found = np.array([r_squared(one.x, one.value) for one in rows.by("seed").values()])
    judged = positive(found - 0.9, "R^2 of the proportional line - 0.9")
    numbers = {"mean R^2": float(found.mean())}
    if set(rows.scale) == {"paper"}:
        numbers["matches print"] = float(matches(found, 0.987, 0.001))
    return replace(judged, numbers=numbers)


def r_squared(x: np.ndarray, y: np.ndarray) -> float:
    """Of y = a x with the least-squares a."""
    return float(1 - ((y - (x @ y) / (x @ x) * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the first seed's pairs at convergence and for each control, with the R² of all seeds."""
    rows = rows[rows["quantity"] == "modular/pair"]
    arms = ["claim", *style.controls(rows)]
    figure, grid = style.panels(claim, columns=len(arms), height=3.2, width=3.0 * len(arms))
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
