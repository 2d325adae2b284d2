"""FACT-RFM is as accurate on tables as NFA-RFM, and both are more accurate than the kernel without feature learning.

Laplace kernel, by cross-validation; 120 UCI sets in the paper, here as many as "measured" says. Pairs are data sets.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, equivalent, every, positive

ID = "C.tab3"
KIND = "statistical"
TITLE = "FACT-RFM on tables"
PRINTED = "FACT-RFM 85.22 %, averaged 84.99 %, NFA-RFM 85.10 %, Laplace kernel 83.71 %, Table 3"
QUANTITIES = ("tabular/accuracy",)
SETS = 120  # the print's
MARGIN = 1.0  # percentage points between the two updates; the print's largest difference is 0.23


def rule(rows: Rows) -> Finding:
    """Paired by data set: each RFM above the kernel; FACT-RFM within a point of NFA-RFM (TOST)."""
    table = {
        method: 100 * one.value[np.argsort(one.seed)] for (method,), one in rows.by("layer").items()
    }  # fmt: skip
    parts = {}
    for method in ("NFA-RFM", "FACT-RFM", "FACT-RFM, averaged"):
        lead = table[method] - table["kernel"]
        found = positive(lead, f"{method}'s accuracy less the kernel's, in points", units="data sets")
        parts[f"{method} over kernel"] = replace(found, numbers={"mean accuracy": float(table[method].mean())})
    away = table["FACT-RFM"] - table["NFA-RFM"]
    same = equivalent(away, MARGIN, "FACT-RFM's accuracy less NFA-RFM's, in points", units="data sets")
    parts["updates alike"] = replace(same, numbers={"mean accuracy of the kernel": float(table["kernel"].mean())})
    means = ", ".join(f"{method} {values.mean():.2f} %" for method, values in table.items())
    of = f" of {SETS}" if set(rows.scale) == {"paper"} else ""
    return replace(every(**parts), measured=f"{len(table['kernel'])}{of} data sets: {means}")


LEVELS = {"kernel": 83.71, "NFA-RFM": 85.10, "FACT-RFM": 85.22, "FACT-RFM, averaged": 84.99}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the mean accuracies beside the printed ones, and the gain over the kernel on each data set."""
    rows = rows[rows["quantity"] == "tabular/accuracy"]
    rows = rows.assign(points=100 * rows["value"], arm=rows["arm"].replace("claim", "own labels"))
    base = rows[rows["layer"] == "kernel"].set_index(["arm", "case"])["points"]
    gains = rows[rows["layer"] != "kernel"].copy()
    gains["gain"] = gains["points"] - base.loc[list(zip(gains["arm"], gains["case"], strict=True))].to_numpy()
    figure, grid = style.panels(claim, columns=2, height=3.4, width=9.0)
    means = rows[rows["arm"] == "own labels"].groupby("layer")["points"].mean().reindex(LEVELS)
    grid[0, 0].scatter(means, [*LEVELS], color=style.CLAIM, marker="o", label="here")
    grid[0, 0].scatter([*LEVELS.values()], [*LEVELS], color=style.PRINTED, marker="|", s=120, label="print, 120 sets")
    grid[0, 0].set(xlabel=f"mean accuracy, %, over {rows['case'].nunique()} data sets")
    grid[0, 0].invert_yaxis()
    grid[0, 0].legend(loc="best", fontsize=7)
    colors = {arm: style.CLAIM if arm == "own labels" else style.CONTROL for arm in sorted(gains["arm"].unique())[::-1]}
    sns.stripplot(gains, x="gain", y="layer", hue="arm", order=[*LEVELS][1:], palette=colors, dodge=True, size=4,
                  alpha=0.7, ax=grid[0, 1])  # fmt: skip
    grid[0, 1].axvline(0, color=style.GUIDE, linewidth=1)
    grid[0, 1].set(xlabel="points above the kernel, a dot a data set", ylabel="")
    grid[0, 1].legend(fontsize=7, title="features learned from")
    return figure
