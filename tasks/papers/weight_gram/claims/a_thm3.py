"""A gradient step changes the surrogate by S(G+) - S(G) ~ 2 gamma (f^T y) (y^T K g), for a homogeneous f.

K_ij = h_i^T h_j and g = -grad_f L; by the theorem for f 1-homogeneous in h, by its footnote for m-homogeneous f and
labels of mean 0. "~" is read as: over training the two sides correlate, agree in sign more often than by chance, and
are within a factor of two of each other (the slope of the measured on the predicted change, through the origin).
At the readout f is linear in h and the two sides are equal but for O(gamma^2), so it is not judged.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, fisher, interval, positive

ID = "A.thm3"
KIND = "statistical"
TITLE = "The surrogate's change in a gradient step"
PRINTED = "𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg), Theorem 3"
QUANTITIES = ("thm3/measured", "thm3/predicted", "beyond/measured", "beyond/predicted")
FACTOR = 2.0


def rule(rows: Rows) -> Finding:
    """Every kind of network, loss and layer below the readout for itself; the verdict is that of the weakest."""
    found: dict[str, list[Finding]] = {"correlation": [], "sign": [], "slope": []}
    numbers = {}
    for (case, layer), seeds in _sides(rows, "thm3").items():
        correlations, signs, slopes = statistics(seeds)
        if layer == "readout":
            numbers[f"{case}, readout: slope"] = float(slopes.mean())
            continue
        found["correlation"].append(positive(np.arctanh(correlations), "Fisher's z of the correlation over the steps"))
        found["sign"].append(positive(signs - 0.5, "share of steps with equal signs, less one half"))
        found["slope"].append(_within(slopes))
        numbers |= _numbers(f"{case}, layer {layer}", correlations, signs, slopes)
    for (case, layer), seeds in _sides(rows, "beyond").items():
        if layer != "readout":
            numbers |= _numbers(f"beyond, {case}, layer {layer}", *statistics(seeds))
    parts = {name: every(**{str(index): one for index, one in enumerate(ones)}) for name, ones in found.items()}
    joint = every(**{name: replace(one, rule=found[name][0].rule, numbers={}) for name, one in parts.items()})
    low, high = (f([one.statistic for one in found["slope"]]) for f in (min, max))
    kept = sum(one.holds is True for one in found["slope"])
    measured = f"slopes {low:.2f} to {high:.2f}, {kept} of {len(found['slope'])} surely within a factor {FACTOR:g}"
    return replace(joint, rule=f"of every network and layer: {joint.rule}", numbers=numbers, measured=measured)


def statistics(seeds: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each seed's measured and predicted series: correlation, share of equal signs, slope through the origin."""
    correlations = np.array([np.corrcoef(measured, predicted)[0, 1] for measured, predicted in seeds])
    signs = np.array([np.mean(np.sign(measured) == np.sign(predicted)) for measured, predicted in seeds])
    slopes = np.array([measured @ predicted / (predicted @ predicted) for measured, predicted in seeds])
    return correlations, signs, slopes


def _sides(rows: Rows, quantity: str) -> dict[tuple, list[tuple[np.ndarray, np.ndarray]]]:
    """By case and layer, for each seed the measured and the predicted change in the order of the steps."""
    found: dict[tuple, list[tuple[np.ndarray, np.ndarray]]] = {}
    left, right = (rows.where(quantity=f"{quantity}/{side}").by("case", "layer", "seed") for side in
                   ("measured", "predicted"))  # fmt: skip
    for (case, layer, seed), one in left.items():
        sides = (one, right[case, layer, seed])
        measured, predicted = (side.value[np.argsort(side.step)] for side in sides)
        found.setdefault((case, layer), []).append((measured, predicted))
    return found


def _within(slopes: np.ndarray) -> Finding:
    mean, low, high = interval(slopes)
    inside, outside = low >= 1 / FACTOR and high <= FACTOR, high < 1 / FACTOR or low > FACTOR
    rule = f"slope, mean over {len(slopes)} seeds, its Student's t interval at 95 % within [{1 / FACTOR:g}, {FACTOR:g}]"
    return Finding(True if inside else False if outside else None, mean, rule, "direction", low, high)


def _numbers(name: str, correlations: np.ndarray, signs: np.ndarray, slopes: np.ndarray) -> dict[str, float]:
    mean, low, high = interval(slopes)
    return {f"{name}: correlation": fisher(correlations)[0], f"{name}: equal signs": float(signs.mean()),
            f"{name}: slope": mean, f"{name}: slope, low": low, f"{name}: slope, high": high}  # fmt: skip


SHOWN = "ReLU, logistic"
PANELS = ("correlation", "equal signs", "slope")
LABELS = ("correlation\nover steps", "share of\nequal signs", "slope of measured\non predicted")
MARKERS = {"0": "o", "1": "X", "2": "s"}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw one network's course by layer, and for all networks and layers the rule's three statistics."""
    sides = rows[rows["quantity"].str.match("(thm3|beyond)/(measured|predicted)") & (rows["layer"] != "readout")]
    figure, grid = style.panels(claim, columns=3, rows=2, height=6.4, width=7.6)
    for layer, axes in enumerate(grid[0]):
        one = sides[(sides["case"] == SHOWN) & (sides["seed"] == 0) & (sides["layer"] == str(layer))]
        _course(axes, one, layer)
    for axes in grid[1]:
        axes.remove()
    below = figure.add_subfigure(grid[1, 0].get_gridspec()[1, :]).subplots(1, 3, sharey=True, width_ratios=(1, 1, 1.6))
    found = _statistics(sides, statistics)
    order = list(dict.fromkeys(found["row"]))
    colors = dict(zip(MARKERS, sns.color_palette("viridis_r", len(MARKERS)), strict=True))
    for axes, name, label in zip(below, PANELS, LABELS, strict=True):
        for layer, one in found.groupby("layer"):
            axes.plot(one[name], [order.index(row) for row in one["row"]], MARKERS[layer], color=colors[layer],
                      markersize=4.5, label=f"layer {layer}")  # fmt: skip
        broken = [order.index(row) for row in order if row.startswith("control")]
        axes.axhspan(min(broken) - 0.5, max(broken) + 0.5, color=style.CONTROL, alpha=0.08, lw=0)
        axes.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    below[0].set_yticks(range(len(order)), order)
    below[0].axvline(0, color=style.GUIDE, linewidth=0.8)
    below[1].axvline(0.5, color=style.GUIDE, linewidth=0.8)
    below[2].axvspan(0.5, 2, color=style.CLAIM, alpha=0.12, lw=0)
    below[2].axvline(1, color=style.PRINTED, linewidth=0.8)
    below[2].set_xscale("symlog", linthresh=1, linscale=1)
    below[2].set_xticks([-1, 0, 0.5, 1, 2, 10, 100], ["−1", "0", "½", "1", "2", "10", "100"], minor=False)
    below[2].minorticks_off()
    below[0].legend(fontsize=7, loc="upper left")
    return figure


def _course(axes: Axes, rows: pd.DataFrame, layer: int) -> None:
    lines = {("claim", "thm3/measured"): ("measured", style.CLAIM, "-"),
             ("claim", "thm3/predicted"): ("predicted", style.PRINTED, "--"),
             ("control: shuffled y", "thm3/predicted"): ("predicted, y shuffled", style.CONTROL, ":")}  # fmt: skip
    for (arm, quantity), (label, color, dashes) in lines.items():
        one = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)].sort_values("step")
        axes.plot(one["step"], one["value"], color=color, linestyle=dashes, linewidth=1.3, label=label)
    axes.set_title(f"{SHOWN}, seed 0, layer {layer}", fontsize=8)
    axes.set(xlabel="step", ylabel="change of the surrogate in a step" if layer == 0 else "")
    axes.set_yscale("symlog", linthresh=10)
    axes.minorticks_off()
    if layer == 0:
        axes.legend(fontsize=7)


def _statistics(sides: pd.DataFrame, statistics: Callable) -> pd.DataFrame:
    """Means over seeds of the three statistics, by network and layer; networks of the claim first."""
    sides = sides.assign(side=sides["quantity"].str.split("/").str[1], group=sides["quantity"].str.split("/").str[0])
    made = []
    for (arm, group, case, layer), one in sides.groupby(["arm", "group", "case", "layer"]):
        wide = one.pivot(index=["seed", "step"], columns="side", values="value").sort_index()
        seeds = [(two["measured"].to_numpy(), two["predicted"].to_numpy()) for _, two in wide.groupby("seed")]
        if arm == "control: shuffled y" and case != SHOWN:
            continue
        place = (group == "beyond") + 2 * (arm != "claim")
        row = {0: case, 1: f"beyond: {case}", 2: arm.replace("strongly ", "")}[place]
        values = [float(np.mean(values)) for values in statistics(seeds)]
        made.append({"place": place, "row": row, "layer": layer, **dict(zip(PANELS, values, strict=True))})
    return pd.DataFrame(made).sort_values(["place", "row", "layer"])
