"""D, Proposition A.1: the inner product of two unit vectors after random ReLU features, and its variance in D."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the closed form with quadrature's values beside r itself, and the variance with the rows' number."""
    figure, grid = style.panels(key, columns=2, height=3.2, width=7.6)
    left, right = grid[0]
    r = np.linspace(-1, 1, 201)
    closed = (np.sqrt(1 - r**2) + r * (np.pi - np.arccos(r))) / np.pi
    left.plot(r, closed, color=style.PRINTED, linewidth=1, label="as printed, (5)")
    left.plot(r, r, color=style.GUIDE, linestyle=":", linewidth=1.2, label="r: unchanged")
    mean = rows[rows["quantity"] == "propA1/mean"]
    left.plot(mean["x"], mean["value"], style.MARKS["claim"], color=style.CLAIM, markersize=4.5, label="quadrature")
    left.set(xlabel="r = xᵀy", ylabel="E σ(Wx)ᵀσ(Wy)")
    left.legend(fontsize=7)

    variance = rows[rows["quantity"] == "propA1/remainder"]
    equal = "control: all rows of W equal"
    for arm, color in ((equal, style.CONTROL), ("claim", style.CLAIM)):
        label = arm if arm == equal else "ReLU, one line a value of r"
        for _, line in variance[variance["arm"] == arm].groupby("case"):
            line = line.sort_values("x")
            mark = style.MARKS["claim" if arm == "claim" else "control"]
            right.plot(1 / line["x"], line["value"], marker=mark, markersize=3, color=color, linewidth=0.8, label=label)
            label = "_"
    features = np.array([8.0, 1024.0])
    right.plot(features, 0.02 * 8 / features, color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope −1")
    right.set(xscale="log", yscale="log", xlabel="number of features D", ylabel="variance of σ(Wx)ᵀσ(Wy)")
    right.legend(fontsize=7)
    return figure
