"""For the quadratic network with a ~ N(0, I), W ~ N(0, I/k), M = X^T Y X: E[Wdot^T Wdot] = M^2 at every width, and
E[Wdot^T K Wdot] is a combination of tr(X^T X) M^2 and M X^T X M alone, with the coefficients 3/k and 1 + 5/k.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, equivalent, every

ID = "B.prop10"
KIND = "exact"
TITLE = "Expected derivatives of the quadratic network"
PRINTED = "E[ẆᵀKẆ] = 3 tr(XᵀX) M² + 6 M XᵀX M, Proposition 10"
CORRECTION = (
    "E[ẆᵀKẆ] = (3/k) tr(XᵀX) M² + (1 + 5/k) M XᵀX M: the print is its case k = 1, for its proof leaves out the pairs "
    "of different hidden units. For f = aᵀ(Wx)² as printed both expectations are 4 and 16 times these: the print's 𝒦 "
    "leaves out the 2 of the square's derivative."
)
FORMS = {
    "nfm": ("E[ẆᵀẆ]: 1 of M²",),
    "nfm, rest": ("0 of anything else",),
    "agop, trace": ("E[ẆᵀKẆ]: 3 of tr(XᵀX) M²", "3/k"),
    "agop, product": ("6 of M XᵀX M", "1 + 5/k"),
    "agop, rest": ("0 of anything else",),
}
NAMES = ("nfm", "nfm, rest", "agop, trace", "agop, product", "agop, rest")
QUANTITIES = tuple(f"prop10/{name}" for name in NAMES)
MARGIN = 0.05  # of each coefficient's relative error


def rule(rows: Rows) -> Finding:
    """Each coefficient at each width and data set: within the margin, over batches."""
    parts = {}
    for name in NAMES:
        groups = rows.where(quantity=f"prop10/{name}").by("case", "x")
        each = {(case, x): equivalent(one.value, MARGIN, "the relative error") for (case, x), one in groups.items()}
        parts[name] = every(**{f"{case}, {x:g}": one for (case, x), one in each.items()})
    return every(**parts)


# coefficient: label, as printed, as derived
PANELS = {
    "nfm": ("E[ẆᵀẆ], of M²", lambda k: 1 + 0 * k, lambda k: 1 + 0 * k),
    "agop, trace": ("E[ẆᵀKẆ], of tr(XᵀX) M²", lambda k: 3 + 0 * k, lambda k: 3 / k),
    "agop, product": ("E[ẆᵀKẆ], of M XᵀX M", lambda k: 6 + 0 * k, lambda k: 1 + 5 / k),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw Monte Carlo means with Student's intervals over batches, and the control's."""
    figure, grid = style.panels(claim, columns=3, height=3.2, width=7.6)
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
