"""Paper A to look at: a first layer's Gram, AGOP and Virtual Covariance Shift along training."""

import numpy as np
import pandas as pd

from tasks.reporting.explore import Curve, Matrix, View, frames

EXPERIMENT = "a_fig7"
NAMES = {"gram": "WᵀW", "vcs": "Virtual Covariance Shift", "agop": "AGOP"}
ONLY = "seed 0"


def view(rows: pd.DataFrame) -> View | None:
    """The images of seed 0 after every kept epoch; None where the table has none."""
    images = rows[rows["quantity"].str.startswith("image/")]
    if images.empty:
        return None
    steps = sorted(images["step"].unique().tolist())
    matrices = {name: frames(images[images["quantity"] == f"image/{name}"], "step", steps) for name in NAMES}
    return View(
        title="A first layer's Gram matrix, Virtual Covariance Shift and AGOP along training",
        text="A network of one hidden layer learns to classify images. Each square is a matrix between 16 patches of "
        "the image, four by four, row by row: its entries are means over pairs of pixels. Red entries are positive and "
        "blue entries negative; each image has the colours of its own largest entry. The paper says that the Virtual "
        "Covariance Shift, summed over all steps so far, has the pattern of the weights' Gram matrix WᵀW, and that it "
        "is closer to it than the AGOP is. WᵀW also holds the random initial weights. The curves are correlations of "
        "the images with that of WᵀW, over all entries. The claim correlates the diagonals of the matrices between "
        "pixels. The two can have the opposite order there.",
        experiment=EXPERIMENT,
        claims=["a_fig7"],
        slider="training step",
        values=steps,
        choice="",
        options=[ONLY],
        axis="correlation of the images with WᵀW's",
        matrices=[Matrix(label, {ONLY: matrices[name]}) for name, label in NAMES.items()],
        curves=[
            Curve(NAMES[name], {ONLY: [_correlations(matrices[name], matrices["gram"])]}) for name in ("vcs", "agop")
        ],
    )


def _correlations(some: list[list[float] | None], others: list[list[float] | None]) -> list[float | None]:
    """Pearson's correlation of the entries of two matrices at each step; None where one is not measured."""
    return [float(np.corrcoef(first, second)[0, 1]) if first and second else None
            for first, second in zip(some, others, strict=True)]  # fmt: skip
