"""A gradient step changes the surrogate by S(G+) - S(G) ~ 2 gamma (f^T y) (y^T K g), for a homogeneous f.

K_ij = h_i^T h_j and g = -grad_f L. The theorem has f 1-homogeneous in h; its footnote has f m-homogeneous and labels of
mean 0. "~" is read as: over training the two sides correlate, agree in sign more often than by chance, and are within a
factor of two of each other (the slope of the measured on the predicted change, through the origin). The readout is not
judged: there f is linear in h, and the two sides are equal up to O(gamma^2).
"""

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import fisher, interval
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.thm3"
KIND = "statistical"
TITLE = "The surrogate's change in a gradient step"
PRINTED = "𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg), Theorem 3"
QUANTITIES = ("thm3/measured", "thm3/predicted", "beyond/measured", "beyond/predicted")
FACTOR = 2.0  # between the two sides
NETWORK = "ReLU, logistic"  # whose course is drawn
LABELS = {
    "correlation": "correlation\nover steps",
    "equal signs": "share of\nequal signs",
    "slope": "slope of measured\non predicted",
}
MARKERS = {"0": "o", "1": "X", "2": "s"}
COURSES = {
    ("claim", "thm3/measured"): ("measured", style.CLAIM, "-"),
    ("claim", "thm3/predicted"): ("predicted", style.PRINTED, "--"),
    ("control: shuffled y", "thm3/predicted"): ("predicted, y shuffled", style.CONTROL, ":"),
}

Series = tuple[np.ndarray, np.ndarray]  # the measured and the predicted change of the surrogate, by step


def rule(rows: Rows) -> Finding:
    """Every kind of network, loss and layer below the readout is tested; the finding is that of the weakest."""
    correlated, same_sign, sloped, numbers = [], [], [], {}
    for (case, layer), seeds in _series(rows, "thm3").items():
        correlations, signs, slopes = statistics(seeds)
        if layer == "readout":
            numbers[f"{case}, readout: slope"] = float(slopes.mean())
            continue
        correlated.append(positive(np.arctanh(correlations), "Fisher's z of the correlation over the steps"))
        same_sign.append(positive(signs - 0.5, "share of steps with equal signs, minus one half"))
        sloped.append(_within_factor(slopes))
        numbers |= _numbers(f"{case}, layer {layer}", correlations, signs, slopes)
    for (case, layer), seeds in _series(rows, "beyond").items():
        if layer != "readout":
            numbers |= _numbers(f"beyond, {case}, layer {layer}", *statistics(seeds))
    joint = all_of(correlation=weakest_of(correlated), sign=weakest_of(same_sign), slope=weakest_of(sloped))
    means = [finding.statistic for finding in sloped]
    within = sum(finding.holds is True for finding in sloped)
    measured = (f"slopes {min(means):.2f} to {max(means):.2f}, {within} of {len(means)} shown to be within a factor "
                f"{FACTOR:g}")  # fmt: skip
    return replace(joint, rule=f"on every network and layer: {joint.rule}", numbers=numbers, measured=measured)


def statistics(seeds: Sequence[Series]) -> Sequence[np.ndarray]:
    """For each seed: correlation of measured and predicted, share of equal signs, slope through the origin."""
    correlations = np.array([np.corrcoef(measured, predicted)[0, 1] for measured, predicted in seeds])
    signs = np.array([np.mean(np.sign(measured) == np.sign(predicted)) for measured, predicted in seeds])
    slopes = np.array([measured @ predicted / (predicted @ predicted) for measured, predicted in seeds])
    return correlations, signs, slopes


def _series(rows: Rows, group: str) -> dict[tuple, list[Series]]:
    """By case and layer, each seed's measured and predicted changes in the order of the steps."""
    series: dict[tuple, list[Series]] = {}
    all_measured, all_predicted = (rows.where(quantity=f"{group}/{side}").by("case", "layer", "seed")
                                   for side in ("measured", "predicted"))  # fmt: skip
    for (case, layer, seed), selected in all_measured.items():
        measured, predicted = (side.value[np.argsort(side.step)]
                               for side in (selected, all_predicted[case, layer, seed]))  # fmt: skip
        series.setdefault((case, layer), []).append((measured, predicted))
    return series


def _within_factor(slopes: np.ndarray) -> Finding:
    mean, low, high = interval(slopes)
    inside, outside = low >= 1 / FACTOR and high <= FACTOR, high < 1 / FACTOR or low > FACTOR
    rule = f"slope, mean over {len(slopes)} seeds, its Student's t interval at 95 % within [{1 / FACTOR:g}, {FACTOR:g}]"
    return Finding(True if inside else False if outside else None, mean, rule, "direction", low, high)


def _numbers(name: str, correlations: np.ndarray, signs: np.ndarray, slopes: np.ndarray) -> dict[str, float]:
    mean, low, high = interval(slopes)
    return {f"{name}: correlation": fisher(correlations)[0], f"{name}: equal signs": float(signs.mean()),
            f"{name}: slope": mean, f"{name}: slope, low": low, f"{name}: slope, high": high}  # fmt: skip


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw one network's course by layer, and the rule's three statistics for all networks and layers."""
    rows = rows[rows["quantity"].str.match("(thm3|beyond)/(measured|predicted)") & (rows["layer"] != "readout")]
    figure, grid = style.panels(claim, columns=3, rows=2, height=6.4, width=7.6)
    network = rows[(rows["case"] == NETWORK) & (rows["seed"] == 0)]
    for layer, axes in enumerate(grid[0]):
        _draw_course(axes, network[network["layer"] == str(layer)], layer)
    for axes in grid[1]:
        axes.remove()
    bottom = figure.add_subfigure(grid[1, 0].get_gridspec()[1, :])
    _draw_statistics(bottom.subplots(1, 3, sharey=True, width_ratios=(1, 1, 1.6)), _means(rows))
    return figure


def _draw_course(axes: Axes, rows: pd.DataFrame, layer: int) -> None:
    for (arm, quantity), (label, color, dashes) in COURSES.items():
        line = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)].sort_values("step")
        axes.plot(line["step"], line["value"], color=color, linestyle=dashes, linewidth=1.3, label=label)
    axes.set_title(f"{NETWORK}, seed 0, layer {layer}", fontsize=8)
    axes.set(xlabel="step", ylabel="change of the surrogate in a step" if layer == 0 else "")
    axes.set_yscale("symlog", linthresh=10)
    axes.minorticks_off()
    if layer == 0:
        axes.legend(fontsize=7)


def _draw_statistics(panels: Sequence[Axes], means: pd.DataFrame) -> None:
    order = list(dict.fromkeys(means["row"]))
    colors = dict(zip(MARKERS, sns.color_palette("viridis_r", len(MARKERS)), strict=True))
    controls = [order.index(row) for row in order if row.startswith("control")]
    for axes, (name, label) in zip(panels, LABELS.items(), strict=True):
        for layer, selected in means.groupby("layer"):
            axes.plot(selected[name], [order.index(row) for row in selected["row"]], MARKERS[layer],
                      color=colors[layer], markersize=4.5, label=f"layer {layer}")  # fmt: skip
        axes.axhspan(min(controls) - 0.5, max(controls) + 0.5, color=style.CONTROL, alpha=0.08, lw=0)
        axes.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    correlation, signs, slope = panels
    correlation.set_yticks(range(len(order)), order)
    correlation.axvline(0, color=style.GUIDE, linewidth=0.8)
    correlation.legend(fontsize=7, loc="upper left")
    signs.axvline(0.5, color=style.GUIDE, linewidth=0.8)
    slope.axvspan(1 / FACTOR, FACTOR, color=style.CLAIM, alpha=0.12, lw=0)
    slope.axvline(1, color=style.PRINTED, linewidth=0.8)
    slope.set_xscale("symlog", linthresh=1, linscale=1)
    slope.set_xticks([-1, 0, 0.5, 1, 2, 10, 100], ["−1", "0", "½", "1", "2", "10", "100"], minor=False)
    slope.minorticks_off()


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of the three statistics, by network and layer; networks of the claim first."""
    rows = rows.assign(side=rows["quantity"].str.split("/").str[1], group=rows["quantity"].str.split("/").str[0])
    means = []
    for (arm, group, case, layer), selected in rows.groupby(["arm", "group", "case", "layer"]):
        if arm == "control: shuffled y" and case != NETWORK:
            continue
        wide = selected.pivot(index=["seed", "step"], columns="side", values="value").sort_index()
        seeds = [(seed["measured"].to_numpy(), seed["predicted"].to_numpy()) for _, seed in wide.groupby("seed")]
        place = (group == "beyond") + 2 * (arm != "claim")
        row = {0: case, 1: f"beyond: {case}", 2: arm.replace("strongly ", "")}[place]
        values = [float(np.mean(values)) for values in statistics(seeds)]
        means.append({"place": place, "row": row, "layer": layer, **dict(zip(LABELS, values, strict=True))})
    return pd.DataFrame(means).sort_values(["place", "row", "layer"])
