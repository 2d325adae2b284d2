"""The larger the probability p of a random training label, the lower the last layer's Target Linearity after training.

The generalisation gap, training accuracy minus test accuracy, grows with p. Target Linearity is that of the training
set with the labels that the network is trained on. At the paper's scale, equality with the printed levels of Target
Linearity is a separate part that does not decide the claim.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statistics import by_number, curves, kendall
from tasks.papers.weight_gram.claims.shared.figures import case_number, interval_over_seeds, legend_below
from tasks.papers.weight_gram.claims.shared.printed_levels import with_printed_levels

ID = "A.fig12"
KIND = "statistical"
TITLE = "Random labels lower Target Linearity and widen the generalisation gap"
LEVELS = {0.0: (0.45, 0.01), 0.5: (0.3, 0.1), 0.75: (0.25, 0.01), 1.0: (0.25, 0.01)}  # by p: TL, its last digit's unit
PRINTED = (
    f"last-layer TL {LEVELS[0.0][0]:g} (p = 0), {LEVELS[0.5][0]:g} (p = 0.5), {LEVELS[0.75][0]:g} (p ≥ 0.75), Figure 12"
)
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """Per seed, after training: the difference between p = 0 and the largest p, and Kendall's tau over all p."""
    linearity, train, test = (rows.where(quantity=name) for name in QUANTITIES)
    probabilities, T = by_number(linearity.where(layer=max(linearity.layer)))
    T = T[:, :, -1]
    gap = curves(train, "seed", "case")[:, :, -1] - curves(test, "seed", "case")[:, :, -1]
    finding = all_of(
        linearity_falls=positive(T[:, 0] - T[:, -1], "Target Linearity at p = 0 minus at the largest p"),
        linearity_trend=positive(np.array([-kendall(seed) for seed in T]), "minus Kendall's tau of linearity and p"),
        gap_grows=positive(gap[:, -1] - gap[:, 0], "gap at the largest p minus at p = 0"),
        gap_trend=positive(np.array([kendall(seed) for seed in gap]), "Kendall's tau of gap and p"),
    )
    means = [f"{name} " + " → ".join(f"{mean:.2f}" for mean in values.mean(0))
             for name, values in (("TL", T), ("gap", gap))]  # fmt: skip
    finding = replace(finding, measured=", ".join(means))
    if set(rows.scale.tolist()) != {"paper"}:
        return finding
    levels = {f"p = {p:g}": equals(T[:, index], *LEVELS[p]) for index, p in enumerate(probabilities) if p in LEVELS}
    return with_printed_levels(finding, levels)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each p as in the paper, and beside them both quantities after training against p."""
    rows = rows.assign(p=rows["case"].map(case_number))
    claim_rows = rows[rows["arm"] == "claim"]
    linearity = claim_rows[claim_rows["quantity"] == "target_linearity"]
    probabilities = sorted(linearity["p"].unique())
    figure, grid = style.panels(claim, columns=len(probabilities) // 2 + 1, rows=2, height=4.6, width=7.6)
    panels = list(grid.flat)
    for axes, p in zip(panels, probabilities, strict=False):
        style.layers(axes, linearity[linearity["p"] == p])
        axes.set(title=f"p = {p:g}", ylim=(0, 1))
        style.accuracies(axes, claim_rows[claim_rows["p"] == p], label="accuracy" if axes is grid[0, -1] else "")
    for axes in grid[:, 0]:
        axes.set_ylabel("target linearity")
    for axes in panels[len(probabilities) : -1]:
        axes.remove()
    _draw_final(panels[-1], rows)
    title = f"mean and {interval_over_seeds(claim_rows)}; against the epoch, last panel: after training, against p"
    legend_below(figure, [panels[0], panels[-1]], 5, title)
    return figure


def _draw_final(axes: Axes, rows: pd.DataFrame) -> None:
    """The last layer's Target Linearity and the generalisation gap at the last epoch of every arm, against p."""
    rows = rows[rows["x"] == rows.groupby("arm")["x"].transform("max")]
    T = rows[(rows["quantity"] == "target_linearity") & (rows["layer"] == rows["layer"].max())]
    style.band(axes, T[T["arm"] == "claim"], "p", style.CLAIM, marker="o", markersize=4, label="last layer's TL")
    accuracy = rows.pivot_table(index=["arm", "seed", "p"], columns="quantity", values="value", aggfunc="first")
    gap = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    for arm, marker in zip(style.controls(rows), "Xv", strict=False):
        style.band(axes, T[T["arm"] == arm], "p", style.CONTROL, linestyle=":", marker=marker, markersize=4,
                   label=f"TL, {arm}")  # fmt: skip
        if arm.endswith("untrained"):  # the other control has the accuracies of the claim
            style.band(axes, gap[gap["arm"] == arm], "p", style.CONTROL, linestyle="--", marker="s", markersize=4,
                       label=f"gap, {arm}")  # fmt: skip
    style.band(axes, gap[gap["arm"] == "claim"], "p", style.OTHER, marker="s", markersize=4,
               label="train − test accuracy")  # fmt: skip
    axes.plot([*LEVELS], [level for level, _ in LEVELS.values()], "_", color=style.PRINTED, markersize=12,
              label="paper's TL")  # fmt: skip
    axes.set(title="after training", xlabel="p", ylim=(-0.05, 1))
