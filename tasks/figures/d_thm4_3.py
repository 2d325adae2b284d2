"""D, Theorem 4.3: the distance to the collapsed Gram by layer, where it stops, and how fast it falls."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

SHOWN = {
    "claim": ("printed κ", style.PRINTED, "s"),
    "corrected": ("κ = 1 − 2λ_k/(λ_Φ+n)", style.CLAIM, style.MARKS["claim"]),
    "control: no nonlinearity": ("control: λ_Φ = 0", style.CONTROL, style.MARKS["control"]),
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw courses by layer, the remainder against lambda_k, and rates against lambda_k / lambda_Phi."""
    figure, (axes,) = style.panels(key, columns=3, height=3.5, width=9.6)
    course = rows[rows["quantity"] == "thm4_3/course"]
    lines = dict(zip(sorted(course["case"].unique()), (":", "-"), strict=True))
    for arm, (label, color, mark) in SHOWN.items():
        for case, dashes in lines.items():
            line = course[(course["arm"] == arm) & (course["case"] == case)].sort_values("x")
            axes[0].plot(line["x"], line["value"], color=color, linestyle=dashes, marker=mark, markevery=4,
                         markersize=3, linewidth=1, label=label if dashes == "-" else "_")  # fmt: skip
    for case, dashes in lines.items():
        axes[0].plot([], [], color=style.GUIDE, linestyle=dashes, label=case)
    axes[0].set(yscale="log", xlabel="layer l", ylabel="‖G_l − yyᵀ‖ / n", title="n = 20, λ_Φ = 1", ylim=(1e-10, 3))

    some = rows[(rows["layer"] == "random 0, ε = 0.1") & ~rows["case"].str.endswith("= 0.1") & (rows["value"] > 0)]
    excess = some[some["quantity"] == "thm4_3/remainder"]
    for arm, (_, color, _) in SHOWN.items():
        for _, line in excess[excess["arm"] == arm].groupby("case"):
            line = line.groupby("x")["value"].mean()
            axes[1].plot(line.index, line, color=color, linewidth=0.8)
    for slope, height in ((1, 30.0), (2, 0.1)):
        ends = np.array([1e-5, 1.0])
        axes[1].plot(ends, height * ends**slope, color=style.GUIDE, linestyle="--", linewidth=1.2)
        axes[1].annotate(f"slope {slope}", (1e-6, height * 1e-5**slope), fontsize=7, color=style.GUIDE)
    axes[1].set(xscale="log", yscale="log", xlabel="λ_k", ylabel="max over l of d_l₊₁ − (1−ε) d_l",
                title="remainder, ε = 0.1")  # fmt: skip

    rate = some[some["quantity"] == "thm4_3/rate"].groupby(["case", "x"], as_index=False)["value"].max()
    axes[2].plot(rate["x"], rate["value"], ".", color=style.CLAIM, markersize=3, markevery=2)
    ends = np.array([rate["x"].min(), rate["x"].max()])
    axes[2].plot(ends, ends, color=style.GUIDE, linestyle="--", linewidth=1.2)
    axes[2].annotate("λ_k/λ_Φ", (ends[0], 6 * ends[0]), fontsize=7, color=style.GUIDE)
    axes[2].set(xscale="log", yscale="log", xlabel="λ_k / λ_Φ", ylabel="d_l₊₁ / d_l", title="rate, any n")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=7)
    return figure
