"""B, Figures 1 and 9: NFM, AGOP, and the AGOP with K's eigenvectors drawn at random, as images beside each other.

Figure 1 shows whole matrices and the target's EGOP; Figure 9 diagonals, whose entries are pixels.
"""

import math
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style

# of each claim: quantity -> title, the correlation with the NFM below it and what the paper prints for it
IMAGES = {
    "B.fig1": {
        "matrix/EGOP": ("EGOP of the target", None, None),
        "matrix/NFM": ("NFM  WᵀW", None, None),
        "matrix/AGOP": ("AGOP  WᵀKW", "nfa/K", 0.93),
        "matrix/Q": ("WᵀQW", "nfa/Q", 0.53),
    },
    "B.fig9": {
        "diagonal/NFM": ("diagonal of the NFM  WᵀW", None, None),
        "diagonal/AGOP": ("of the AGOP  WᵀKW", "pearson/K", 0.91),
        "diagonal/Q": ("of WᵀQW", "pearson/Q", 0.04),
    },
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw seed 0's images and, under two of them, their correlation with the NFM over all seeds and the paper's."""
    images = IMAGES[claim.ID]
    figure, grid = style.panels(claim, columns=len(images), height=3.0, width=7.6)
    seeds = rows["seed"].nunique()
    for axes, (quantity, (title, correlation, printed)) in zip(grid[0], images.items(), strict=True):
        values = rows[rows["quantity"] == quantity].sort_values("x")["value"].to_numpy()
        axes.imshow(_square(values), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            found = rows[rows["quantity"] == correlation]
            lines = [f"with the NFM: {_interval(found, 'claim')}", f"{seeds} seeds; paper: {printed}"]
            if correlation.endswith("K"):
                lines += [f"{arm}: {_interval(found, arm)}" for arm in style.controls(found)]
            axes.set_xlabel("\n".join(lines), fontsize=7)
    return figure


def _square(values: np.ndarray) -> np.ndarray:
    """A matrix, or the pixels of an image; of three colour channels the mean."""
    channels = 1 if math.isqrt(len(values)) ** 2 == len(values) else 3
    side = math.isqrt(len(values) // channels)
    return values.reshape(channels, side, side).mean(0)


def _interval(rows: pd.DataFrame, arm: str) -> str:
    found = style.mean_and_band(rows[rows["arm"] == arm].assign(x=0), "x")
    mean, low, high = found.loc[0, ["mean", "low", "high"]]
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"
