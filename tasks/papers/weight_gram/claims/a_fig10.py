"""The lower a VAE's beta, the higher the Target Linearity of its latents and the lower its reconstruction error.

For beta of at most 0.1, Target Linearity rises throughout training. Latents are the posterior means and targets the
inputs, both of the training set; the reconstruction error is that of the test set. MNIST and CIFAR-10 are judged
separately. Quick scale: 8 x 8 digits in place of MNIST only.
"""

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import by_number, kendall
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set, displayed_name
from tasks.papers.weight_gram.claims.shared.figures import (
    case_number,
    cases_by_number,
    interval_over_seeds,
    legend_below,
)
from tasks.papers.weight_gram.claims.shared.growth import least_trend

ID = "A.fig10"
KIND = "statistical"
TITLE = "A VAE of lower beta has more linear latents and reconstructs better"
PRINTED = "TL falls and the reconstruction error rises with β from 0.05 to 10, Figure 10"
CORRECTION = (
    "The regression has an intercept, which Definition 2 leaves out: the authors' code centres the inputs. Without an "
    "intercept the inputs' mean, which no latent expresses, counts as error."
)
QUANTITIES = ("target_linearity", "reconstruction")
LOW_BETA = 0.1  # up to this beta Target Linearity rises in training
PANEL_ROWS = ("MNIST", "CIFAR-10")  # data sets from top to bottom, as in the paper
POINTS = 8  # of a line, to keep the file small
IMAGES = 4  # of a beta


def rule(rows: Rows) -> Finding:
    """Per seed, after training: highest against lowest beta, Kendall's tau over beta; for low betas over the epochs."""
    parts: dict[str, Finding] = {}
    measured = []
    for data_set, selected in by_data_set(rows).items():
        betas, T = by_number(selected.where(quantity="target_linearity"))  # T and error: (seeds, betas, epochs)
        _, error = by_number(selected.where(quantity="reconstruction"))
        low = T[:, betas <= LOW_BETA, 1:]
        rise = (low[:, :, -1] - low[:, :, 0]).min(1)
        tests = {
            "linearity_falls": positive(T[:, 0, -1] - T[:, -1, -1], "Target Linearity, lowest beta minus highest"),
            "linearity_trend": positive(np.array([-kendall(seed[:, -1]) for seed in T]),
                                        "minus Kendall's tau of Target Linearity and beta"),
            "error_rises": positive(error[:, -1, -1] - error[:, 0, -1],
                                    "reconstruction error, highest beta minus lowest"),
            "error_trend": positive(np.array([kendall(seed[:, -1]) for seed in error]),
                                    "Kendall's tau of the reconstruction error and beta"),
            "rise_in_training": positive(rise, "least rise of Target Linearity over low betas"),
            "trend_in_training": positive(least_trend(low),
                                          "least Kendall's tau of Target Linearity and epoch over low betas"),
        }  # fmt: skip
        parts |= {f"{data_set}, {name}": part for name, part in tests.items()}
        measured.append(f"{data_set}: TL {T[:, 0, -1].mean():.3f} → {T[:, -1, -1].mean():.3f}, "
                        f"error {error[:, 0, -1].mean():.1f} → {error[:, -1, -1].mean():.1f}")  # fmt: skip
    return replace(all_of(**parts), measured="; ".join(measured))


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's three panels for each data set: error and linearity by beta against the epoch, and images."""
    rows = rows.assign(data_set=rows["case"].str.partition(", ")[0])
    data_sets = [name for name in PANEL_ROWS if name in set(rows["data_set"])]
    figure, grid = style.panels(claim, columns=3, rows=len(data_sets), height=0.9 + 2.5 * len(data_sets), width=7.6)
    for panels, data_set in zip(grid, data_sets, strict=True):
        selected = rows[rows["data_set"] == data_set]
        _draw_data_set(panels, selected)
        panels[0].set_title(displayed_name(data_set, selected), fontsize=9, loc="left")
    legend_below(figure, grid[0, :2], 5, f"mean and {interval_over_seeds(rows)}")
    return figure


def _draw_data_set(panels: Sequence[Axes], rows: pd.DataFrame) -> None:
    names = {case: f"β = {case_number(case):g}" for case in cases_by_number(rows)}
    error, linearity, images = panels
    form = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    for index, (case, color) in enumerate(zip(names, sns.color_palette("viridis", len(names)), strict=True)):
        selected = rows[(rows["case"] == case) & (rows["x"] >= 1)]
        selected = style.thinned(selected, POINTS)
        trained = selected[selected["arm"] == "claim"]
        test = trained[trained["quantity"] == "test_reconstruction"]
        style.band(error, test, "x", color, label=names[case])
        train = style.mean_and_band(trained[trained["quantity"] == "train_reconstruction"], "x")
        error.plot(train["x"], train["mean"], color=color, linestyle="--", linewidth=0.8)
        T = selected[selected["quantity"] == "target_linearity"]
        style.band(linearity, T[T["arm"] == form], "x", color)
        if index == 0:  # the controls of all betas coincide
            for arm in style.controls(T):
                style.band(linearity, T[T["arm"] == arm], "x", style.CONTROL, linestyle=":", linewidth=0.8, label=arm)
    error.plot([], [], color=style.GUIDE, linestyle="--", linewidth=0.8, label="training set (solid: test set)")
    error.set(xlabel="epoch", ylabel="reconstruction error")
    linearity.set(xlabel="epoch", ylabel=f"target linearity ({form})")
    _draw_images(images, rows, names)


def _draw_images(axes: Axes, rows: pd.DataFrame, names: dict[str, str]) -> None:
    """A row of decoded images for each case, below the originals."""
    original = rows[(rows["case"] == next(iter(names))) & (rows["quantity"] == "image/truth")]
    decoded = [rows[(rows["case"] == case) & (rows["quantity"] == "image/decoded")] for case in names]
    strips = [style.strip(images) for images in (original, *decoded)]
    side = len(strips[0])
    axes.imshow(np.vstack(strips)[:, : IMAGES * side], cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set(xticks=[], yticks=[(index + 0.5) * side for index in range(len(strips))])
    axes.set_yticklabels(["original", *names.values()], fontsize=7)
    axes.tick_params(length=0)
