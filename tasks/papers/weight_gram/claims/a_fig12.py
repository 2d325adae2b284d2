"""The larger the probability p of a random training label, the lower the last layer's Target Linearity after training.

And the larger the generalisation gap, training accuracy minus test accuracy. Target Linearity is that of the training
set with the labels that the network was trained on. At the paper's scale its printed levels are tested beside, each for
being equal: a part of its own, which the claim's direction does not hang on.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, by_number, curves, equals, every, kendall, positive
from tasks.papers.weight_gram.claims.shared.rules import beside

ID = "A.fig12"
KIND = "statistical"
TITLE = "Random labels lower Target Linearity and widen the generalisation gap"
PRINTED = "last-layer TL 0.45 (p = 0), 0.3 (p = 0.5), 0.25 (p ≥ 0.75), Figure 12"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")
LEVELS = {0.0: (0.45, 0.01), 0.5: (0.3, 0.1), 0.75: (0.25, 0.01), 1.0: (0.25, 0.01)}  # by p; and a last digit's unit


def rule(rows: Rows) -> Finding:
    """Per seed, after training: from p = 0 to the largest p, and Kendall's tau over all p."""
    linearity, train, test = (rows.where(quantity=name) for name in QUANTITIES)
    chances, T = by_number(linearity.where(layer=max(linearity.layer)))
    T = T[:, :, -1]
    gap = curves(train, "seed", "case")[:, :, -1] - curves(test, "seed", "case")[:, :, -1]
    found = every(
        linearity_falls=positive(T[:, 0] - T[:, -1], "Target Linearity at p = 0 minus at the largest p"),
        linearity_trend=positive(np.array([-kendall(one) for one in T]), "minus Kendall's tau of linearity and p"),
        gap_grows=positive(gap[:, -1] - gap[:, 0], "gap at the largest p minus at p = 0"),
        gap_trend=positive(np.array([kendall(one) for one in gap]), "Kendall's tau of gap and p"),
    )
    shown = [f"{name} " + " → ".join(f"{value:.2f}" for value in of.mean(0)) for name, of in (("TL", T), ("gap", gap))]
    found = replace(found, measured=", ".join(shown))
    if set(rows.scale.tolist()) != {"paper"}:
        return found
    return beside(found, {f"p = {p:g}": equals(T[:, at], *LEVELS[p]) for at, p in enumerate(chances) if p in LEVELS})


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each p as in the paper, and beside them both quantities after training against p."""
    rows = rows.assign(p=rows["case"].str.removeprefix("label_noise=").astype(float))
    own_rows = rows[rows["arm"] == "claim"]
    linearity = own_rows[own_rows["quantity"] == "target_linearity"]
    chances = sorted(linearity["p"].unique())
    columns = len(chances) // 2 + 1
    figure, grid = style.panels(claim, columns=columns, rows=2, height=4.6, width=7.6)
    cells = list(grid.flat)
    for axes, p in zip(cells, chances, strict=False):
        style.layers(axes, linearity[linearity["p"] == p])
        axes.set(title=f"p = {p:g}", ylim=(0, 1))
        style.accuracies(axes, own_rows[own_rows["p"] == p], label="accuracy" if axes is grid[0, -1] else "")
    for axes in grid[:, 0]:
        axes.set_ylabel("target linearity")
    lines, names = cells[0].get_legend_handles_labels()
    for axes in cells[len(chances) : -1]:
        axes.remove()
    _ends(cells[-1], rows)
    printed = {p: level for p, (level, _) in LEVELS.items()}
    cells[-1].plot([*printed], [*printed.values()], "_", color=style.PRINTED, markersize=12, label="paper's TL")
    more = cells[-1].get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=5, fontsize=7,
                  title=f"mean and Student's 95 % interval over {own_rows['seed'].nunique()} seeds; against the epoch, "
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
        if arm.endswith("untrained"):  # the other one has the accuracies of the own_rows
            style.band(axes, gap[gap["arm"] == arm], "p", style.CONTROL, linestyle="--", marker="s", markersize=4,
                       label=f"gap, {arm}")  # fmt: skip
    gap = gap[gap["arm"] == "claim"]
    style.band(axes, gap, "p", style.OTHER, marker="s", markersize=4, label="train − test accuracy")
    axes.set(title="after training", xlabel="p", ylim=(-0.05, 1))
