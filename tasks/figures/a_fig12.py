"""A, Figure 12: Target Linearity of each layer through training at every p, and what is left of it at the end."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each p as in the paper, and beside them both quantities after training against p."""
    rows = rows.assign(p=rows["case"].str.removeprefix("label_noise=").astype(float))
    claim = rows[rows["arm"] == "claim"]
    linearity = claim[claim["quantity"] == "target_linearity"]
    chances = sorted(linearity["p"].unique())
    columns = len(chances) // 2 + 1
    figure, grid = style.panels(key, columns=columns, rows=2, height=4.6, width=7.6)
    cells = list(grid.flat)
    for axes, p in zip(cells, chances, strict=False):
        style.layers(axes, linearity[linearity["p"] == p])
        axes.set(title=f"p = {p:g}", ylim=(0, 1))
        style.accuracies(axes, claim[claim["p"] == p], label="accuracy" if axes is grid[0, -1] else "")
    for axes in grid[:, 0]:
        axes.set_ylabel("target linearity")
    lines, names = cells[0].get_legend_handles_labels()
    for axes in cells[len(chances) : -1]:
        axes.remove()
    _ends(cells[-1], rows)
    printed = {p: level for p, (level, _) in style.check(key).LEVELS.items()}
    cells[-1].plot([*printed], [*printed.values()], "_", color=style.PRINTED, markersize=12, label="paper's TL")
    more = cells[-1].get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=5, fontsize=7,
                  title=f"mean and Student's 95 % interval over {claim['seed'].nunique()} seeds; against the epoch, "
                        "last panel: after training, against p", title_fontsize=7)  # fmt: skip
    return figure


def _ends(axes: Axes, rows: pd.DataFrame) -> None:
    """The last layer's Target Linearity and the generalisation gap at the end of every arm, against p."""
    rows = rows[rows["x"] == rows.groupby("arm")["x"].transform("max")]
    last = rows[(rows["quantity"] == "target_linearity") & (rows["layer"] == rows["layer"].max())]
    style.band(axes, last[last["arm"] == "claim"], "p", style.CLAIM, marker="o", markersize=4, label="last layer's TL")
    by = ["arm", "seed", "p"]
    found = rows.pivot_table(index=by, columns="quantity", values="value", aggfunc="first")
    gap = (found["train_accuracy"] - found["test_accuracy"]).rename("value").reset_index()
    for arm, marker in zip(style.controls(rows), "Xv", strict=False):
        style.band(axes, last[last["arm"] == arm], "p", style.CONTROL, linestyle=":", marker=marker, markersize=4,
                   label=f"TL, {arm}")  # fmt: skip
        if arm.endswith("untrained"):  # the other one has the accuracies of the claim
            style.band(axes, gap[gap["arm"] == arm], "p", style.CONTROL, linestyle="--", marker="s", markersize=4,
                       label=f"gap, {arm}")  # fmt: skip
    gap = gap[gap["arm"] == "claim"]
    style.band(axes, gap, "p", style.OTHER, marker="s", markersize=4, label="train − test accuracy")
    axes.set(title="after training", xlabel="p", ylim=(-0.05, 1))
