"""A, Figure 7: the diagonals of W^T W, of the Virtual Covariance Shift and of the AGOP, as images."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

# quantity -> title, the correlation beside it, and what the paper prints for it
IMAGES = {
    "diagonal/gram": ("weight Gram WᵀW", None, None),
    "diagonal/vcs": ("Virtual Covariance Shift", "pearson/vcs_gram_diagonal", 0.98),
    "diagonal/agop": ("AGOP", "pearson/agop_gram_diagonal", 0.71),
    "diagonal/gram_change": ("change WᵀW − W₀ᵀW₀", None, None),
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the diagonals of seed 0 and, under each, its correlation with W^T W over all seeds and the paper's."""
    rows = rows[rows["arm"] == "claim"]
    rows = rows[rows["step"] == rows["step"].max()]
    figure, grid = style.panels(key, columns=len(IMAGES), height=2.9, width=7.6)
    for axes, (quantity, (title, correlation, printed)) in zip(grid[0], IMAGES.items(), strict=True):
        one = rows[(rows["quantity"] == quantity) & (rows["seed"] == 0)].sort_values("x")
        axes.imshow(_square(one["value"].to_numpy()), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            found = rows[rows["quantity"] == correlation].assign(x=0)
            mean, low, high = style.mean_and_band(found, "x").loc[0, ["mean", "low", "high"]]
            n = found["seed"].nunique()
            about = f"ρ with WᵀW\n{mean:.3f} [{low:.3f}, {high:.3f}]\n{n} seeds; paper: {printed}"
            axes.set_xlabel(about, fontsize=8)
    return figure


def _square(values: np.ndarray) -> np.ndarray:
    """The pixels as a square; of three colour channels the mean."""
    channels = 1 if math.isqrt(len(values)) ** 2 == len(values) else 3
    side = math.isqrt(len(values) // channels)
    return values.reshape(channels, side, side).mean(0)
