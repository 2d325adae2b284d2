"""A, Figure 14: the gap of Target Linearity between layers 3 and 2, and the generalisation error, in grokking."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each weight decay as in the paper; the one without is the control."""
    rows = style.thinned(rows)
    by = ["arm", "case", "seed", "x"]
    accuracy = rows.pivot_table(index=by, columns="quantity", values="value")
    error = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    found = rows[rows["quantity"] == "target_linearity"].pivot_table(index=by, columns="layer", values="value")
    before, last = found.columns[-2:]
    gap = (found[last] - found[before]).rename("value").reset_index()
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(key, columns=-(-len(cases) // 2), rows=2, height=4.8, width=7.6)
    low, high = min(0, gap["value"].min()), gap["value"].max()
    for axes, case in zip(grid.flat, cases, strict=False):
        one = gap[gap["case"] == case]
        control = one["arm"].iloc[0].startswith("control")
        style.band(axes, one, "x", style.CLAIM, label=f"TL of layer {last} − TL of layer {before}")
        twin = axes.twinx()
        style.band(twin, error[error["case"] == case], "x", style.OTHER, linestyle="--")
        twin.set_ylim(-0.05, 1.05)
        twin.spines["right"].set_visible(True)
        axes.plot([], [], color=style.OTHER, linestyle="--", label="training − test accuracy (right)")
        axes.set_ylim(low, 1.05 * high)
        axes.set_title(f"λ = {case.rpartition('=')[2]}" + (" (control)" if control else ""),
                       color=style.CONTROL if control else style.PRINTED)  # fmt: skip
    for axes in grid[:, 0]:
        axes.set_ylabel("gap of target linearity")
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=2, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
