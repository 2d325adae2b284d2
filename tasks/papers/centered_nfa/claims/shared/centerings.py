"""Figures 2, 4, 5, 7 and 8, all from one experiment: the correction of the initial scales, a rule, both layouts."""

from dataclasses import replace
from itertools import product
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves

CORRECTION = (
    "The scales multiply torch's default variance 1/(3k), as in the authors' code. With the printed 1/k the first "
    "steps overshoot on isotropic data at width 256 and scale 1."
)
LAYERS = ("0", "2")  # the hidden layers, by their names in the network
ROBUSTNESS_QUANTITIES = ("nfa/uncentered", "nfa/centered", "null/uncentered", "test_loss")
COLUMNS = {"nfa/uncentered": "UC-NFA", "nfa/centered": "C-NFA", "train_loss": "train loss", "test_loss": "test loss"}


def early_steps(rows: Rows) -> np.ndarray:
    """Which of the measured steps are early: those in the first tenth of the training. The paper gives no number."""
    steps = np.unique(rows.step)
    return steps <= steps[-1] / 10


def robustness(rows: Rows) -> Finding:
    """Appendix G's statements, per seed and in the worst layer; the spread over the scales is averaged over the steps.

    The null is the mean correlation of two matrices with independent eigenvectors. The UC-NFA is small while it is
    nearer to the null than to 1, and high while it is nearer to 1: small before training at every scale, high after
    training at the smallest scale, where it is highest.
    """
    uc_nfa, c_nfa, null = (
        curves(rows.where(quantity=name), "seed", "layer", "x") for name in ROBUSTNESS_QUANTITIES[:3]
    )
    normalized = (uc_nfa - null) / (1 - null)
    test_loss = curves(rows.where(quantity="test_loss"), "seed", "x")[..., -1]
    measured_steps = c_nfa.shape[-1]  # the C-NFA is undefined before the first step
    spread = np.ptp(uc_nfa[..., -measured_steps:], 2) - np.ptp(c_nfa, 2)
    finding = all_of(
        robust=positive(spread.mean(-1).min(1), "spread of the UC-NFA over the scales minus that of the C-NFA"),
        small=positive(
            0.5 - normalized[..., 0].max((1, 2)), "1/2 minus (UC-NFA − null)/(1 − null) before the first step"
        ),
        high=positive(
            normalized[:, :, 0, -1].min(1) - 0.5,
            "(UC-NFA − null)/(1 − null) after the last step at the smallest scale minus 1/2",
        ),
        rises=positive((uc_nfa[..., -1] - uc_nfa[..., 0]).min((1, 2)), "last UC-NFA minus first"),
        test_loss=positive(
            test_loss[:, -1] - test_loss[:, 0], "final test loss at the largest scale minus that at the smallest"
        ),
        uncentered=positive(
            (uc_nfa[:, :, 0, -1] - uc_nfa[:, :, -1, -1]).min(1),
            "final UC-NFA at the smallest scale minus that at the largest",
        ),
        centered=positive(
            (c_nfa[:, :, 0, -1] - c_nfa[:, :, -1, -1]).min(1),
            "final C-NFA at the smallest scale minus that at the largest",
        ),
    )
    final = [
        f"{name} {ansatz[..., -1].mean(0).min():.2f} to {ansatz[..., -1].mean(0).max():.2f}"
        for name, ansatz in (("UC-NFA", uc_nfa), ("C-NFA", c_nfa))
    ]
    losses = ", ".join(
        f"{loss:.2f} at s₀ = {scale:g}" for loss, scale in zip(test_loss.mean(0), np.unique(rows.x), strict=True)
    )
    return replace(finding, measured=f"final {final[0]}, {final[1]}; final test loss {losses}")


def draw_nfa_and_losses(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw Figures 2, 7 and 8: UC-NFA and C-NFA, a row of panels for each layer, and the losses.

    Each loss is divided by its largest value over all scales of its arm. The data are of the claim's ``SPECTRUM``.
    """
    rows = rows[rows["quantity"].isin(COLUMNS) & (rows["case"] == claim.SPECTRUM)]
    rows = style.thinned(rows, 15, power=2)
    figure, grid = style.panels(claim, columns=4, rows=2, height=4.4, width=8.0)
    controls = style.controls(rows)
    for (row, layer), (column, quantity) in product(enumerate(LAYERS), enumerate(COLUMNS)):
        axes, is_loss = grid[row, column], quantity.endswith("loss")
        if is_loss and row:
            axes.set_axis_off()
            continue
        values = rows[(rows["quantity"] == quantity) & rows["layer"].isin([layer, ""])]
        if is_loss:
            means = values.groupby(["x", "step", "arm"])["value"].transform("mean")
            values = values.assign(value=values["value"] / means.groupby(values["arm"]).transform("max"))
        _lines_by_scale(axes, values, [] if is_loss else controls)
        if row == 0:
            axes.set_title(COLUMNS[quantity], fontsize=9)
        if is_loss or row:
            axes.set_xlabel("step")
        axes.set_ylim(0, None if is_loss else 1.02)
        if column == 0:
            axes.set_ylabel(f"layer {row + 1}")
    title = f"variances s₀/(3k): mean and Student's\n95 % interval over {rows['seed'].nunique()} seeds"
    legend = grid[1, 2].legend(
        *_legend_entries(grid[0, 0], controls), loc="center left", fontsize=8, title_fontsize=8, title=title,
        alignment="left",
    )  # fmt: skip
    legend.set_in_layout(False)  # it extends into the empty panel on its right
    return figure


def draw_by_layer(rows: pd.DataFrame, claim: ModuleType, label: str, top: float) -> Figure:
    """Draw Figures 4 and 5: the claim's first quantity, a column of panels for each layer, a row for each spectrum.

    The y axis ends at ``top``; dashed and dotted lines may leave it.
    """
    rows = style.thinned(rows[rows["quantity"] == claim.QUANTITIES[0]], 20, power=2)
    spectra, controls = claim.SPECTRA, style.controls(rows)
    figure, grid = style.panels(claim, columns=2, rows=len(spectra), height=0.9 + 2.1 * len(spectra), width=7.0)
    for panels, spectrum in zip(grid, spectra, strict=True):
        for axes, (number, layer) in zip(panels, enumerate(LAYERS, 1), strict=True):
            _lines_by_scale(axes, rows[(rows["case"] == spectrum) & (rows["layer"] == layer)], controls)
            axes.set(ylim=(0, top), title=f"layer {number}, {spectrum}")
        panels[0].set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("step")
    title = f"variances s₀/(3k): mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(
        *_legend_entries(grid[0, 0], controls), loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
        title=title,
    )  # fmt: skip
    return figure


def _line_styles(controls: list[str]) -> list[tuple[str, str]]:
    return [("claim", "--"), *((arm, ":") for arm in controls)]


def _lines_by_scale(axes: Axes, rows: pd.DataFrame, controls: list[str]) -> None:
    """Draw the corrected arm solid with its band, since gradient descent is stable there; the other arms as means."""
    scales = sorted(rows["x"].unique(), reverse=True)
    for scale, color in zip(scales, sns.color_palette("viridis", len(scales)), strict=True):
        of_scale = rows[rows["x"] == scale]
        corrected = of_scale[of_scale["arm"] == "corrected"]
        style.band(axes, corrected, "step", color, linewidth=1.4, label=f"s₀ = {scale:g}")
        for arm, dashes in _line_styles(controls):
            means = of_scale[of_scale["arm"] == arm].groupby("step")["value"].mean()
            axes.plot(means.index, means, color=color, linestyle=dashes, linewidth=1)


def _legend_entries(axes: Axes, controls: list[str]) -> tuple[list, list]:
    """Handles and labels of the scales, which ``axes`` has, and of the dashed and dotted arms."""
    for arm, dashes in _line_styles(controls):
        label = "as printed: variances s₀/k" if arm == "claim" else arm
        axes.plot([], [], color=style.GUIDE, linestyle=dashes, linewidth=1, label=label)
    return axes.get_legend_handles_labels()
