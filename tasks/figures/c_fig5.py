"""C, Figure 5: the learned features of sparse parities, and their mass on the support."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a picture of M for every k and update, support first, and under them each seed's mass and accuracy."""
    cases = sorted(rows[rows["quantity"] == "parity/feature"]["case"].unique())
    figure, grid = style.panels(key, columns=len(cases), rows=3, height=6.4, width=1.2 + 1.9 * len(cases))
    for column, case in enumerate(cases):
        one = rows[rows["case"] == case]
        for row, arm in enumerate(["claim", *style.controls(rows)]):
            features = one[(one["arm"] == arm) & (one["quantity"] == "parity/feature")]
            style.image(grid[row, column], features, case if arm == "claim" else arm)
        axes = grid[2, column]
        found = one[one["quantity"].isin(["parity/chosen mass", "parity/chosen accuracy"])]
        found = found.assign(what=found["quantity"].str.removeprefix("parity/chosen "))
        sns.stripplot(found, x="what", y="value", hue="arm", order=["mass", "accuracy"], legend=False, jitter=0.15,
                      hue_order=["claim", *style.controls(rows)], palette=[style.CLAIM, style.CONTROL],
                      dodge=True, size=4, ax=axes)  # fmt: skip
        axes.axhline(0.5, color=style.GUIDE, linestyle=":", linewidth=1)
        axes.set(ylim=(0, 1.03), xlabel="", ylabel="each seed: claim, control" if column == 0 else "")
    return figure
