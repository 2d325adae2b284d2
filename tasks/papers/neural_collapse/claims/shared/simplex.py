"""Figures 1, 5 and 6: cosines between centred points after M^{1/2} in Deep RFM, sorted by class, layer by layer.

Figure 1 shows X_l after M_l^{1/2} for layers l from 1 to 19. Our Deep RFM has 18 layers, and M_18 is its last AGOP. So
the last image here is that of the paper's layer 18. Its layer 19 would need one more AGOP, that of the machine that
reads the output of layer 18.
"""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Statement
from tasks.papers.neural_collapse.claims.shared.deep_rfm import by_layer, in_words, on_each_case, ridges

K = 10  # classes
TOLERANCE = 0.1  # of "approximately equal": just below 1/(K-1), the smallest entry of the collapsed Gram matrix
# A tenth of the printed number, as TOLERANCE is a tenth of 1. The cosines of centred and normalised points add up to
# about 0, so that the mean across classes is about -1/(K-1) times that within; with 0.1 itself a mean of 0.1 would do.
TOLERANCE_ACROSS = TOLERANCE / (K - 1)
Rule = Callable[[Rows], Finding]
MATH = (
    r"\langle \tilde x_i, \tilde x_j \rangle \approx \begin{cases} 1 & \text{within a class} \\ "
    r"-\frac{1}{K - 1} & \text{across classes} \end{cases} \quad\text{in the last layer}"
)


def statements(endings: tuple[str, ...], figure: int, rows: int) -> tuple[Statement, ...]:
    """The statements about the last layer of the cases with these endings, each with at least so many rows."""
    place = f"Section 4.1; Figure {figure}"
    return (
        Statement(
            name="points of one class",
            quote="all centered points of the same class have inner product",
            place=place,
            rule=_for(endings, within_classes),
            reads=("gram/within", "ridge"),
            printed="1",
            cases={"quick": 2, "paper": 4},
            rows=rows,
        ),
        Statement(
            name="points of two classes",
            quote="while pairs of different class have inner product",
            place=place,
            rule=_for(endings, across_classes),
            reads=("gram/across",),
            printed="−1/(K−1)",
            cases={"quick": 2, "paper": 4},
            rows=rows,
        ),
        Statement(
            name="class means",
            quote="all points are at exactly their class means, and the centered class means form an ETF.",
            place=place,
            rule=_for(endings, class_means),
            reads=("gram/spread",),
            printed="−1/(K−1) for every pair of classes",
            cases={"quick": 2, "paper": 4},
            rows=rows,
        ),
    )


def _for(endings: tuple[str, ...], rule: Rule) -> Rule:
    """The rule on each of the cases with these endings, all of which must hold."""
    return lambda rows: on_each_case(rows, endings, rule)


def within_classes(rows: Rows) -> Finding:
    """In the last layer the mean cosine of two points of one class is 1, to 0.1."""
    cosine = by_layer(rows, "gram/within")[:, -1]
    finding = _near_zero(1 - cosine, "distance of the mean cosine within a class from 1")
    return replace(finding, measured=f"the mean cosine within classes is {cosine.mean():.3f}{ridges(rows)}")


def across_classes(rows: Rows) -> Finding:
    """In the last layer the mean cosine of two points of two classes is -1/(K-1), to a tenth of 1/(K-1)."""
    cosine = by_layer(rows, "gram/across")[:, -1]
    distance = np.abs(cosine + 1 / (K - 1))
    finding = _near_zero(distance, "distance of the mean cosine across classes from −1/(K−1)", TOLERANCE_ACROSS)
    return replace(finding, measured=f"the mean cosine across classes is {cosine.mean():.4f}")


def class_means(rows: Rows) -> Finding:
    """In the last layer the cosines of class means are -1/(K-1), to 0.1 in the root mean square over pairs."""
    spread = by_layer(rows, "gram/spread")[:, -1]
    finding = _near_zero(spread, "root mean square distance of the class means' cosines from −1/(K−1)")
    return replace(finding, measured=f"the class means' cosines are {spread.mean():.3f} away from −1/(K−1)")


def _near_zero(deviation: np.ndarray, name: str, tolerance: float = TOLERANCE) -> Finding:
    finding = positive(tolerance - deviation, f"{tolerance:.3g} minus the {name}")
    return replace(finding, numbers={"mean away": float(deviation.mean())})


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row of images for each data set, and one for a control; means within and across classes above each."""
    rows = rows[rows["case"].str.endswith(claim.CASES)]
    images = rows[rows["quantity"] == "gram/image"]
    lines = sorted({(arm, case) for arm, case in zip(images["arm"], images["case"], strict=True)})
    lines = lines[: images.loc[images["arm"] == "claim", "case"].nunique() + 1]  # one control is enough
    layers = sorted(images["layer"].unique(), key=int)
    figure, grid = style.panels(claim, len(layers), len(lines), height=0.8 + 1.85 * len(lines))
    for (arm, case), panels in zip(lines, grid, strict=True):
        for layer, axes in zip(layers, panels, strict=True):
            at_layer = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["layer"] == layer)].sort_values("x")
            values = at_layer.groupby("quantity")["value"]
            pixels = values.get_group("gram/image").to_numpy()
            side = round(len(pixels) ** 0.5)
            image = axes.imshow(np.reshape(pixels, (side, side)), vmin=-1, vmax=1, cmap="RdBu_r", interpolation="none")
            axes.set(xticks=[], yticks=[])
            within, across = (values.get_group(f"gram/{name}").mean() for name in ("within", "across"))
            axes.set_title(f"layer {layer}: {within:.2f}, {across:.3f}", fontsize=style.SMALL)
            axes.title.set_color("black" if arm == "claim" else style.CONTROL)
        name = textwrap.fill(in_words(case), 24) if arm == "claim" else f"✗ {arm.removeprefix('control: ')}"
        panels[0].set_ylabel(name, fontsize=style.SMALL)
    figure.colorbar(image, ax=grid, shrink=0.6, label="cosine of two points, sorted by class")
    style.note(figure, f"above each: mean within classes (paper: 1), across (paper: −1/{K - 1} = {-1 / (K - 1):.3f})")
    return figure
