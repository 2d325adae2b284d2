"""Figures 1 and 9: the NFM WᵀW against the AGOP WᵀKW and against WᵀQW, where Q is K with random eigenvectors."""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.drawing import style
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, equals, positive
from tasks.judging.statement import Statement
from tasks.judging.statistics import curves, fisher

LAST_DIGIT = 0.01  # the unit of the last printed digit of both correlations
Image = tuple[str, str | None, float | None]  # title, quantity of its correlation with the NFM, printed correlation
COMPARED = {  # what has the correlation of each figure, and with which parts of WᵀKW and WᵀQW
    "nfa": ("the NFM", "WᵀKW", "WᵀQW"),
    "pearson": ("the diagonal of the NFM", "that of WᵀKW", "that of WᵀQW"),
}


def above(rows: Rows, name: str) -> Finding:
    """The correlation with K is above that with Q: their difference in Fisher's z, paired by seed, is positive."""
    with_K, with_Q = after_training(rows, f"{name}/K"), after_training(rows, f"{name}/Q")
    finding = positive(fisher_z(with_K) - fisher_z(with_Q), "Fisher's z of the correlation with K minus that with Q")
    numbers: dict[str, float] = {}
    for quantity, sample in (("with K", with_K), ("with Q", with_Q)):
        numbers |= dict(zip((quantity, f"{quantity}, low", f"{quantity}, high"), fisher(sample), strict=True))
    nfm, agop, other = COMPARED[name]
    measured = f"{nfm} has the correlation {numbers['with K']:.3f} with {agop} and {numbers['with Q']:.3f} with {other}"
    if numbers["with K"] > 0:
        numbers["share lost"] = 1 - numbers["with Q"] / numbers["with K"]
        measured += f", which is {100 * numbers['share lost']:.0f} % lower"
    return replace(finding, numbers=numbers, measured=measured)


def after_training(rows: Rows, quantity: str) -> np.ndarray:
    """A quantity of each seed at the last step."""
    return curves(rows.where(quantity=quantity), "seed")[:, -1]


def levels(name: str, place: str, quotes: tuple[str, str], printed: tuple[float, float]) -> tuple[Statement, ...]:
    """Whether the correlations with K and with Q equal the printed ones."""

    def rule(quantity: str, value: float) -> Callable[[Rows], Finding]:
        return partial(_equals, quantity=quantity, printed=value)

    return tuple(
        Statement(
            name=f"level with {matrix}",
            quote=quote,
            place=place,
            rule=rule(f"{name}/{matrix}", value),
            reads=(f"{name}/{matrix}",),
            kind="printed level",
            rows=5,
            printed=f"{value:g}",
            scales=("paper",),
        )
        for matrix, quote, value in zip("KQ", quotes, printed, strict=True)
    )


def _equals(rows: Rows, quantity: str, printed: float) -> Finding:
    return equals(after_training(rows, quantity), printed, LAST_DIGIT)


def draw_images(rows: pd.DataFrame, claim: ModuleType, images: dict[str, Image]) -> Figure:
    """Draw the images of seed 0 by quantity, and below them every seed's correlations with the NFM, and the paper's."""
    figure, grid = style.panels(claim, columns=len(images), rows=2, height=4.4, height_ratios=(1.6, 1))
    for axes, (quantity, (title, *_)) in zip(grid[0], images.items(), strict=True):
        values = rows[rows["quantity"] == quantity].sort_values("x")["value"].to_numpy()
        drawn = axes.imshow(style.square(values), interpolation="none")
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=7.5)
        figure.colorbar(drawn, ax=axes, location="bottom", shrink=0.9, ticks=MaxNLocator(2))
    for axes in grid[1]:
        axes.remove()
    below = figure.add_subplot(grid[1, 0].get_gridspec()[1, :])
    _draw_correlations(below, rows, [image for image in images.values() if image[1]])
    return figure


def _draw_correlations(axes: Axes, rows: pd.DataFrame, images: list[Image]) -> None:
    """A row for each image and arm; a mark is a seed."""
    rows = rows[rows["quantity"].isin([quantity for _, quantity, _ in images])]
    arms = ["claim", *style.controls(rows)]
    names: list[str] = []
    for arm in arms:
        for title, quantity, printed in images:
            values = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)]
            values = values[values["step"] == values["step"].max()]["value"]
            if not len(values):
                continue
            control, with_K = arm != "claim", str(quantity).endswith("K")
            color = style.CONTROL if control else style.COLORS["AGOP"] if with_K else style.GUIDE
            place = len(names)
            names.append(f"✗ {_short(arm)}, {'K' if with_K else 'Q'}" if control else title)
            axes.plot(values, [place] * len(values), style.MARKS["control" if control else "claim"], color=color,
                      markersize=4, alpha=0.6)  # fmt: skip
            words = f"{values.mean():.2f}"
            if printed and style.are_of_paper_scale(rows) and not control:
                axes.plot(printed, place, "|", color=style.PRINTED, markersize=12, markeredgewidth=1.5)
                words += f" (printed {printed})"
            axes.text(1.015, place, words, transform=axes.get_yaxis_transform(), color=color, fontsize=style.SMALL,
                      va="center")  # fmt: skip
    axes.axvline(0, color=style.GUIDE, linewidth=0.6)
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(min(-0.02, axes.get_xlim()[0]), 1.02))
    axes.set_xlabel(f"correlation with the NFM ({rows['seed'].nunique()} seeds; at the right, means)")


def _short(arm: str) -> str:
    """A control's name on lines of about twenty letters."""
    return textwrap.fill(arm.removeprefix("control: "), 20)
