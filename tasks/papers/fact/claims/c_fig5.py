"""Kernel machines learn a sparse parity through its support: k of d coordinates hold over half of the trace of M.

This holds for the update by AGOP (NFA-RFM) and by FACT with geometric averaging (FACT-RFM); both predict new samples.
The paper has k = 2, 3, 4; those that ran here stand under "measured". Ridge and iterate minimise the leave-one-out
error.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "C.fig5"
KIND = "statistical"
TITLE = "Features of sparse parities"
PRINTED = "low-rank features on the support for k = 2, 3, 4, Figure 5 (as pictures)"
QUANTITIES = ("parity/chosen mass", "parity/chosen accuracy", "parity/feature")
LEAST = {"mass": 0.5, "accuracy": 0.9}
WORDS = {"mass": "share of the trace on the support", "accuracy": "accuracy on new samples"}


def rule(rows: Rows) -> Finding:
    """For every k that ran and both updates, by seed: mass on the support and test accuracy are above LEAST."""
    parts: dict[str, Finding] = {}
    for (case,), case_rows in rows.by("case").items():
        for name, least in LEAST.items():
            values = case_rows.where(quantity=f"parity/chosen {name}").value
            finding = positive(values - least, f"{WORDS[name]} minus {least:g}")
            parts[f"{case}: {name}"] = replace(finding, numbers={"mean": float(np.mean(values))})
    degrees = sorted({case.partition(",")[0].removeprefix("k = ") for case in rows.case.tolist()})
    masses = [part.numbers["mean"] for name, part in parts.items() if name.endswith("mass")]
    measured = f"k = {', '.join(degrees)}: on average {min(masses):.2f} or more of the trace on the support"
    return replace(all_of(**parts), measured=measured)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw M for every k and update, support first, and below them each seed's mass and accuracy."""
    cases = sorted(rows[rows["quantity"] == "parity/feature"]["case"].unique())
    arms = ["claim", *style.controls(rows)]
    figure, grid = style.panels(claim, columns=len(cases), rows=3, height=6.4, width=1.2 + 1.9 * len(cases))
    for column, case in enumerate(cases):
        case_rows = rows[rows["case"] == case]
        for row, arm in enumerate(arms):
            features = case_rows[(case_rows["arm"] == arm) & (case_rows["quantity"] == "parity/feature")]
            style.image(grid[row, column], features, case if arm == "claim" else arm)
        axes = grid[2, column]
        dots = case_rows[case_rows["quantity"].isin([f"parity/chosen {name}" for name in LEAST])]
        dots = dots.assign(name=dots["quantity"].str.removeprefix("parity/chosen "))
        sns.stripplot(dots, x="name", y="value", hue="arm", order=[*LEAST], legend=False, jitter=0.15, hue_order=arms,
                      palette=[style.CLAIM, style.CONTROL], dodge=True, size=4, ax=axes)  # fmt: skip
        axes.axhline(LEAST["mass"], color=style.GUIDE, linestyle=":", linewidth=1)
        axes.set(ylim=(0, 1.03), xlabel="", ylabel="seeds: claim (left), control" if column == 0 else "")
    return figure
