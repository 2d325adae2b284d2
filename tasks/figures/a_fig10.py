"""A, Figure 10: reconstruction error and Target Linearity of VAEs in training, and what they decode."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import style

SETS = ("MNIST", "CIFAR-10")  # from above, as in the paper
POINTS, IMAGES = 8, 4  # of a line, of a beta: for a small file


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw for each data set the three panels of the paper: error, linearity by beta against the epoch; images."""
    rows = rows.assign(data=rows["case"].str.partition(", ")[0])
    sets = [data for data in SETS if data in set(rows["data"])]
    figure, grid = style.panels(key, columns=3, rows=len(sets), height=0.9 + 2.5 * len(sets), width=7.6)
    for line, data in zip(grid, sets, strict=True):
        own = rows[rows["data"] == data]
        _one_set(line, own)
        name = data if set(own["scale"]) == {"paper"} else f"digits for {data}"
        line[0].set_title(name, fontsize=9, loc="left")
    lines, names = grid[0, 0].get_legend_handles_labels()
    more = grid[0, 1].get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _one_set(axes: Any, rows: pd.DataFrame) -> None:
    betas = {case: float(case.rpartition("=")[2]) for case in rows["case"].unique()}
    cases = sorted(betas, key=lambda case: betas[case])
    error, linearity, images = axes
    shown = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        one = rows[rows["case"] == case]
        after = style.thinned(one[one["x"] >= 1], POINTS)
        claim = after[after["arm"] == "claim"]
        label = f"β = {betas[case]:g}"
        style.band(error, claim[claim["quantity"] == "test_reconstruction"], "x", color, label=label)
        train = style.mean_and_band(claim[claim["quantity"] == "train_reconstruction"], "x")
        error.plot(train["x"], train["mean"], color=color, linestyle="--", linewidth=0.8)
        T = after[after["quantity"] == "target_linearity"]
        style.band(linearity, T[T["arm"] == shown], "x", color)
        for arm in style.controls(T) if case == cases[0] else ():  # those of all betas lie on each other
            style.band(linearity, T[T["arm"] == arm], "x", style.CONTROL, linestyle=":", linewidth=0.8, label=arm)
    error.plot([], [], color=style.GUIDE, linestyle="--", linewidth=0.8, label="training set (solid: test set)")
    error.set(xlabel="epoch", ylabel="reconstruction error")
    linearity.set(xlabel="epoch", ylabel=f"target linearity ({shown})")
    _pictures(images, rows, {case: f"β = {betas[case]:g}" for case in cases})


def _pictures(axes: Axes, rows: pd.DataFrame, names: dict[str, str]) -> None:
    """A line of images for each case, the originals on top."""
    first = rows[(rows["case"] == next(iter(names))) & (rows["quantity"] == "image/truth")]
    lines = [style.strip(first)]
    lines += [style.strip(rows[(rows["case"] == case) & (rows["quantity"] == "image/decoded")]) for case in names]
    side = len(lines[0])
    axes.imshow(np.vstack(lines)[:, : IMAGES * side], cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set(xticks=[], yticks=[(at + 0.5) * side for at in range(len(lines))])
    axes.set_yticklabels(["original", *names.values()], fontsize=7)
    axes.tick_params(length=0)
