"""B, Figure 6: observed and first-order predicted centered NFA against the data's decay, by activation and target."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the paper's layout: dashed the narrow network, solid the wide one; the prediction in black."""
    cases = ["quadratic, low rank", "quadratic, high rank", "relu, low rank", "relu, high rank"]
    figure, grid = style.panels(key, columns=4, height=3.3, width=8.0)
    (control,) = style.controls(rows)
    for axes, case in zip(grid[0], cases, strict=True):
        found = rows[rows["case"] == case]
        claim = found[found["arm"] == "claim"]
        seen = claim[claim["quantity"] == "fig6/observed"]
        for width, dashes in zip(sorted(seen["layer"].unique(), key=int), ("--", "-"), strict=True):
            style.band(
                axes, seen[seen["layer"] == width], "x", style.CLAIM, linestyle=dashes, label=f"observed, k = {width}"
            )
            other = claim[(claim["quantity"] == "fig6/observed, residuals") & (claim["layer"] == width)]
            style.band(
                axes, other, "x", style.OTHER, linestyle=dashes, linewidth=0.8, label=f"with residuals, k = {width}"
            )
        for arm, color, dashes, label in (
            ("claim", style.PRINTED, "-", "predicted"),
            (control, style.CONTROL, ":", control),
        ):
            one = found[(found["arm"] == arm) & (found["quantity"] == "fig6/predicted")]
            style.band(axes, one, "x", color, linestyle=dashes, label=label)
        axes.set(title=case, xlabel="data decay α", ylim=(0.65, 1.01))
    grid[0, 0].set_ylabel("correlation ρ(ẆᵀẆ, ẆᵀKẆ)")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
