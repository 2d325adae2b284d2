"""When a network groks, what changes until then, and panels by weight decay: shared by A.fig13 and A.fig14."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared.figures import (
    case_number,
    cases_by_number,
    interval_over_seeds,
    legend_below,
)

QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")
MEMORISED = 0.99  # training accuracy
ONSET = 0.25  # test accuracy
GROKKED = 0.9  # test accuracy
DEFINITION = (
    f"memorisation is the first training accuracy of {MEMORISED:g}; a network groks if its test accuracy is below "
    f"{ONSET:g} then and reaches {GROKKED:g} later; the onset is the last point before that with less than {ONSET:g}"
)


def grokking(train: np.ndarray, test: np.ndarray) -> tuple[int, int, int] | None:
    """The indices of memorisation, of the onset and of grokking in two series of accuracies.

    Memorisation is the first training accuracy of MEMORISED, grokking the first later test accuracy of GROKKED, and
    the onset the last point before grokking with a test accuracy below ONSET. None if the network does not memorise,
    generalises when it memorises, or never groks.
    """
    memorised = np.flatnonzero(train >= MEMORISED)
    if not len(memorised) or test[memorised[0]] >= ONSET:
        return None
    first = int(memorised[0])
    grokked = first + np.flatnonzero(test[first:] >= GROKKED)
    if not len(grokked):
        return None
    last = int(grokked[0])
    return first, first + int(np.flatnonzero(test[first:last] < ONSET)[-1]), last


def rises_until_grokking(
    rows: Rows, series: Callable[[Rows], np.ndarray], begin: Literal["memorisation", "onset"], what: str
) -> Finding:
    """For every weight decay, per seed: ``series``, with the axes (seeds, epochs), rises from ``begin`` until grokking.

    A weight decay of which some seed does not grok is undecided. It is refuted if all its networks memorise and none
    begins to generalise: then there is no grokking until which to rise. In both cases the rise from memorisation to the
    end of training is reported.
    """
    parts, measured = {}, []
    for (case,), selected in rows.by("case").items():
        train, test = (curves(selected.where(quantity=f"{part}_accuracy"), "seed") for part in ("train", "test"))
        values = series(selected)
        times = [grokking(*accuracies) for accuracies in zip(train, test, strict=True)]
        grokked = [(value, time) for value, time in zip(values, times, strict=True) if time]
        if len(grokked) == len(times):
            until = "until grokking"
            start = ("memorisation", "onset").index(begin)
            rises = np.array([value[time[2]] - value[time[start]] for value, time in grokked])
            parts[case] = positive(rises, f"{what} from {begin} {until}")
        else:
            until = "to the end"
            # index -1, and so no rise, where a network does not memorise
            memorised = [np.append(np.flatnonzero(accuracy >= MEMORISED), -1)[0] for accuracy in train]
            rises = np.array([value[-1] - value[first] for value, first in zip(values, memorised, strict=True)])
            undecided = f"not judged, since some seed does not grok: {what} from memorisation to the end of training"
            never = bool((train.max(1) >= MEMORISED).all() and (test.max(1) < ONSET).all())
            parts[case] = replace(positive(rises, undecided), holds=False if never else None, p=None)
        measured.append(f"{case}: {parts[case].statistic:+.3f} {until}, {len(grokked)} of {len(times)} seeds grok")
    finding = all_of(**parts)
    return replace(finding, rule=f"{finding.rule}; {DEFINITION}", measured="; ".join(measured))


def draw_by_weight_decay(
    rows: pd.DataFrame, claim: ModuleType, draw_panel: Callable[[Axes, str], None], ylabel: str, legend_columns: int
) -> Figure:
    """Draw a panel for each weight decay by ``draw_panel(axes, case)``; that without weight decay is the control."""
    cases = cases_by_number(rows)
    figure, grid = style.panels(claim, columns=-(-len(cases) // 2), rows=2, height=4.8, width=7.6)
    for axes, case in zip(grid.flat, cases, strict=False):
        draw_panel(axes, case)
        control = rows["arm"][rows["case"] == case].iloc[0].startswith("control")
        axes.set_title(f"λ = {case_number(case):g}" + (" (control)" if control else ""),
                       color=style.CONTROL if control else style.PRINTED)  # fmt: skip
    for axes in grid[:, 0]:
        axes.set_ylabel(ylabel)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    legend_below(figure, [grid[0, 0]], legend_columns, f"mean and {interval_over_seeds(rows)}")
    return figure
