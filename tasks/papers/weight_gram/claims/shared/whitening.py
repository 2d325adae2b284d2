"""Whitened against plain gradient descent: rule and figure of A.fig2 and A.fig6."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType, ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import by_number, interval
from tasks.papers.weight_gram import EPOCHS_TO_BEST
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set, displayed_name
from tasks.papers.weight_gram.claims.shared.figures import case_number, interval_over_seeds, legend_below

QUANTITIES = ("original/test_accuracy", "whitened/test_accuracy")
DATA_SETS = ("MNIST", "SVHN", "CIFAR-10", "CIFAR-100")  # panels in the order of the paper
MARGIN = 0.01  # of test accuracy


def test_accuracies(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By data set the learning rates, ascending, and the test accuracies of the whitened and of the original update.

    The accuracies have the axes (seeds, rates, epochs from 0 on).
    """
    accuracies = {}
    for data_set, selected in by_data_set(rows).items():
        rates, whitened = by_number(selected.where(quantity="whitened/test_accuracy"))
        accuracies[data_set] = rates, whitened, by_number(selected.where(quantity="original/test_accuracy"))[1]
    return accuracies


def rule(rows: Rows, margins: Mapping[str, float] = MappingProxyType({})) -> Finding:
    """On every data set, at every learning rate, the whitened update's final test accuracy is no worse.

    Paired by seed, the difference whitened minus original plus a margin is positive. The paper names no margin;
    ``margins`` by data set and MARGIN elsewhere are ours: without a margin "no worse" has no test, since an interval
    above 0 shows "better", and an interval that contains 0 shows nothing. A loss within the margin can be significant,
    so the intervals are reported.
    """
    parts: dict[str, Finding] = {}
    measured = []
    for data_set, (rates, whitened, original) in test_accuracies(rows).items():
        differences = (whitened - original)[:, :, -1].T
        margin = margins.get(data_set, MARGIN)
        what = f"test accuracy, whitened minus original, plus our margin {margin:g}"
        parts |= {f"{data_set}, lr {rate:g}": positive(difference + margin, what)
                  for rate, difference in zip(rates, differences, strict=True)}  # fmt: skip
        intervals = [interval(difference) for difference in differences]
        by_rate = ", ".join(f"{rate:g}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
                            for rate, (mean, low, high) in zip(rates, intervals, strict=True))  # fmt: skip
        losses = sum(high < 0 for _, _, high in intervals)
        measured.append(f"{data_set}, whitened minus original by learning rate {by_rate}, significantly below 0 at "
                        f"{losses} of {len(intervals)}")  # fmt: skip
    return replace(all_of(**parts), measured="; ".join(measured))


def draw(rows: pd.DataFrame, claim: ModuleType, faster: Collection[str] = ()) -> Figure:
    """Draw the test accuracies by epoch: a row of panels for each data set, a panel for each learning rate.

    Data sets of one learning rate stand side by side. On the data sets ``faster``, where the paper has the whitened
    update reach the original's best within some epochs, two lines mark that best and that epoch.
    """
    rows = rows[rows["quantity"].str.endswith("test_accuracy")]
    rows = rows.assign(data_set=rows["case"].str.partition(", ")[0], rate=rows["case"].map(case_number))
    data_sets = [name for name in DATA_SETS if name in set(rows["data_set"])]
    rates = sorted(rows["rate"].unique())
    shape = (len(data_sets), len(rates)) if len(rates) > 1 else (1, len(data_sets))
    figure, grid = style.panels(claim, rows=shape[0], columns=shape[1], height=1.3 + 1.9 * shape[0],
                                width=7.6 if shape[1] > 1 else 5.5)  # fmt: skip
    lines = [("claim", "original/test_accuracy", style.OTHER, "--", "original"),
             ("claim", "whitened/test_accuracy", style.CLAIM, "-", "whitened")]  # fmt: skip
    lines += [(arm, "whitened/test_accuracy", style.CONTROL, ":", arm) for arm in style.controls(rows)]
    panels = [(data_set, rate) for data_set in data_sets for rate in rates]
    for axes, (data_set, rate) in zip(grid.flat, panels, strict=True):
        panel = rows[(rows["data_set"] == data_set) & (rows["rate"] == rate)]
        for arm, quantity, color, dashes, label in lines:
            line = panel[(panel["arm"] == arm) & (panel["quantity"] == quantity)]
            if not line.empty:  # the control may have some of the rates only
                style.band(axes, style.thinned(line, 11), "x", color, linestyle=dashes, label=label)
        if data_set in faster:
            original = panel[(panel["arm"] == "claim") & (panel["quantity"] == "original/test_accuracy")]
            best = original[original["x"] > 0].groupby("seed")["value"].max().mean()
            axes.axhline(best, ls="-.", label="original's best, mean over seeds", color=style.PRINTED, linewidth=0.8)
            axes.axvline(EPOCHS_TO_BEST, ls=(0, (1, 2)), label=f"paper: whitened reaches it by epoch {EPOCHS_TO_BEST}",
                         color=style.PRINTED, linewidth=0.8)  # fmt: skip
        axes.set_title(f"{displayed_name(data_set, rows)}, rate {rate:g}", fontsize=7)
        axes.set_ylim(0, min(1.02, 1.05 * max(0.1, rows[rows["data_set"] == data_set]["value"].max())))
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy")
    legend_below(figure, grid.flat, 2 + (shape[1] > 1), f"mean and {interval_over_seeds(rows)}")
    return figure
