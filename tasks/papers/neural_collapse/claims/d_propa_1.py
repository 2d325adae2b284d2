"""E[sigma(Wx)^T sigma(Wy)] of random ReLU features has a closed form in r = x^T y, and a variance of order 1/D.

x and y are unit vectors; the entries of W (D, d) are N(0, 2/D). The mean is ((1-r^2)^{3/2} + r^2 sqrt(1-r^2)) / pi
+ r/2 + (r/pi) arctan(r / sqrt(1-r^2)), which equals (sqrt(1-r^2) + r (pi - arccos r)) / pi. It is never below r. So the
layer moves points closer together, the less so the closer they are; the text says that distances increase.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact, order
from tasks.papers.neural_collapse.claims.shared.standard_errors import within_standard_errors

ID = "D.propA.1"
KIND = "exact"
TITLE = "Inner products after random ReLU features"
PRINTED = "closed form (5); variance ∝ 1/D, Proposition A.1"
VARIANCE_ORDER = 1  # in 1/D
QUANTITIES = ("propA1/residual", "propA1/mean", "propA1/away", "propA1/remainder")


def rule(rows: Rows) -> Finding:
    """Closed form against quadrature and against the mean over random W; order of the variance in 1/D."""
    rules = {
        "quadrature": ("residual", exact),
        "Monte_Carlo": ("away", within_standard_errors),
        "variance": ("remainder", lambda variance: order(variance, VARIANCE_ORDER)),
    }
    parts = {part: (rows.where(quantity=f"propA1/{name}"), part_rule) for part, (name, part_rule) in rules.items()}
    finding = all_of(**{part: part_rule(part_rows) for part, (part_rows, part_rule) in parts.items() if len(part_rows)})
    mean = rows.where(quantity="propA1/mean")
    return replace(finding, measured=_distances(mean.x, mean.value)) if len(mean) else finding


def _distances(r: np.ndarray, mean: np.ndarray) -> str:
    """By how much the layer shrinks distances, where r is least and largest below 1."""
    r, mean = r[r < 1], mean[r < 1]
    ratio = np.sqrt((1 - mean) / (1 - r))
    return (
        f"every distance shrinks: by the factor {ratio[r.argmin()]:.2f} at r = {r.min():g} and "
        f"{ratio[r.argmax()]:.4f} at r = {r.max():g}"
    )


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the closed form with the quadrature's values beside r itself, and the variance against D."""
    figure, grid = style.panels(claim, columns=2, height=3.2, width=7.6)
    mean_axes, variance_axes = grid[0]
    r = np.linspace(-1, 1, 201)
    closed_form = (np.sqrt(1 - r**2) + r * (np.pi - np.arccos(r))) / np.pi
    mean_axes.plot(r, closed_form, color=style.PRINTED, linewidth=1, label="as printed, (5)")
    mean_axes.plot(r, r, color=style.GUIDE, linestyle=":", linewidth=1.2, label="r: unchanged")
    mean = rows[rows["quantity"] == "propA1/mean"]
    mean_axes.plot(mean["x"], mean["value"], style.MARKS["claim"], color=style.CLAIM, markersize=4.5,
                   label="quadrature")  # fmt: skip
    mean_axes.set(xlabel="r = xᵀy", ylabel="E σ(Wx)ᵀσ(Wy)")
    mean_axes.legend(fontsize=7)

    variance = rows[rows["quantity"] == "propA1/remainder"]
    equal_rows = "control: all rows of W equal"
    for arm, color, mark, label in (
        (equal_rows, style.CONTROL, style.MARKS["control"], equal_rows),
        ("claim", style.CLAIM, style.MARKS["claim"], "ReLU, one line a value of r"),
    ):
        for _, line in variance[variance["arm"] == arm].groupby("case"):
            line = line.sort_values("x")
            variance_axes.plot(1 / line["x"], line["value"], marker=mark, markersize=3, color=color, linewidth=0.8,
                               label=label)  # fmt: skip
            label = "_"
    features = np.array([8.0, 1024.0])
    variance_axes.plot(features, 0.02 * 8 / features, color=style.GUIDE, linestyle="--", linewidth=1.2,
                       label="slope −1")  # fmt: skip
    variance_axes.set(xscale="log", yscale="log", xlabel="number of features D", ylabel="variance of σ(Wx)ᵀσ(Wy)")
    variance_axes.legend(fontsize=7)
    return figure
