"""Whitened against plain gradient descent: rules and figure of A.fig2 and A.fig6."""

import textwrap
from collections.abc import Collection
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equivalent, positive
from tasks.judging.statistics import by_number, interval
from tasks.papers.weight_gram import EPOCHS_TO_BEST
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set
from tasks.papers.weight_gram.claims.shared.figures import case_number

READS = ("original/test_accuracy", "whitened/test_accuracy")
DATA_SETS = ("MNIST", "SVHN", "CIFAR-10", "CIFAR-100", "digits")  # panels in the order of the paper
FIGURE_RATE = {
    "paper": 0.01,
    "quick": 0.1,
}  # Figure 2's, from the authors' code; at the quick scale 0.01 learns nothing
MARGIN = 0.01  # of test accuracy: what can be read off a figure of accuracies
DIFFERENCE = "the whitened update's best test accuracy minus gradient descent's"


def test_accuracies(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By data set the learning rates, ascending, and the test accuracies of the whitened and of the original update.

    The accuracies have the axes (seeds, rates, epochs from 1 on).
    """
    accuracies = {}
    for data_set, selected in by_data_set(rows).items():
        rates, whitened = by_number(selected.where(quantity="whitened/test_accuracy"))
        original = by_number(selected.where(quantity="original/test_accuracy"))[1]
        accuracies[data_set] = rates, whitened[:, :, 1:], original[:, :, 1:]
    return accuracies


def at_figure_rate(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By data set the test accuracies of both updates, (seeds, epochs), at the learning rate of the paper's figure."""
    rate = FIGURE_RATE[rows.scale[0]]
    accuracies = {}
    for data_set, (rates, whitened, original) in test_accuracies(rows).items():
        place = int(np.argmin(np.abs(rates - rate)))
        if rates[place] == rate:
            accuracies[data_set] = whitened[:, place], original[:, place]
    return accuracies


def no_worse(rows: Rows, margin: float = MARGIN) -> Finding:
    """At the figure's learning rate the whitened update's best test accuracy is not below gradient descent's.

    "No worse" has no test without a margin: an interval above 0 shows "better", one that contains 0 shows nothing.
    """
    parts = {name: _difference_plus(margin, *accuracies) for name, accuracies in at_figure_rate(rows).items()}
    return replace(all_of(**parts), measured=_measured(at_figure_rate(rows), f"above -{margin:g}"))


def no_worse_at_any_rate(rows: Rows) -> Finding:
    """The same at every learning rate that was run."""
    parts = {}
    for name, (rates, whitened, original) in test_accuracies(rows).items():
        for index, rate in enumerate(rates):
            parts[f"{name}, lr {rate:g}"] = _difference_plus(MARGIN, whitened[:, index], original[:, index])
    return all_of(**parts)


def negligible(rows: Rows) -> Finding:
    """The best test accuracies of both updates are equal within the margin, at the only learning rate."""
    accuracies = {name: (whitened[:, 0], original[:, 0])
                  for name, (_, whitened, original) in test_accuracies(rows).items()}  # fmt: skip
    parts = {name: equivalent(whitened.max(1) - original.max(1), MARGIN, DIFFERENCE)
             for name, (whitened, original) in accuracies.items()}  # fmt: skip
    return replace(all_of(**parts), measured=_measured(accuracies, f"inside [-{MARGIN:g}, {MARGIN:g}]"))


def _difference_plus(margin: float, whitened: np.ndarray, original: np.ndarray) -> Finding:
    return positive(whitened.max(1) - original.max(1) + margin, f"{DIFFERENCE}, plus {margin:g}")


def _measured(accuracies: dict[str, tuple[np.ndarray, np.ndarray]], asked: str) -> str:
    """The difference of the best test accuracies by data set, with its interval, and what is asked of it."""
    texts = []
    for name, (whitened, original) in accuracies.items():
        mean, low, high = interval(whitened.max(1) - original.max(1))
        texts.append(f"{name}: {DIFFERENCE} is {mean:+.4f} [{low:+.4f}, {high:+.4f}]")
    return f"{'; '.join(texts)} (must be {asked})"


def draw(rows: pd.DataFrame, claim: ModuleType, faster: Collection[str] = (), margin: float = 0.0) -> Figure:
    """Draw the test accuracies by epoch: a row of panels for each data set, a panel for each learning rate.

    Data sets of one learning rate stand side by side. On the data sets ``faster``, where the paper has the whitened
    update reach the original's best within some epochs, two lines mark that best and that epoch. With a ``margin`` a
    last panel has what is judged: the difference of the best test accuracies, between the margins.
    """
    rows = rows[rows["quantity"].str.endswith("test_accuracy")]
    rows = rows.assign(data_set=rows["case"].str.partition(", ")[0], rate=rows["case"].map(case_number))
    data_sets = [name for name in DATA_SETS if name in set(rows["data_set"])]
    rates = sorted(rows["rate"].unique())
    shape = (len(data_sets), len(rates)) if len(rates) > 1 else (1, len(data_sets))
    beside = {"columns": shape[1] + 1, "width_ratios": [2] * shape[1] + [1]} if margin else {"columns": shape[1]}
    figure, grid = style.panels(claim, rows=shape[0], height=1.3 + 1.9 * shape[0], **beside)
    lines = [("claim", "original/test_accuracy", style.COLORS["gradient descent"], "--", "dashed: gradient descent"),
             ("claim", "whitened/test_accuracy", style.COLORS["whitened update"], "-", "whitened update")]  # fmt: skip
    lines += [(arm, "whitened/test_accuracy", style.CONTROL, ":", f"dotted, {arm}") for arm in style.controls(rows)]
    panels = [(data_set, rate) for data_set in data_sets for rate in rates]
    for axes, (data_set, rate) in zip(grid[:, : shape[1]].flat, panels, strict=True):
        panel = rows[(rows["data_set"] == data_set) & (rows["rate"] == rate)]
        for arm, quantity, color, dashes, label in lines:
            line = panel[(panel["arm"] == arm) & (panel["quantity"] == quantity)]
            if not line.empty:  # the control may have some of the rates only
                style.seeds(axes, style.thinned(line, 11), "x", color, linestyle=dashes, linewidth=1.3, label=label)
        if data_set in faster:
            original = panel[(panel["arm"] == "claim") & (panel["quantity"] == "original/test_accuracy")]
            best = original[original["x"] > 0].groupby("seed")["value"].max().mean()
            axes.axhline(best, ls="-.", label="horizontal: its best",
                         color=style.COLORS["gradient descent"], linewidth=0.8)  # fmt: skip
            axes.axvline(EPOCHS_TO_BEST, ls=(0, (1, 2)), label=f"dotted: epoch {EPOCHS_TO_BEST}, as printed",
                         color=style.PRINTED, linewidth=0.8)  # fmt: skip
        axes.set_title(f"{data_set}, rate {rate:g}", fontsize=8)
        axes.set_ylim(0, min(1.02, 1.05 * max(0.1, rows[rows["data_set"] == data_set]["value"].max())))
    for axes in grid[-1, : shape[1]]:
        axes.set_xlabel("epoch")
    if margin:
        _draw_differences(grid[0, -1], rows[rows["arm"] == "claim"], data_sets, margin)
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy")
    _name_lines(grid[:, : shape[1]], 0.85 if margin else 0.04)
    style.note(figure, style.meaning_of_lines(rows))
    return figure


def _name_lines(grid: Any, height: float) -> None:
    """Name each line in the first panel that has it."""
    named: set[str] = set()
    for axes in grid.flat:
        lines = {str(line.get_label()): line.get_color() for line in axes.get_lines() if line.get_label()[0] != "_"}
        names = [
            (textwrap.fill(name, 76 // grid.shape[1]), color) for name, color in lines.items() if name not in named
        ]
        style.name_lines(axes, names, y=height)
        named |= lines.keys()


def _draw_differences(axes: Axes, rows: pd.DataFrame, data_sets: list[str], margin: float) -> None:
    """A dot a seed: best test accuracy, whitened minus gradient descent; a diamond and a line: mean and interval."""
    axes.axhspan(-margin, margin, color=style.GUIDE, alpha=0.15, linewidth=0)
    axes.axhline(0, color=style.GUIDE, linewidth=0.8)
    color = style.COLORS["whitened update"]
    for place, data_set in enumerate(data_sets):
        of_set = rows[(rows["data_set"] == data_set) & (rows["x"] > 0)]
        best = of_set.groupby(["seed", "quantity"])["value"].max().unstack()
        values = (best["whitened/test_accuracy"] - best["original/test_accuracy"]).to_numpy()
        mean, low, high = interval(values)
        axes.plot(np.full(len(values), place), values, "o", color=color, markersize=3.5, alpha=0.5)
        axes.plot([place + 0.2] * 2, [low, high], color="black", linewidth=1.2)
        axes.plot(place + 0.2, mean, "D", color=color, markeredgecolor="black", markersize=5)
    axes.set_xticks(range(len(data_sets)), data_sets)
    axes.set(xlim=(-0.5, len(data_sets) - 0.2), ylabel="best test accuracy,\nwhitened minus gradient descent")
    axes.set_title(f"mean and 95 % interval;\ngrey: within {margin:g}", fontsize=8)
