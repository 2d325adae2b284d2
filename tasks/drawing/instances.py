"""Claims on every instance: a panel for each statement, with its limit, and a row for each arm.

A tick is an instance, its place the number that the rule judges; a dot or a cross marks the largest. At the right of
a row stands how many of its instances lie beyond the limit. At most MOST instances of an arm are drawn, evenly by size
and with the extremes; the rules and the counts take all.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import UNIT
from tasks.judging.statement import Statement

MOST = 40  # ticks of a row
NAMES = {"claim": "as printed", "corrected": "corrected"}  # of the forms, where the print is wrong


@dataclass(frozen=True)
class Limit:
    """The axis of a panel, and the number that no instance may exceed.

    Parameters
    ----------
    label
        What the number of an instance is.
    most
        The largest number that the rule allows.
    scale
        ``log``, ``near 1`` (a ratio, enlarged about 1) or ``count`` (how often an event happens on an instance; the
        panel shows the share of instances on which it does).
    in_words
        The limit, beside its line.
    judged
        ``every`` instance, or only the ``median`` of an arm.
    """

    label: str
    most: float
    scale: str = "log"
    in_words: str = ""
    judged: str = "every"


RESIDUAL = Limit("normwise residual; upper ticks float64, lower ticks float32", 8 * UNIT["float64"], "log", "8 u")
RATIO = Limit("left / right side (enlarged about 1)", 1 + 1e-12, "near 1", "1")
COUNT = Limit("share of instances that break it", 0, "count")


def draw(rows: pd.DataFrame, claim: ModuleType, default: Limit, limits: Mapping[str, Limit | None]) -> Figure:
    """Draw a panel for each statement's quantities; ``limits`` are those that are not the ``default``.

    A quantity with the limit None is not drawn.
    """
    panels: list[tuple[str, str, Limit, pd.DataFrame]] = []  # title, quantity, limit, rows
    for statement in claim.STATEMENTS:
        for quantity in statement.reads:
            limit = limits.get(quantity, default)
            selected = rows[rows["quantity"] == quantity]
            if limit and len(selected) and quantity not in [panel[1] for panel in panels]:
                panels.append((title(statement, quantity), quantity, limit, selected))
    heights = [0.2 + 0.22 * len(_arms(selected)) for *_, selected in panels]
    # panels of residuals share their axis, which stands below the last of them
    bare = [limit == following == RESIDUAL for (*_, limit, _), (*_, following, _) in pairwise(panels)] + [False]
    height = 0.55 + sum(heights) + sum(0.25 if hidden else 0.62 for hidden in bare)
    figure, grid = style.panels(claim, rows=len(panels), height=height, height_ratios=heights)
    limits_of_x = limits_of_residuals([selected for *_, limit, selected in panels if limit == RESIDUAL])
    for axes, (heading, _, limit, selected), hidden in zip(grid[:, 0], panels, bare, strict=True):
        axes.set_title(heading, loc="left", fontsize=8)
        panel(axes, selected, limit, *(limits_of_x if limit == RESIDUAL else ()))
        if hidden:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")
    if any(_is_grey(selected, limit) for _, _, limit, selected in panels):
        style.note(figure, "grey: a control that this statement survives; it breaks another one")
    return figure


def title(statement: Statement, quantity: str) -> str:
    """The statement's name and formula; which of its quantities, where it reads several."""
    part = f" ({quantity.split('/')[-1]})" if len(statement.reads) > 1 else ""
    text = f"{statement.name}{part}: {statement.printed}" if statement.printed else f"{statement.name}{part}"
    return textwrap.shorten(style.plain(text), 105, placeholder=" …")


def panel(axes: Axes, rows: pd.DataFrame, limit: Limit, *x: float) -> None:
    """Draw one statement's instances; ``x`` are the limits of the axis of residuals."""
    arms = _arms(rows)
    if limit.scale == "near 1":
        axes.set_xscale("function", functions=(_enlarged, _reduced))
    elif limit.scale == "log":
        axes.set_xscale("log")
    for place, arm in enumerate(arms):
        arm_rows = rows[rows["arm"] == arm]
        color = _color(arm_rows, arm, limit)
        values = arm_rows["value"][arm_rows["dtype"] != "float32"].to_numpy()
        mark = style.MARKS["control" if arm.startswith("control") else "claim"]
        if limit.scale == "count":
            axes.barh(place, (values > 0).mean(), height=0.55, color=color, alpha=0.7)
        else:
            floor = x[0] if x else limit.most * 1e-7 if limit.scale == "log" else -np.inf
            _ticks(axes, values, place - 0.21, color, 0.8, floor)
            _ticks(axes, arm_rows["value"][arm_rows["dtype"] == "float32"].to_numpy(), place + 0.21, color, 0.35, floor)
            judged = np.median(values) if limit.judged == "median" else values.max()
            axes.plot(max(judged, floor), place - 0.21, mark, color=color, markersize=5, markeredgecolor="white",
                      markeredgewidth=0.5)  # fmt: skip
        axes.text(1.015, place, _count(values, limit), transform=axes.get_yaxis_transform(), va="center", color=color,
                  fontsize=style.SMALL)  # fmt: skip
    _dress(axes, rows, arms, limit, x)


def _dress(axes: Axes, rows: pd.DataFrame, arms: list[str], limit: Limit, x: tuple[float, ...]) -> None:
    """Names of the arms, the axis, and the limit as a line."""
    forms = NAMES if "corrected" in arms else {}
    axes.set_yticks(range(len(arms)), [forms.get(arm, arm).replace("control: ", "✗ ") for arm in arms])
    for tick, arm in zip(axes.get_yticklabels(), arms, strict=True):
        tick.set_color(_color(rows[rows["arm"] == arm], arm, limit) if arm.startswith("control") else "black")
    axes.set(ylim=(len(arms) - 0.5, -0.5 if limit.scale == "count" else -1.0), xlabel=limit.label)
    if limit.scale == "count":
        axes.set_xlim(0, 1)
        return
    lines = {"" if limit.scale == "near 1" else limit.in_words: limit.most}
    if limit == RESIDUAL:
        axes.set_xlim(*x)
        lines = {f"8 u of {name}": 8 * unit for name, unit in UNIT.items()}
    for text, most in lines.items():
        axes.axvline(most, color=style.PRINTED, linestyle="--", linewidth=0.8, zorder=0)
        axes.annotate(text, (most, 1.0), (3, 0), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                      fontsize=style.SMALL, va="top")  # fmt: skip
    if limit.scale == "near 1":
        low, high = min(0.0, rows["value"].min()), max(1.001, rows["value"].max())
        axes.set_xlim(float(_reduced(_enlarged(low) - 0.1)), float(_reduced(_enlarged(high) + 0.4)))
        marks = [-1, 0, 0.9, 0.99, 0.999, 1, 1.001, 1.01, 1.1, 2, 11, 101, 1e4, 1e6]
        if _enlarged(high) > 2.5:  # no room
            marks = [mark for mark in marks if mark not in (0.999, 1.001)]
        marks = [mark for mark in marks if low <= mark <= _reduced(_enlarged(high) + 0.4)]
        axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes.set_xticks([], minor=True)


def _arms(rows: pd.DataFrame) -> list[str]:
    present = set(rows["arm"])
    return [arm for arm in NAMES if arm in present] + style.controls(rows)


def _beyond(values: np.ndarray, limit: Limit) -> int:
    if limit.judged == "median":
        return int(np.median(values) > limit.most)
    return int((values > limit.most).sum())


def _count(values: np.ndarray, limit: Limit) -> str:
    """How many instances break the statement, in words."""
    if limit.judged == "median":
        return f"median {np.median(values):.2g}"
    beyond = "never" if limit.scale == "count" else f"none beyond {limit.in_words}"
    over = "" if limit.scale == "count" else " beyond"
    broken = _beyond(values, limit)
    return f"{broken:,} of {len(values):,}{over}" if broken else f"{beyond}, of {len(values):,}"


def _color(rows: pd.DataFrame, arm: str, limit: Limit) -> str:
    if not arm.startswith("control"):
        return style.CLAIM
    values = rows["value"][rows["dtype"] != "float32"].to_numpy()
    return style.CONTROL if _beyond(values, limit) else style.GUIDE


def _is_grey(rows: pd.DataFrame, limit: Limit) -> bool:
    return any(_color(rows[rows["arm"] == arm], arm, limit) == style.GUIDE for arm in style.controls(rows))


def _ticks(axes: Axes, values: np.ndarray, place: float, color: str, alpha: float, floor: float) -> None:
    """Draw instances as vertical ticks, all of them one path; those below ``floor`` at it."""
    if not len(values):
        return
    places = np.linspace(0, len(values) - 1, min(MOST, len(values))).round().astype(int)
    shown = np.maximum(np.sort(values)[places], floor)
    heights = np.array([place - 0.17, place + 0.17, np.nan])
    axes.plot(np.repeat(shown, 3), np.tile(heights, len(shown)), color=color, alpha=alpha, linewidth=0.8)


def limits_of_residuals(tables: list[pd.DataFrame]) -> tuple[float, ...]:
    """Limits that all residuals share; exact zeros stand at the left one."""
    values = np.concatenate([table["value"].to_numpy() for table in tables]) if tables else np.array([])
    positive = values[values > 0]
    if not len(positive):
        return (UNIT["float64"] / 100, 1.0) if tables else ()
    low, high = max(min(positive.min(), UNIT["float64"]) / 3, 1e-21), max(positive.max(), 1e-6) * 5
    return float(low), float(min(high, 1e6))


def _enlarged(ratio: np.ndarray | float) -> np.ndarray:
    """The place of a ratio on the axis: logarithmic in its distance from 1, beyond a thousandth."""
    distance = np.asarray(ratio, float) - 1
    return np.sign(distance) * np.log10(1 + np.abs(distance) / 1e-3)


def _reduced(place: np.ndarray | float) -> np.ndarray:
    """The ratio at a place on the axis: the inverse."""
    place = np.asarray(place, float)
    return 1 + np.sign(place) * 1e-3 * (10 ** np.abs(place) - 1)
