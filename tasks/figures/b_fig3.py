"""B, Figure 3: predicted and observed correlation over the balance, data seed by data seed, and against each other."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style

CONTROL = "control: first-order term alone"
SHADED = 4  # data seeds drawn one by one, as in the paper


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the paper's three panels: predicted, observed, and a point for each balance and seed."""
    rows = rows.assign(what=rows["quantity"].str.removeprefix("fig3/"))
    corrected, control, printed = (rows[rows["arm"] == arm] for arm in ("corrected", CONTROL, "claim"))
    figure, grid = style.panels(key, columns=3, height=3.4, width=7.8)
    shades = sns.color_palette("husl", SHADED)
    for axes, what in zip(grid[0], ("predicted", "observed"), strict=False):
        found = corrected[corrected["what"] == what]
        for seed, color in enumerate(shades):
            one = found[found["seed"] == seed].sort_values("x")
            axes.plot(
                one["x"],
                one["value"],
                color=color,
                alpha=0.4,
                linewidth=1,
                label="four data seeds" if not seed else "_",
            )
        style.band(axes, found, "x", style.CLAIM, linewidth=2, label="mean over data seeds")
        literal = printed[printed["what"] == what].groupby("x")["value"].mean()
        axes.plot(literal.index, literal, "s", color=style.PRINTED, markersize=3, label="as printed: X₁ of scale 1")
        axes.set(title=what, xlabel="balance γ", ylim=(0, 1.04))
    for frame, color, dashes, label in (
        (control[control["what"] == "predicted"], style.CONTROL, ":", CONTROL),
        (corrected[corrected["what"] == "mean term"], style.OTHER, "--", "mean term of (5), with width"),
    ):
        mean = frame.groupby("x")["value"].mean()
        grid[0, 0].plot(mean.index, mean, color=color, linestyle=dashes, linewidth=1, label=label)
    grid[0, 0].set_ylabel("correlation of second derivatives")
    axes = grid[0, 2]
    for frame, color, mark in ((control, style.CONTROL, "X"), (corrected, style.CLAIM, "o")):
        wide = frame.pivot_table(index=["seed", "x"], columns="what", values="value")
        axes.plot(wide["observed"], wide["predicted"], mark, color=color, markersize=3, alpha=0.5, markeredgewidth=0)
    axes.plot([0, 1], [0, 1], color=style.GUIDE, linestyle="--", linewidth=1)
    axes.set(
        title="one point a balance and seed", xlabel="observed", ylabel="predicted", xlim=(0, 1.04), ylim=(0, 1.04)
    )
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"band: Student's 95 % interval over {corrected['seed'].nunique()} data seeds")  # fmt: skip
    return figure
