"""The virtual update X - gamma * (sum of grad_X L) progressively unrolls a Swiss roll along its target.

So the Target Linearity (R^2 of the linear regression of the target) of the virtually updated points rises with
training time.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, kendall, positive

ID = "A.fig1"
KIND = "statistical"
TITLE = "The virtual update unrolls a Swiss roll"
PRINTED = "“progressively unrolls”, Figure 1"
CORRECTION = (
    "The step is 700 times the summed gradients of the mean loss, as in the authors' figure script, not the printed "
    "0.05; and the regression has an intercept, which Definition 2 leaves out. As printed Target Linearity rises too, "
    "by itself significantly, but by less than 0.001: no point moves visibly, and the rise does not survive Holm's "
    "correction over the paper's claims."
)
QUANTITIES = ("target_linearity",)


def rule(rows: Rows) -> Finding:
    """Per seed: it ends higher than it began, and Kendall's rank correlation with time is positive."""
    series = np.array([one.value[np.argsort(one.step)] for one in rows.by("seed").values()])
    found = every(
        rise=positive(series[:, -1] - series[:, 0], "last frame minus first"),
        trend=positive(np.array([kendall(one) for one in series]), "Kendall's tau of linearity and frame"),
    )
    first, last = (float(series[:, frame].mean()) for frame in (0, -1))
    return replace(found, measured=f"Target Linearity {first:.4f} → {last:.4f}")


CONTOURS = (1 / 3, 2 / 3, 1.0)
ARMS = {
    "corrected": {"color": style.CLAIM, "marker": "o", "label": "corrected: c = 700, intercept"},
    "control: shuffled targets, corrected": {"color": style.CONTROL, "marker": "X", "label": "its control"},
    "claim": {"color": style.OTHER, "marker": "o", "linestyle": ":", "label": "as printed: c = 0.05, no intercept"},
    "control: shuffled targets": {"color": style.CONTROL, "marker": "X", "linestyle": ":", "label": "its control"},
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the frames as in the paper, and below them target linearity against the frame with its control."""
    one = rows[(rows["arm"] == "claim") & (rows["seed"] == 0)]
    frames = sorted(one["step"][one["quantity"] == "virtual/0"].unique())
    columns = min(len(frames), 6)
    figure, grid = style.panels(claim, columns=columns, rows=2, height=3.9, width=7.6)
    shown = [frames[round(at)] for at in np.linspace(0, len(frames) - 1, columns)]
    points = {name: _column(one, name, one["step"].min()) for name in ("input/0", "input/1", "target")}
    inputs = np.column_stack([points["input/0"], points["input/1"]])
    grams = {step: _gram(one, step) for step in shown}
    # one scale for all frames, so that the growth of W^T W is seen
    reach = max(np.sqrt(np.linalg.eigvalsh(gram)[-1]) for gram in grams.values())
    for axes, step in zip(grid[0], shown, strict=True):
        virtual = np.column_stack([_column(one, f"virtual/{axis}", step) for axis in (0, 1)])
        virtual = (virtual - virtual.min(0)) / np.ptp(virtual, axis=0)  # into the unit square, as in the paper's figure
        axes.scatter(*inputs.T, s=1.2, color="0.8", linewidths=0, rasterized=True)
        axes.scatter(*virtual.T, s=2.2, c=points["target"], cmap="viridis", linewidths=0, rasterized=True)
        _contours(axes, grams[step] / reach**2, inputs)
        axes.set(title=f"frame {step}", xticks=[], yticks=[], aspect="equal")
    middle = inputs.mean(0)
    half = 0.62 * np.ptp(inputs, axis=0).max()
    for axes in grid[0]:
        axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    for axes in grid[1]:
        axes.remove()
    _linearity(figure.add_subplot(grid[1, 0].get_gridspec()[1, :]), rows)
    return figure


def _column(rows: pd.DataFrame, quantity: str, step: int) -> np.ndarray:
    found = rows[(rows["quantity"] == quantity) & (rows["step"] == step)]
    return found.sort_values("x")["value"].to_numpy()


def _gram(rows: pd.DataFrame, step: int) -> np.ndarray:
    a, b, c = (_column(rows, f"gram/{entry}", step)[0] for entry in ("00", "01", "11"))
    return np.array([[a, b], [b, c]])


def _contours(axes: Axes, covariance: np.ndarray, inputs: np.ndarray) -> None:
    """Contours of the Gaussian of this covariance around the inputs' mean."""
    variance, direction = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, 61)
    circle = np.sqrt(variance)[:, None] * np.array([np.cos(angle), np.sin(angle)])
    for radius in CONTOURS:
        at = inputs.mean(0)[:, None] + 0.55 * np.ptp(inputs, axis=0).max() * radius * (direction @ circle)
        axes.plot(*at, color="#d00000", linestyle="--", linewidth=0.8)


def _linearity(axes: Axes, rows: pd.DataFrame) -> None:
    found = rows[rows["quantity"] == "target_linearity"]
    for arm, line in ARMS.items():
        style.band(axes, found[found["arm"] == arm], "step", markersize=4, **line)
    seeds = found["seed"].nunique()
    axes.set(xlabel=f"frame (band: Student's 95 % interval over {seeds} seeds)", ylabel="target linearity of X̃")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
