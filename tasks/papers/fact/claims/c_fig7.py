"""At convergence of FACT-RFM on modular addition the two similarities of Proposition 5.1 are nearly proportional.

tau(x_i, M, x_j) against k'(x_i^T M x_j) on 1000 random pairs of samples, with the best line through the origin. The fit
is almost as good for an untrained M: at M = I the pairs that share a number (k' = 2, tau about 0.07) lie apart from
those that share none (0, 0.002), and R^2 is 0.94 at p = 61. So a good fit does not show that features were learned, and
the rule cannot reject this control.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, matches, positive

ID = "C.fig7"
KIND = "statistical"
TITLE = "The similarities of AGOP and FACT are proportional"
R_SQUARED = 0.987  # printed
PRINTED = f"R² = {R_SQUARED} of the line through the origin, 1000 pairs, mod 61, Figure 7 (R² from the ICLR version)"
QUANTITIES = ("modular/pair",)
LEAST = 0.9  # R^2 that the rule asks for


def rule(rows: Rows) -> Finding:
    """By seed: R^2 of the best line through the origin, relative to the variance of tau, is above LEAST."""
    fits = np.array([r_squared(seed.x, seed.value) for seed in rows.by("seed").values()])
    numbers = {"mean R^2": float(fits.mean())}
    if set(rows.scale) == {"paper"}:
        numbers["matches print"] = float(matches(fits, R_SQUARED, 0.001))
    return replace(positive(fits - LEAST, f"R^2 of the proportional line minus {LEAST:g}"), numbers=numbers)


def r_squared(x: np.ndarray, y: np.ndarray) -> float:
    """R^2 of y = a x with the least-squares a."""
    return float(1 - ((y - (x @ y) / (x @ x) * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the first seed's pairs at convergence and for each control, with the R² of all seeds."""
    rows = rows[rows["quantity"] == "modular/pair"]
    arms = ["claim", *style.controls(rows)]
    figure, grid = style.panels(claim, columns=len(arms), height=3.2, width=3.0 * len(arms))
    for axes, arm in zip(grid[0], arms, strict=True):
        arm_rows = rows[rows["arm"] == arm]
        fits = [r_squared(seed["x"].to_numpy(), seed["value"].to_numpy()) for _, seed in arm_rows.groupby("seed")]
        pairs = arm_rows[arm_rows["seed"] == 0]
        sns.scatterplot(pairs, x="x", y="value", s=8, alpha=0.4, linewidth=0, ax=axes, rasterized=True,
                        color=style.CLAIM if arm == "claim" else style.CONTROL)  # fmt: skip
        x = np.array([0.0, pairs["x"].max()])
        axes.plot(x, x * (pairs["x"] @ pairs["value"]) / (pairs["x"] @ pairs["x"]), color=style.PRINTED, linewidth=1)
        title = "FACT-RFM, last iterate" if arm == "claim" else arm
        axes.set(xlabel="k′(xᵢᵀMxⱼ)", ylabel="τ(xᵢ, M, xⱼ)" if arm == "claim" else "")
        axes.set_title(f"{title}\nR² {100 * np.mean(fits):.1f} % (print: {100 * R_SQUARED:.1f} %)", fontsize=8)
    return figure
