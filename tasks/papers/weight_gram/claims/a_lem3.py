"""For m-homogeneous f, h_i^T grad f(h_k) ~ f(h_i) + (m - 1) f(h_k).

Euler's identity and a first-order Taylor expansion around h_k: for smooth f the error is of second order in the
distance of the two points. On the training sets of Theorem 3's networks the two sides correlate over all pairs of
samples more than with the outputs of another sample; how large the error is there is reported beside it.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, interval, order, positive

ID = "A.lem3"
KIND = "statistical"
TITLE = "First-order products of features and gradients"
PRINTED = "hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k), Lemma 3"
QUANTITIES = ("lem3/remainder", "lem3/correlation", "lem3/null", "lem3/error")


def rule(rows: Rows) -> Finding:
    """Slope 2 on approaching points, and on the weakest network and layer a correlation above the null's quantile."""
    parts = {}
    if len(close := rows.where(quantity="lem3/remainder")):
        parts["near"] = order(close, 2)
    z = {key: np.arctanh(one.value[np.argsort(one.seed)]) for key, one in
         rows.where(quantity="lem3/correlation").by("case", "layer").items()}  # fmt: skip
    null = {key: np.arctanh(one.value[np.argsort(one.seed)]) for key, one in
            rows.where(quantity="lem3/null").by("case", "layer").items()}  # fmt: skip
    what = "Fisher's z over all pairs of samples less that of the null's 97.5 % quantile"
    far = [positive(one - null[key], what) for key, one in z.items()]
    if far:
        weakest = every(**{str(index): one for index, one in enumerate(far)})
        parts["far"] = replace(weakest, rule=far[0].rule, numbers={})
    found = every(**parts)
    errors = {f"{case}, layer {layer}: relative error": interval(one.value)[0] for (case, layer), one in
              rows.where(quantity="lem3/error").by("case", "layer").items()}  # fmt: skip
    correlations = {f"{case}, layer {layer}: correlation": float(np.tanh(one.mean()))
                    for (case, layer), one in z.items()}  # fmt: skip
    return replace(found, numbers={**found.numbers, **correlations, **errors})


SHOWN = 3  # instances of each kind of function


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the Taylor error against the distance with a guide of slope 2; beside it each network and layer."""
    figure, grid = style.panels(claim, columns=2, height=4.1, width=7.6)
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
