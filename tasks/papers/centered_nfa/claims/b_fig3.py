"""The predicted correlation of the centered NFM's and AGOP's second derivatives closely matches the observed one.

On the alignment-reversing data, over the balance, with a single network for all data sets: per data seed, the root mean
square error over balances is below 0.1, R² (about the observed mean) above 0.8, and the observed correlation falls by
more than 0.1 from the largest balance to the smallest.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, interval, positive

ID = "B.fig3"
KIND = "statistical"
TITLE = "Predicted and observed centered NFA on alignment-reversing data"
PRINTED = "predicted closely matches observed, Figure 3; X₁ of scale 1, Appendix F"
CORRECTION = (
    "Appendix F gives X₁ no scale; as printed (scale 1) nothing is reversed: all correlations are 1. With X₁ times "
    "d^−0.8 they fall with the balance. Both forms are predicted with (28) as derived: as printed its trace is "
    "negative on the data sets of balances from 0.6 to 0.9, which leaves no correlation."
)
QUANTITIES = ("fig3/predicted", "fig3/observed", "fig3/mean term")
ERROR, SHARE, FALL = 0.1, 0.8, 0.1


def rule(rows: Rows) -> Finding:
    """The three numbers of each data seed, Student's intervals over seeds on their sides of the limits.

    Beside them the error of (5)'s mean term at the network's own width, without its covariance. (The control has that
    of infinite width.)
    """
    predicted, observed = (_curves(rows.where(quantity=name)) for name in QUANTITIES[:2])
    squares = (observed - predicted) ** 2
    errors = np.sqrt(squares.mean(1))
    spread = np.maximum(((observed - observed.mean(1, keepdims=True)) ** 2).sum(1), 1e-12)
    shares = 1 - squares.sum(1) / spread
    falls = observed[:, -1] - observed[:, 0]
    found = every(
        match=positive(ERROR - errors, f"{ERROR} less the root mean square error"),
        determination=positive(shares - SHARE, f"R² less {SHARE}"),
        reversal=positive(falls - FALL, f"observed at the largest less at the smallest balance, less {FALL}"),
    )
    (rmse, *rmse_ends), (share, *share_ends) = interval(errors), interval(shares)
    measured = (
        f"RMSE {rmse:.3f} ({rmse_ends[0]:.3f} to {rmse_ends[1]:.3f}), "
        f"R² {share:.3f} ({share_ends[0]:.3f} to {share_ends[1]:.3f}), fall {falls.mean():.2f}"
    )
    if len(mean_term := rows.where(quantity=QUANTITIES[2])):
        off = float(np.sqrt(((observed - _curves(mean_term)) ** 2).mean(1)).mean())
        measured += f"; RMSE of the mean term at this width, without the covariance, {off:.3f}"
    return replace(found, measured=measured)


def _curves(rows: Rows) -> np.ndarray:
    """(seeds, balances)."""
    return np.array([one.value[np.argsort(one.x)] for one in rows.by("seed").values()])


CONTROL = "control: first-order term alone"
SHADED = 4  # data seeds drawn one by one, as in the paper


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's three panels: predicted, observed, and a point for each balance and seed."""
    rows = rows.assign(what=rows["quantity"].str.removeprefix("fig3/"))
    corrected, control, printed = (rows[rows["arm"] == arm] for arm in ("corrected", CONTROL, "claim"))
    figure, grid = style.panels(claim, columns=3, height=3.4, width=7.8)
    shades = sns.color_palette("husl", SHADED)
    for axes, what in zip(grid[0], ("predicted", "observed"), strict=False):
        found = corrected[corrected["what"] == what]
        for seed, color in enumerate(shades):
            one = found[found["seed"] == seed].sort_values("x")
            axes.plot(
                one["x"],
                one["value"],
                color=color,
                alpha=0.4,
                linewidth=1,
                label="four data seeds" if not seed else "_",
            )
        style.band(axes, found, "x", style.CLAIM, linewidth=2, label="mean over data seeds")
        literal = printed[printed["what"] == what].groupby("x")["value"].mean()
        axes.plot(literal.index, literal, "s", color=style.PRINTED, markersize=3, label="as printed: X₁ of scale 1")
        axes.set(title=what, xlabel="balance γ", ylim=(0, 1.04))
    for frame, color, dashes, label in (
        (control[control["what"] == "predicted"], style.CONTROL, ":", CONTROL),
        (corrected[corrected["what"] == "mean term"], style.OTHER, "--", "mean term of (5), with width"),
    ):
        mean = frame.groupby("x")["value"].mean()
        grid[0, 0].plot(mean.index, mean, color=color, linestyle=dashes, linewidth=1, label=label)
    grid[0, 0].set_ylabel("correlation of second derivatives")
    axes = grid[0, 2]
    for frame, color, mark in ((control, style.CONTROL, "X"), (corrected, style.CLAIM, "o")):
        wide = frame.pivot_table(index=["seed", "x"], columns="what", values="value")
        axes.plot(wide["observed"], wide["predicted"], mark, color=color, markersize=3, alpha=0.5, markeredgewidth=0)
    axes.plot([0, 1], [0, 1], color=style.GUIDE, linestyle="--", linewidth=1)
    axes.set(
        title="one point a balance and seed", xlabel="observed", ylabel="predicted", xlim=(0, 1.04), ylim=(0, 1.04)
    )
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"band: Student's 95 % interval over {corrected['seed'].nunique()} data seeds")  # fmt: skip
    return figure
