"""C, Table 3: accuracies over data sets, and how much each machine gains over the kernel, a dot a data set."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style

PRINTED = {"kernel": 83.71, "NFA-RFM": 85.10, "FACT-RFM": 85.22, "FACT-RFM, averaged": 84.99}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the mean accuracies beside the printed ones, and the gain over the kernel on each data set."""
    rows = rows[rows["quantity"] == "tabular/accuracy"]
    rows = rows.assign(points=100 * rows["value"], arm=rows["arm"].replace("claim", "own labels"))
    base = rows[rows["layer"] == "kernel"].set_index(["arm", "case"])["points"]
    gains = rows[rows["layer"] != "kernel"].copy()
    gains["gain"] = gains["points"] - base.loc[list(zip(gains["arm"], gains["case"], strict=True))].to_numpy()
    figure, grid = style.panels(key, columns=2, height=3.4, width=9.0)
    means = rows[rows["arm"] == "own labels"].groupby("layer")["points"].mean().reindex(PRINTED)
    grid[0, 0].scatter(means, [*PRINTED], color=style.CLAIM, marker="o", label="here")
    grid[0, 0].scatter([*PRINTED.values()], [*PRINTED], color=style.PRINTED, marker="|", s=120, label="print, 120 sets")
    grid[0, 0].set(xlabel=f"mean accuracy, %, over {rows['case'].nunique()} data sets")
    grid[0, 0].invert_yaxis()
    grid[0, 0].legend(loc="best", fontsize=7)
    colors = {arm: style.CLAIM if arm == "own labels" else style.CONTROL for arm in sorted(gains["arm"].unique())[::-1]}
    sns.stripplot(gains, x="gain", y="layer", hue="arm", order=[*PRINTED][1:], palette=colors, dodge=True, size=4,
                  alpha=0.7, ax=grid[0, 1])  # fmt: skip
    grid[0, 1].axvline(0, color=style.GUIDE, linewidth=1)
    grid[0, 1].set(xlabel="points above the kernel, a dot a data set", ylabel="")
    grid[0, 1].legend(fontsize=7, title="features learned from")
    return figure
