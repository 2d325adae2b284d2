"""E[sigma(Wx)^T sigma(Wy)] of random ReLU features in closed form, in r = x^T y of unit vectors; variance ~ 1/D.

The entries of W (D, d) are N(0, 2/D); the mean is ((1-r^2)^{3/2} + r^2 sqrt(1-r^2)) / pi + r/2
+ (r/pi) arctan(r / sqrt(1-r^2)), that is (sqrt(1-r^2) + r (pi - arccos r)) / pi. It is never below r, so that the
layer brings points nearer to each other, the less so the nearer they are; the text says that distances increase.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, exact, order

ID = "D.propA.1"
KIND = "exact"
TITLE = "Inner products after random ReLU features"
PRINTED = "closed form (5); variance ∝ 1/D, Proposition A.1"
QUANTITIES = ("propA1/residual", "propA1/mean", "propA1/away", "propA1/remainder")
AWAY = 4.0  # standard errors: about 1 in 200 among the 60 and more Monte Carlo means


def rule(rows: Rows) -> Finding:
    """Closed form against quadrature, against drawn W, and the variance's slope in 1/D."""
    mean = rows.where(quantity="propA1/mean")
    rules = {
        "quadrature": ("residual", exact),
        "Monte_Carlo": ("away", _near),
        "variance": ("remainder", lambda found: order(found, 1)),
    }
    parts = {part: (rows.where(quantity=f"propA1/{name}"), judged) for part, (name, judged) in rules.items()}
    found = every(**{part: judged(made) for part, (made, judged) in parts.items() if len(made)})
    if not len(mean):
        return found
    inside = mean.x < 1
    shrink = np.sqrt((1 - mean.value[inside]) / (1 - mean.x[inside]))
    measured = (
        f"every distance shrinks, to {shrink[mean.x[inside].argmin()]:.2f} of it at r = {mean.x.min():g} and to "
        f"{shrink[mean.x[inside].argmax()]:.4f} at r = {mean.x[inside].max():g}"
    )
    return replace(found, measured=measured)


def _near(rows: Rows) -> Finding:
    worst = float(np.abs(rows.value).max())
    return Finding(worst <= AWAY, worst, f"every mean within {AWAY:g} standard errors", "exact", high=AWAY)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the closed form with quadrature's values beside r itself, and the variance with the rows' number."""
    figure, grid = style.panels(claim, columns=2, height=3.2, width=7.6)
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
