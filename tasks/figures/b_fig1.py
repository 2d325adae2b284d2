"""B, Figure 1: the target's EGOP, the NFM, the AGOP, and the AGOP with K's eigenvectors drawn at random."""

import math

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

# matrix -> title, the correlation beside it and what the paper prints for it
IMAGES = {
    "EGOP": ("EGOP of the target", None, None),
    "NFM": ("NFM  WᵀW", None, None),
    "AGOP": ("AGOP  WᵀKW", "nfa/K", 0.93),
    "Q": ("WᵀQW", "nfa/Q", 0.53),
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw seed 0's matrices and, under two of them, their correlation with the NFM over all seeds and the paper's."""
    figure, grid = style.panels(key, columns=len(IMAGES), height=3.0, width=7.6)
    seeds = rows["seed"].nunique()
    for axes, (name, (title, correlation, printed)) in zip(grid[0], IMAGES.items(), strict=True):
        values = rows[rows["quantity"] == f"matrix/{name}"].sort_values("x")["value"].to_numpy()
        side = math.isqrt(len(values))
        axes.imshow(values.reshape(side, side), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            lines = [f"ρ with the NFM: {_interval(rows, correlation, 'claim')}", f"{seeds} seeds; paper: {printed}"]
            lines += [f"{arm}: {_interval(rows, correlation, arm)}" for arm in style.controls(rows)
                      if correlation == "nfa/K" and len(_found(rows, correlation, arm))]  # fmt: skip
            axes.set_xlabel("\n".join(lines), fontsize=7)
    return figure


def _found(rows: pd.DataFrame, quantity: str, arm: str) -> pd.DataFrame:
    return rows[(rows["quantity"] == quantity) & (rows["arm"] == arm)].assign(x=0)


def _interval(rows: pd.DataFrame, quantity: str, arm: str) -> str:
    mean, low, high = style.mean_and_band(_found(rows, quantity, arm), "x").loc[0, ["mean", "low", "high"]]
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"
