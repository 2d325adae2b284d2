"""B, Section 2.1: the cosine of AGOP and EGOP, and the fit, along training and of untrained networks."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

PANELS = {
    "cosine with the EGOP": {
        "egop/agop": "AGOP",
        "egop/gram": "NFM",
        "null/egop_agop": "AGOP, independent eigenvectors",
    },
    "R²": {"r2/train": "training samples", "r2/test": "new samples"},
}
COLORS = [style.CLAIM, style.OTHER, style.GUIDE]


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw each quantity of the trained networks as a band, of the untrained ones as a dotted line."""
    figure, grid = style.panels(key, columns=2, height=3.2, width=7.6)
    for axes, (label, quantities) in zip(grid[0], PANELS.items(), strict=True):
        for (quantity, name), color in zip(quantities.items(), COLORS, strict=False):
            found = rows[rows["quantity"] == quantity]
            style.band(axes, found[found["arm"] == "claim"], "step", color, linewidth=1.5, label=name)
            if quantity in ("egop/agop", "r2/test"):
                for arm in style.controls(found):
                    style.band(axes, found[found["arm"] == arm], "step", style.CONTROL, linestyle=":", label=arm)
        axes.set(xlabel="step", ylabel=label)
        axes.legend(fontsize=7, loc="center right")
    grid[0, 0].set_ylim(0, 1)
    seeds = rows["seed"].nunique()
    grid[0, 1].set_title(f"mean and Student's 95 % interval over {seeds} seeds", fontsize=7, loc="right")
    return figure
