"""A, Lemma 3: the error on points that come closer, and the correlation on pairs of samples of trained networks."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style

SHOWN = 3  # instances of each kind of function


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the Taylor error against the distance with a guide of slope 2; beside it each network and layer."""
    figure, grid = style.panels(key, columns=2, height=4.1, width=7.6)
    left, right = grid[0]
    near = rows[(rows["quantity"] == "lem3/remainder") & (rows["value"] > 0)]
    near = near[near["case"].str.split(", ").str[1].astype(float) < SHOWN]
    for arm, color in [*((arm, style.CONTROL) for arm in style.controls(near)), ("claim", style.CLAIM)]:
        label = arm
        for _, line in near[near["arm"] == arm].groupby("case"):
            line = line.sort_values("x")
            dashes = ":" if "one too many" in arm else "--" if arm != "claim" else "-"
            left.plot(line["x"], line["value"], color=color, linewidth=0.9, alpha=0.6, linestyle=dashes, label=label)
            label = "_"
    left.set(xscale="log", yscale="log", xlabel="distance of the points / norm", ylabel="error / |f|")
    left.plot([1e-5, 1e-1], [1e-9, 1e-1], color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 2")
    left.legend(fontsize=7)
    far = rows[rows["quantity"].isin(["lem3/correlation", "lem3/null"])]
    far = far.groupby(["arm", "case", "layer", "quantity"], as_index=False)["value"].mean()
    far["row"] = far["case"].where(far["arm"] == "claim", far["arm"].str.slice(0, 7) + ": " + far["case"])
    found = far[far["quantity"] == "lem3/correlation"]
    sns.scatterplot(found, x="value", y="row", hue="layer", style="layer", palette="viridis_r", ax=right, s=32)
    null = far[far["quantity"] == "lem3/null"].groupby("row")["value"].max()
    right.scatter(null, null.index, marker="|", color=style.PRINTED, s=60, label="null, 97.5 %")
    right.axvline(0, color=style.GUIDE, linewidth=0.8)
    right.set(xlabel="correlation over pairs of samples", ylabel="")
    right.legend(fontsize=7, title="layer", title_fontsize=7, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=4)
    return figure
