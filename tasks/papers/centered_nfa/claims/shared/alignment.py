"""Figures 1 and 9: the NFM WᵀW against the AGOP WᵀKW and against WᵀQW, where Q is K with random eigenvectors."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, equals, positive
from tasks.judging.statement import Statement
from tasks.judging.statistics import curves, fisher

LAST_DIGIT = 0.01  # the unit of the last printed digit of both correlations
Image = tuple[str, str | None, float | None]  # title, quantity of its correlation with the NFM, printed correlation


def above(rows: Rows, name: str) -> Finding:
    """The correlation with K is above that with Q: their difference in Fisher's z, paired by seed, is positive."""
    with_K, with_Q = correlation(rows, f"{name}/K"), correlation(rows, f"{name}/Q")
    finding = positive(
        np.arctanh(with_K) - np.arctanh(with_Q), "Fisher's z of the correlation with K minus that with Q"
    )
    numbers: dict[str, float] = {}
    for quantity, sample in (("with K", with_K), ("with Q", with_Q)):
        numbers |= dict(zip((quantity, f"{quantity}, low", f"{quantity}, high"), fisher(sample), strict=True))
    measured = f"ρ = {fisher(with_K)[0]:.3f} with K, {fisher(with_Q)[0]:.3f} with Q alone"
    return replace(finding, numbers=numbers, measured=measured)


def correlation(rows: Rows, quantity: str) -> np.ndarray:
    """The last correlation of each seed."""
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
            printed=f"{value:g}",
            scales=("paper",),
        )
        for matrix, quote, value in zip("KQ", quotes, printed, strict=True)
    )


def _equals(rows: Rows, quantity: str, printed: float) -> Finding:
    return equals(correlation(rows, quantity), printed, LAST_DIGIT)


def draw_images(rows: pd.DataFrame, claim: ModuleType, images: dict[str, Image]) -> Figure:
    """Draw the images of seed 0 by quantity; below some, the mean correlation with the NFM and the printed one."""
    figure, grid = style.panels(claim, columns=len(images), height=3.0)
    seeds = rows["seed"].nunique()
    for axes, (quantity, (title, correlation, printed)) in zip(grid[0], images.items(), strict=True):
        values = rows[rows["quantity"] == quantity].sort_values("x")["value"].to_numpy()
        axes.imshow(_image(values), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            correlations = rows[rows["quantity"] == correlation]
            lines = [
                f"with the NFM: {_interval(correlations, 'claim')}",
                f"{seeds} seeds" + (f"; paper: {printed}" if printed else ""),
            ]
            if correlation.endswith("K"):
                lines += [f"{arm}: {_interval(correlations, arm)}" for arm in style.controls(correlations)]
            axes.set_xlabel("\n".join(lines), fontsize=7)
    return figure


def _image(values: np.ndarray) -> np.ndarray:
    """A square image of the values, which are those of one color channel or of three; the channels are averaged."""
    channels = 1 if math.isqrt(len(values)) ** 2 == len(values) else 3
    side = math.isqrt(len(values) // channels)
    return values.reshape(channels, side, side).mean(0)


def _interval(rows: pd.DataFrame, arm: str) -> str:
    band = style.mean_and_band(rows[rows["arm"] == arm].assign(x=0), "x")
    mean, low, high = band.loc[0, ["mean", "low", "high"]]
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"
