"""Something to look at for each paper: measured matrices and curves that a reader steps through.

A paper may have a module ``explore`` beside its claims. It names an experiment and turns the experiment's table into a
``View``. The views of a scale lie in ``reports/SCALE/explore.json``, from which ``tasks.site`` makes the pages.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from gramlab import tables
from tasks import papers
from tasks.stage import Stage

DIGITS = 3  # significant digits of an image's entries: more than an eye tells apart


@dataclass(frozen=True)
class Matrix:
    """A matrix along the slider: ``entries[option][index]`` has its entries row by row, None where it is not measured.

    Colours reach from -``limit`` to ``limit``; without one, each image's from its own largest entry.
    """

    name: str
    entries: dict[str, list[list[float] | None]]
    limit: float | None = None


@dataclass(frozen=True)
class Curve:
    """A number along the slider: ``seeds[option]`` has a list for each seed, with None where it is not measured."""

    name: str
    seeds: dict[str, list[list[float | None]]]


@dataclass(frozen=True)
class View:
    """What a page shows of a scale.

    Parameters
    ----------
    title, text : str
        What is seen, and how to read it.
    experiment : str
        The key of the experiment whose table is shown.
    claims : list of str
        Keys of the claims that rest on the same table.
    slider, values : str, list of float
        The quantity along which the reader moves, and its values.
    choice, options : str, list of str
        What the reader chooses, and what there is to choose from.
    axis : str
        What the curves show.
    matrices : list of Matrix
    curves : list of Curve
    start, opens : str
        The option with which the page opens, and why; empty for the first option.
    """

    title: str
    text: str
    experiment: str
    claims: list[str]
    slider: str
    values: list[float]
    choice: str
    options: list[str]
    axis: str = ""
    matrices: list[Matrix] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    start: str = ""
    opens: str = ""


def views(stage: Stage) -> dict[str, dict[str, Any]]:
    """The views at this scale by the papers' letters, of the papers whose tables hold the rows that a view needs."""
    shown = {}
    for name, module in modules():
        path = stage.table(module.EXPERIMENT)
        if path.is_file() and (view := module.view(tables.read(path).to_pandas())):
            shown[papers.paper(name).LETTER] = asdict(view)
    return dict(sorted(shown.items()))


def modules() -> Iterator[tuple[str, ModuleType]]:
    """The papers that have something to look at, with the module that says what."""
    for name in papers.names():
        if (papers.FOLDER / name / "explore.py").is_file():
            yield name, import_module(f"tasks.papers.{name}.explore")


def frames(rows: pd.DataFrame, along: str, values: list[float]) -> list[list[float] | None]:
    """The entries of a matrix at each value of a column; its entries are numbered by ``x``."""
    by_value = {value: part.sort_values("x")["value"].to_numpy() for value, part in rows.groupby(along)}
    return [_rounded(by_value[value]) if value in by_value else None for value in values]


def seeds(rows: pd.DataFrame, along: str, values: list[float]) -> list[list[float | None]]:
    """A quantity at each value of a column, by seed."""
    wide = rows.pivot(index="seed", columns=along, values="value").reindex(columns=values)
    return [[None if np.isnan(number) else float(f"{number:.6g}") for number in row] for row in wide.to_numpy(float)]


def _rounded(entries: np.ndarray) -> list[float]:
    return [float(f"{entry:.{DIGITS}g}") for entry in entries]
