"""When a network groks, what changes until then, and panels by weight decay: shared by A.fig13 and A.fig14."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared.figures import case_number, cases_by_number

READS = ("target_linearity", "train_accuracy", "test_accuracy")
MEMORISED = 0.99  # training accuracy: "approximately 1.0"
EMERGED = 0.5  # test accuracy: more than half of what there is to learn
GROKKED = 0.9  # test accuracy: it generalises
POINTS = 12  # of a window, at most
DECAYS = (0.25, 0.5, 0.75)  # weight decays at which the paper's networks grok
CONTROLS = {
    "no weight decay": Control(
        text="The networks are trained without weight decay.",
        parts=("layer", "step"),
        cases=("weight_decay=0",),
        parts_because="Its only case is the weight decay 0, which no case of the claim has.",
    ),
    "shuffled labels": Control(
        text="Target Linearity is measured with shuffled labels; the networks are trained on the true ones.",
        scales=("quick",),  # the paper's table is older than this control
        equal_quantities=("test_accuracy", "train_accuracy"),
        equal_because="Only the labels of Target Linearity are shuffled; networks and accuracies are the claim's.",
    ),
}


@dataclass(frozen=True)
class Times:
    """Indices of a network's epochs; where an event does not come, the last epoch stands for it."""

    memorised: int  # the first training accuracy of MEMORISED
    emerged: int  # the first test accuracy of EMERGED from then on
    grokked: int  # the first test accuracy of GROKKED from then on
    groks: bool  # it memorises before grokking emerges, and grokking emerges


def times(train: np.ndarray, test: np.ndarray) -> Times:
    """When a network memorises and groks, from its series of accuracies."""
    end = len(train) - 1

    def first(reached: np.ndarray, start: int) -> int:
        places = start + np.flatnonzero(reached[start:])
        return int(places[0]) if len(places) else end

    memorised = first(train >= MEMORISED, 0)
    emerged, grokked = (first(test >= level, memorised) for level in (EMERGED, GROKKED))
    groks = bool(train[memorised] >= MEMORISED and memorised < emerged and test[emerged] >= EMERGED)
    return Times(memorised, emerged, grokked, groks)


def networks(rows: Rows) -> dict[str, list[Times]]:
    """By weight decay (case) the times of each seed's network."""
    by_case = {}
    for (case,), selected in rows.by("case").items():
        train, test = (curves(selected.where(quantity=f"{part}_accuracy"), "seed") for part in ("train", "test"))
        by_case[case] = [times(*accuracies) for accuracies in zip(train, test, strict=True)]
    return by_case


def in_words(case: str) -> str:
    """A case for readers: "weight_decay=0.25" is "weight decay 0.25"."""
    return case.replace("_", " ").replace("=", " ")


def windows(series: np.ndarray, first: list[int], last: list[int]) -> np.ndarray:
    """Each seed's series (seeds, epochs) from its first to its last index, at equally many points of each seed."""
    shortest = min(end - start for start, end in zip(first, last, strict=True)) + 1
    points = max(2, min(POINTS, shortest))
    places = [np.linspace(start, end, points).round().astype(int) for start, end in zip(first, last, strict=True)]
    return np.array([values[place] for values, place in zip(series, places, strict=True)])


def grok(rows: Rows, decay: float) -> Finding:
    """At this weight decay every network memorises before grokking emerges, and grokking emerges."""
    of_decay = networks(rows.where(case=case_of(decay)))
    groks = [network.groks for case in of_decay.values() for network in case]
    rule = (
        f"fraction of the networks that reach a training accuracy of {MEMORISED:g} first and a test accuracy of "
        f"{EMERGED:g} later must be 1"
    )
    fraction = float(np.mean(groks)) if groks else 0.0  # a decay that is not in the table has no statement to void
    return Finding(
        fraction == 1 if groks else None, fraction, rule, "direction", numbers={"networks": float(len(groks))}
    )


def case_of(decay: float) -> str:
    """The case of a weight decay."""
    return f"weight_decay={decay:g}"


def hypotheses(statements: tuple[Statement, ...]) -> tuple[Hypothesis, ...]:
    """That networks grok, for each weight decay: where they do not, the statements at this decay alone are void."""
    return tuple(
        Hypothesis(
            name=f"grokking, λ = {decay:g}",
            text=f"At the weight decay {decay:g} every network “first memorizes the training data” (training accuracy "
            f"{MEMORISED:g}) and only later generalizes (test accuracy {EMERGED:g}; Appendix B.8).",
            rule=partial(grok, decay=decay),
            reads=("train_accuracy", "test_accuracy"),
            statements=tuple(statement.name for statement in statements if case_of(decay) in statement.data_sets),
        )
        for decay in DECAYS
    )


def at_each_decay(
    name: str, quote: str, rule: Callable[[Rows], Finding], decays: tuple[float, ...] = DECAYS, **more: Any
) -> tuple[Statement, ...]:
    """A statement for each weight decay of the paper's networks that grok, with the control without weight decay."""
    return tuple(
        Statement(
            name=f"{name}, λ = {decay:g}",
            quote=quote,
            place="Appendix B.8",
            rule=rule,
            reads=READS,
            rows=60,
            data_sets=(case_of(decay), case_of(0.0)),
            **more,
        )
        for decay in decays
    )


def draw_by_weight_decay(
    rows: pd.DataFrame, claim: ModuleType, draw_panels: Mapping[str, Callable[[Axes, str], None]]
) -> tuple[Figure, Any]:
    """Draw a column of panels for each weight decay: a panel ``draw(axes, case)`` for each label of an axis.

    The panels of a row have one axis; the column without weight decay is the control.
    """
    cases = cases_by_number(rows)
    figure, grid = style.panels(claim, columns=len(cases), rows=len(draw_panels), height=4.4, sharex=True, sharey="row")
    for column, case in zip(grid.T, cases, strict=True):
        for axes, draw_panel in zip(column, draw_panels.values(), strict=True):
            draw_panel(axes, case)
        control = rows["arm"][rows["case"] == case].iloc[0].startswith("control")
        column[0].set_title(f"weight decay {case_number(case):g}" + (", control" if control else ""),
                            color=style.CONTROL if control else style.PRINTED)  # fmt: skip
        column[-1].set_xlabel("epoch")
    for axes, label in zip(grid[:, 0], draw_panels, strict=True):
        axes.set_ylabel(label)
    style.note(figure, style.meaning_of_lines(rows))
    return figure, grid
