"""Sparse parities are learned through their support: more than half of the features' trace lies on k of d coordinates.

Both updates, AGOP (NFA-RFM) and FACT with geometric averaging (FACT-RFM), for those of the paper's k = 2, 3, 4 that
"measured" names, and the machine then predicts new samples. Ridge and iterate are those of the least leave-one-out
error.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "C.fig5"
KIND = "statistical"
TITLE = "Features of sparse parities"
PRINTED = "low-rank features on the support for k = 2, 3, 4, Figure 5 (as pictures)"
QUANTITIES = ("parity/chosen mass", "parity/chosen accuracy", "parity/feature")


def rule(rows: Rows) -> Finding:
    """For every k that was run and update, by seeds: mass on the support above 1/2, and test accuracy above 0.9."""
    least = {"mass": 0.5, "accuracy": 0.9}
    what = {"mass": "share of the trace on the support", "accuracy": "accuracy on new samples"}
    parts: dict[str, Finding] = {}
    for (case,), one in rows.by("case").items():
        for name in least:
            values = one.where(quantity=f"parity/chosen {name}").value
            found = positive(values - least[name], f"{what[name]} - {least[name]:g}")
            parts[f"{case}: {name}"] = replace(found, numbers={"mean": float(np.mean(values))})
    degrees = sorted({case.partition(",")[0].removeprefix("k = ") for case in rows.case.tolist()})
    masses = [part.numbers["mean"] for name, part in parts.items() if name.endswith("mass")]
    measured = f"k = {', '.join(degrees)}: on average {min(masses):.2f} or more of the trace on the support"
    return replace(every(**parts), measured=measured)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a picture of M for every k and update, support first, and under them each seed's mass and accuracy."""
    cases = sorted(rows[rows["quantity"] == "parity/feature"]["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), rows=3, height=6.4, width=1.2 + 1.9 * len(cases))
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
