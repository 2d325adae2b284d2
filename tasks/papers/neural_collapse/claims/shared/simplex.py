"""Figures 1, 5 and 6: cosines between centred points after M^{1/2} in Deep RFM, sorted by class, layer by layer."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.papers.neural_collapse.claims.shared.deep_rfm import cases_ending_with, reported

K = 10  # classes
TOLERANCE = 0.1


def simplex(rows: Rows, endings: tuple[str, ...]) -> Finding:
    """In every data set, in the last layer: cosines deviate by less than 0.1 from 1 within and -1/(K-1) across classes.

    For each of three deviations Student's interval over seeds must lie below 0.1: the mean over pairs of points within
    a class, the mean over pairs across classes, and the root mean square over pairs of class means.
    """
    cases = cases_ending_with(rows, endings)
    parts: dict[str, Finding] = {}
    within_means, across_means = [], []  # one mean over seeds per case
    for case in cases:
        within, across, spread = (
            _last_layer(rows.where(case=case), f"gram/{name}") for name in ("within", "across", "spread")
        )
        parts |= {
            f"{case}: within": _near_zero(1 - within, "1 - cosine, mean over pairs within a class"),
            f"{case}: across": _near_zero(np.abs(across + 1 / (K - 1)), "|mean cosine across classes + 1/(K-1)|"),
            f"{case}: pairs of classes": _near_zero(
                spread, "root mean square of cosine + 1/(K-1) over pairs of class means"
            ),
        }
        within_means.append(within.mean())
        across_means.append(across.mean())
    measured = f"within {min(within_means):.3f} or more, across {min(across_means):.4f} to {max(across_means):.4f}"
    return reported(all_of(**parts), measured, rows, cases)


def _last_layer(rows: Rows, quantity: str) -> np.ndarray:
    """The values in the last layer, one a seed."""
    rows = rows.where(quantity=quantity)
    return rows.where(x=rows.x.max()).value


def _near_zero(deviation: np.ndarray, name: str) -> Finding:
    finding = positive(TOLERANCE - deviation, f"{TOLERANCE:g} - ({name})")
    return replace(finding, numbers={"mean away": float(deviation.mean())})


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row of images for each data set, and one for a control; means within and across classes above each."""
    rows = rows[rows["case"].str.endswith(claim.CASES)]
    images = rows[rows["quantity"] == "gram/image"]
    lines = sorted({(arm, case) for arm, case in zip(images["arm"], images["case"], strict=True)})
    lines = lines[: images.loc[images["arm"] == "claim", "case"].nunique() + 1]  # one control is enough
    layers = sorted(images["layer"].unique(), key=int)
    figure, grid = style.panels(claim, len(layers), len(lines), height=0.7 + 1.85 * len(lines), width=7.6)
    for (arm, case), panels in zip(lines, grid, strict=True):
        for layer, axes in zip(layers, panels, strict=True):
            at_layer = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["layer"] == layer)].sort_values("x")
            values = at_layer.groupby("quantity")["value"]
            pixels = values.get_group("gram/image").to_numpy()
            side = round(len(pixels) ** 0.5)
            image = axes.imshow(np.reshape(pixels, (side, side)), vmin=-1, vmax=1, cmap="RdBu_r", interpolation="none")
            axes.set(xticks=[], yticks=[])
            within, across = (values.get_group(f"gram/{name}").mean() for name in ("within", "across"))
            axes.set_title(f"layer {layer}: {within:.2f}, {across:.3f}", fontsize=7)
        panels[0].set_ylabel(f"{case}\n{'' if arm == 'claim' else arm}", fontsize=7)
    figure.colorbar(image, ax=grid, shrink=0.6, label="cosine; above: means within, across classes")
    return figure
