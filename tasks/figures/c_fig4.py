"""C, Figure 4: W^T W, FACT and AGOP at the minimiser, as images; below the printed lambda a smaller one."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

PRINTED = {"fact": "0.994", "agop": "< 0.068"}
TITLES = {"gram": "WᵀW", "fact": "FACT", "agop": "AGOP"}
ROWS = {
    "claim": "λ = 10⁻⁵ = p, as printed",
    "corrected": "λ = 10⁻⁷",
    "control: p and tau near 1": "control: p = τ = 0.9",
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the matrices of the lowest seed of each arm, each scaled by its largest entry, with the cosines."""
    arms = [arm for arm in ROWS if arm in set(rows["arm"])] or style.controls(rows)
    figure, grid = style.panels(key, columns=3, rows=len(arms), height=0.6 + 1.75 * len(arms), width=6.4)
    for arm, line in zip(arms, grid, strict=True):
        found = rows[rows["arm"] == arm]
        for axes, (name, title) in zip(line, TITLES.items(), strict=True):
            entries = found[found["quantity"] == f"fig4/matrix/{name}"].drop_duplicates("x").sort_values("x")["value"]
            matrix = entries.to_numpy().reshape(4, -1)
            largest = np.abs(matrix).max()
            axes.imshow(matrix / largest, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="none")
            axes.set(xticks=range(4), yticks=range(4), xticklabels=["x₁", "x₂", "x₃", "x₄"],
                     yticklabels=["x₁", "x₂", "x₃", "x₄"])  # fmt: skip
            axes.set_title(f"{title}, largest entry {largest:.2g}", fontsize=8)
            if name in PRINTED:
                cosines = found[found["quantity"] == f"fig4/minimiser/{name}"]["value"]
                axes.set_xlabel(f"cosine {cosines.median():.3f}; paper: {PRINTED[name]}", fontsize=8)
        line[0].set_ylabel(ROWS.get(arm, arm), fontsize=8)
    return figure
