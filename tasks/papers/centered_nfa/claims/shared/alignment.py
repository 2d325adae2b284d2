"""Figures 1 and 9: the NFM WᵀW against the AGOP WᵀKW and against WᵀQW, where Q is K with random eigenvectors."""

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, all_of, matches, positive
from tasks.judging.statistics import fisher

LAST_DIGIT = 0.01  # the unit of the last printed digit of both correlations
Image = tuple[str, str | None, float | None]  # title, quantity of its correlation with the NFM, printed correlation


def alignment(with_K: np.ndarray, with_Q: np.ndarray, names: tuple[str, str], printed: tuple[float, float]) -> Finding:
    """The correlation with K is above that with Q: their difference in Fisher's z, paired by seed, is positive.

    The evidence is "matches print" where both correlations equal the printed ones.
    """
    samples = dict(zip(names, (with_K, with_Q), strict=True))
    above = positive(np.arctanh(with_K) - np.arctanh(with_Q), f"Fisher's z of {names[0]} minus that of {names[1]}")
    finding = all_of(above=above)
    for name, sample in samples.items():
        finding.numbers.update(zip((name, f"{name}, low", f"{name}, high"), fisher(sample), strict=True))
    matched = [matches(sample, value, LAST_DIGIT) for sample, value in zip(samples.values(), printed, strict=True)]
    return replace(finding, evidence="matches print") if all(matched) else finding


def draw_images(rows: pd.DataFrame, claim: ModuleType, images: dict[str, Image]) -> Figure:
    """Draw the images of seed 0 by quantity; below some, the mean correlation with the NFM and the printed one."""
    figure, grid = style.panels(claim, columns=len(images), height=3.0, width=7.6)
    seeds = rows["seed"].nunique()
    for axes, (quantity, (title, correlation, printed)) in zip(grid[0], images.items(), strict=True):
        values = rows[rows["quantity"] == quantity].sort_values("x")["value"].to_numpy()
        axes.imshow(_image(values), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            correlations = rows[rows["quantity"] == correlation]
            lines = [f"with the NFM: {_interval(correlations, 'claim')}", f"{seeds} seeds; paper: {printed}"]
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
