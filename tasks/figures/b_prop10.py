"""B, Proposition 10: the coefficients of both expectations against the width, with the printed and the derived ones."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

# coefficient: label, as printed, as derived
PANELS = {
    "nfm": ("E[ẆᵀẆ], of M²", lambda k: 1 + 0 * k, lambda k: 1 + 0 * k),
    "agop, trace": ("E[ẆᵀKẆ], of tr(XᵀX) M²", lambda k: 3 + 0 * k, lambda k: 3 / k),
    "agop, product": ("E[ẆᵀKẆ], of M XᵀX M", lambda k: 6 + 0 * k, lambda k: 1 + 5 / k),
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw Monte Carlo means with Student's intervals over batches, and the control's."""
    figure, grid = style.panels(key, columns=3, height=3.2, width=7.6)
    widths = np.array(sorted(rows["x"].unique()))
    (control,) = style.controls(rows)
    fine = np.geomspace(widths[0], widths[-1], 50)
    for axes, (name, (label, printed, derived)) in zip(grid[0], PANELS.items(), strict=True):
        axes.plot(fine, printed(fine), color=style.PRINTED, linestyle=":", label="as printed")
        axes.plot(fine, derived(fine), color=style.CLAIM, linestyle="-", linewidth=1, label="as derived")
        for arm, color, mark, what in (
            ("corrected", style.CLAIM, "o", "Monte Carlo"),
            (control, style.CONTROL, "X", control),
        ):
            one = rows[(rows["arm"] == arm) & (rows["quantity"] == f"prop10/{name}")]
            for _, part in one.groupby("case"):
                found = style.mean_and_band(part, "x")
                scale = derived(found["x"])
                middle, ends = (1 + found["mean"]) * scale, (found["high"] - found["mean"]) * scale
                axes.errorbar(found["x"], middle, ends, fmt=mark, color=color, markersize=4, label=what, capsize=2)
                what = "_"
        axes.set(xscale="log", title=label, xlabel="width k", ylim=(0, None))
        axes.title.set_fontsize(8)
        axes.set_xticks(widths, [f"{k:g}" for k in widths])
        axes.minorticks_off()
    grid[0, 0].set_ylabel("coefficient")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=4, fontsize=7, title_fontsize=7,
                  title=f"Student's 95 % interval over {rows['seed'].nunique()} batches")  # fmt: skip
    return figure
