"""For m-homogeneous f, h_i^T grad f(h_k) ~ f(h_i) + (m - 1) f(h_k).

This follows from Euler's identity and a first-order Taylor expansion around h_k, so for smooth f the error is of second
order in the distance of the two points. On the training sets of Theorem 3's networks, the two sides correlate over all
pairs of samples more strongly than with the outputs of another sample; the size of the error there is reported.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, order, positive
from tasks.judging.statistics import interval
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.lem3"
KIND = "statistical"
TITLE = "First-order products of features and gradients"
PRINTED = "hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k), Lemma 3"
QUANTITIES = ("lem3/remainder", "lem3/correlation", "lem3/null", "lem3/error")
INSTANCES = 3  # drawn of each kind of function


def rule(rows: Rows) -> Finding:
    """Slope 2 on approaching points, and on the weakest network and layer a correlation above the null's quantile."""
    parts = {}
    if len(remainders := rows.where(quantity="lem3/remainder")):
        parts["near"] = order(remainders, 2)
    correlations, null = (_z_by_layer(rows.where(quantity=f"lem3/{name}")) for name in ("correlation", "null"))
    if correlations:
        what = "Fisher's z over all pairs of samples minus that of the null's 97.5 % quantile"
        parts["far"] = weakest_of([positive(z - null[layer], what) for layer, z in correlations.items()])
    finding = all_of(**parts)
    means = {f"{case}, layer {layer}: correlation": float(np.tanh(z.mean()))
             for (case, layer), z in correlations.items()}  # fmt: skip
    errors = {f"{case}, layer {layer}: relative error": interval(selected.value)[0]
              for (case, layer), selected in rows.where(quantity="lem3/error").by("case", "layer").items()}  # fmt: skip
    return replace(finding, numbers={**finding.numbers, **means, **errors})


def _z_by_layer(rows: Rows) -> dict[tuple, np.ndarray]:
    """Fisher's z of correlations, by case and layer, in the order of the seeds."""
    return {key: np.arctanh(selected.value[np.argsort(selected.seed)])
            for key, selected in rows.by("case", "layer").items()}  # fmt: skip


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the Taylor error against the distance with a guide of slope 2; beside it each network and layer."""
    figure, grid = style.panels(claim, columns=2, height=4.1, width=7.6)
    _draw_remainders(grid[0, 0], rows)
    _draw_correlations(grid[0, 1], rows)
    return figure


def _draw_remainders(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[(rows["quantity"] == "lem3/remainder") & (rows["value"] > 0)]
    rows = rows[rows["case"].str.split(", ").str[1].astype(float) < INSTANCES]
    for arm in (*style.controls(rows), "claim"):
        color = style.CLAIM if arm == "claim" else style.CONTROL
        dashes = ":" if "one too many" in arm else "-" if arm == "claim" else "--"
        for index, (_, line) in enumerate(rows[rows["arm"] == arm].groupby("case")):
            line = line.sort_values("x")
            axes.plot(line["x"], line["value"], color=color, linewidth=0.9, alpha=0.6, linestyle=dashes,
                      label="_" if index else arm)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="distance of the points / norm", ylabel="error / |f|")
    axes.plot([1e-5, 1e-1], [1e-9, 1e-1], color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 2")
    axes.legend(fontsize=7)


def _draw_correlations(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[rows["quantity"].isin(["lem3/correlation", "lem3/null"])]
    means = rows.groupby(["arm", "case", "layer", "quantity"], as_index=False)["value"].mean()
    means["row"] = means["case"].where(means["arm"] == "claim", means["arm"].str.slice(0, 7) + ": " + means["case"])
    correlation = means[means["quantity"] == "lem3/correlation"]
    sns.scatterplot(correlation, x="value", y="row", hue="layer", style="layer", palette="viridis_r", ax=axes, s=32)
    null = means[means["quantity"] == "lem3/null"].groupby("row")["value"].max()
    axes.scatter(null, null.index, marker="|", color=style.PRINTED, s=60, label="null, 97.5 %")
    axes.axvline(0, color=style.GUIDE, linewidth=0.8)
    axes.set(xlabel="correlation over pairs of samples", ylabel="")
    axes.legend(fontsize=7, title="layer", title_fontsize=7, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=4)
