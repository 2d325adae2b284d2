"""FACT-RFM is as accurate on tables as NFA-RFM, and both are more accurate than the kernel without feature learning.

Laplace kernel, tuned and tested by cross-validation. The paper has 120 UCI data sets; "measured" says how many ran
here. Each data set counts as one observation.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equivalent, positive

ID = "C.tab3"
KIND = "statistical"
TITLE = "FACT-RFM on tables"
ACCURACIES = {"kernel": 83.71, "NFA-RFM": 85.10, "FACT-RFM": 85.22, "FACT-RFM, averaged": 84.99}  # printed, in %
SETS = 120  # printed
PRINTED = (
    "FACT-RFM {FACT-RFM:.2f} %, averaged {FACT-RFM, averaged:.2f} %, NFA-RFM {NFA-RFM:.2f} %, "
    "Laplace kernel {kernel:.2f} %, Table 3"
).format_map(ACCURACIES)
QUANTITIES = ("tabular/accuracy",)
MARGIN = 1.0  # percentage points between the two updates; the largest printed difference is 0.23


def rule(rows: Rows) -> Finding:
    """Paired by data set: each RFM is above the kernel, and FACT-RFM within a point of NFA-RFM (TOST)."""
    accuracies = {
        method: 100 * method_rows.value[np.argsort(method_rows.seed)]
        for (method,), method_rows in rows.by("layer").items()
    }
    parts = {}
    for method in ("NFA-RFM", "FACT-RFM", "FACT-RFM, averaged"):
        gain = accuracies[method] - accuracies["kernel"]
        finding = positive(gain, f"{method}'s accuracy minus the kernel's, in points", units="data sets")
        parts[f"{method} over kernel"] = replace(finding, numbers={"mean accuracy": float(accuracies[method].mean())})
    difference = accuracies["FACT-RFM"] - accuracies["NFA-RFM"]
    alike = equivalent(difference, MARGIN, "FACT-RFM's accuracy minus NFA-RFM's, in points", units="data sets")
    parts["updates alike"] = replace(alike, numbers={"mean accuracy of the kernel": float(accuracies["kernel"].mean())})
    means = ", ".join(f"{method} {values.mean():.2f} %" for method, values in accuracies.items())
    of_all = f" of {SETS}" if set(rows.scale) == {"paper"} else ""
    return replace(all_of(**parts), measured=f"{len(accuracies['kernel'])}{of_all} data sets: {means}")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the mean accuracies beside the printed ones, and the gain over the kernel on each data set."""
    rows = rows[rows["quantity"] == "tabular/accuracy"]
    rows = rows.assign(points=100 * rows["value"], arm=rows["arm"].replace("claim", "own labels"))
    base = rows[rows["layer"] == "kernel"].set_index(["arm", "case"])["points"]
    gains = rows[rows["layer"] != "kernel"].copy()
    gains["gain"] = gains["points"] - base.loc[list(zip(gains["arm"], gains["case"], strict=True))].to_numpy()
    figure, ((left, right),) = style.panels(claim, columns=2, height=3.4, width=9.0)
    means = rows[rows["arm"] == "own labels"].groupby("layer")["points"].mean().reindex(ACCURACIES)
    left.scatter(means, [*ACCURACIES], color=style.CLAIM, marker="o", label="here")
    left.scatter([*ACCURACIES.values()], [*ACCURACIES], color=style.PRINTED, marker="|", s=120,
                 label=f"print, {SETS} sets")  # fmt: skip
    left.set(xlabel=f"mean accuracy, %, over {rows['case'].nunique()} data sets")
    left.invert_yaxis()
    left.legend(loc="best", fontsize=7)
    colors = {arm: style.CLAIM if arm == "own labels" else style.CONTROL for arm in sorted(gains["arm"].unique())[::-1]}
    sns.stripplot(gains, x="gain", y="layer", hue="arm", order=[*ACCURACIES][1:], palette=colors, dodge=True, size=4,
                  alpha=0.7, ax=right)  # fmt: skip
    right.axvline(0, color=style.GUIDE, linewidth=1)
    right.set(xlabel="points above the kernel, one dot per data set", ylabel="")
    right.legend(fontsize=7, title="features learned from")
    return figure
