"""For a homogeneous f, a gradient step changes the surrogate by about the product of two alignments with the labels.

The theorem has f 1-homogeneous in h; its footnote has f m-homogeneous and labels of mean 0. The paper prints ≈ without
a tolerance. We read it as: in root mean square over training, the error is smaller than either side. Then both sizes
are within a factor of two. All layers must meet this. The readout is not judged: there f is linear in h, and the two
sides are equal up to O(gamma^2). Layers are counted from 0 here; the pages of paper A's figures count from 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend_along
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import curves, fisher, interval
from tasks.papers.weight_gram.claims.shared.approximations import over_smaller_side
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.thm3"
KIND = "statistical"
TITLE = "The surrogate's change in a gradient step"
PRINTED = "𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg), Theorem 3"
MATH = (
    r"\mathcal{S}(G_{\text{id}}^+) - \mathcal{S}(G_{\text{id}}) \approx 2 \gamma\, (f^\top y) (y^\top K g)",
    r"K_{ij} = h_i^\top h_j, \quad g = - \nabla_f \mathcal{L}",
)
NETWORK = "ReLU, logistic"  # whose course is drawn
NEAR_ZERO = 0.5  # of fᵀy/‖y‖², which is 1 where f is y; below it is nearer to 0 than to 1
ERROR = "error"  # what the rule judges; the others are ours
LABELS = {
    ERROR: "error / smaller side, mean and\n95 % interval over the seeds: decides",
    "correlation": "correlation over\nthe steps: ours",
    "equal signs": "fraction of equal\nsigns: ours",
}
MARKERS = {"0": "o", "1": "X", "2": "s"}
COURSES = {
    ("claim", "thm3/measured"): ("measured", style.COLORS["observed"], "-"),
    ("claim", "thm3/predicted"): ("predicted", style.COLORS["predicted"], "--"),
    ("control: shuffled y", "thm3/predicted"): ("predicted, y shuffled", style.CONTROL, ":"),
}

Series = tuple[np.ndarray, np.ndarray]  # the measured and the predicted change of the surrogate, by step


def approximates(rows: Rows, squared: bool) -> Finding:
    """In every network and layer the error over the steps is smaller than the measured and the predicted change."""
    series = {key: seeds for key, seeds in _series(rows, "thm3").items() if _chosen(rows, key[0], squared)}
    finding = _approximates(series)
    return replace(finding, measured=f"in {'ReLU²' if squared else 'ReLU'} networks {finding.measured}")


def approximates_beyond(rows: Rows) -> Finding:
    """The same for networks that do not meet the theorem's assumptions."""
    return _approximates(_series(rows, "beyond"))


def _approximates(series: dict[tuple, list[Series]]) -> Finding:
    errors: dict[str, np.ndarray] = {}
    numbers: dict[str, float] = {}
    for (case, layer), seeds in series.items():
        name = f"{case}, readout" if layer == "readout" else f"{case}, layer {layer}"
        numbers |= _numbers(name, *statistics(seeds))
        if layer != "readout":
            errors[name] = np.array([_log_error(*sides) for sides in seeds])
    statistic = "log of the smaller side's norm over the steps minus log of the error's norm"
    means = {name: float(np.exp(values.mean())) for name, values in errors.items()}
    numbers |= {f"{name}: error over the smaller side": mean for name, mean in means.items()}
    finding = weakest_of({name: positive(-values, statistic) for name, values in errors.items()})
    return replace(finding, numbers=numbers, measured=over_smaller_side(means))


def _log_error(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Log of the error's norm over that of the smaller side."""
    norm = np.linalg.norm
    return float(np.log(norm(measured - predicted) / min(norm(measured), norm(predicted))))


def _chosen(rows: Rows, case: str, squared: bool) -> bool:
    """Whether a network has ReLU² activations as wanted; the control's own network is set against both kinds."""
    return case.startswith("ReLU²") == squared if any(rows.case == NETWORK) else True


def same_sign(rows: Rows) -> Finding:
    """In every network and layer the two sides have equal signs at more than half of the steps."""
    statistic = "fraction of steps with equal signs, minus one half"
    return weakest_of(
        {name: positive(statistics(seeds)[1] - 0.5, statistic) for name, seeds in _below_readout(rows).items()}
    )


def correlated(rows: Rows) -> Finding:
    """In every network and layer the two sides correlate over the steps."""
    statistic = "Fisher's z of the correlation over the steps"
    return weakest_of({name: positive(fisher_z(statistics(seeds)[0]), statistic)
                       for name, seeds in _below_readout(rows).items()})  # fmt: skip


def _below_readout(rows: Rows) -> dict[str, list[Series]]:
    """The series of every network and layer but the readout, by their names."""
    return {f"{case}, layer {layer}": seeds for (case, layer), seeds in _series(rows, "thm3").items()
            if layer != "readout"}  # fmt: skip


def aligns(rows: Rows) -> Finding:
    """In every network f^T y is near zero at the first step, rises with the steps, and is positive at the last one.

    It is measured over ||y||^2, so that it is 1 where f is y. Near zero is read as nearer to 0 than to 1, in size.
    """
    findings, first, last = {}, [], []
    for (case,), network in rows.by("case").items():
        alignment = curves(network, "seed")
        start, end = np.abs(alignment[:, 0]), alignment[:, -1]
        findings[case] = all_of(
            near_zero=positive(NEAR_ZERO - start, f"{NEAR_ZERO:g} minus |fᵀy|/‖y‖² at the first step"),
            rises=trend_along(alignment, "fᵀy rises with the step"),
            positive=positive(end, "fᵀy at the last step"),
        )
        first.append(float(start.mean()))
        last.append(float(end.mean()))
    measured = (
        f"in the mean over seeds, |fᵀy|/‖y‖² is at most {max(first):.2f} at the first step and fᵀy/‖y‖² is at least "
        f"{min(last):.2f} at the last step, in all networks"
    )
    return replace(weakest_of(findings), measured=measured)


def statistics(seeds: Sequence[Series]) -> Sequence[np.ndarray]:
    """For each seed: correlation of measured and predicted, share of equal signs, slope through the origin."""
    correlations = np.array([np.corrcoef(measured, predicted)[0, 1] for measured, predicted in seeds])
    signs = np.array([np.mean(np.sign(measured) == np.sign(predicted)) for measured, predicted in seeds])
    slopes = np.array([measured @ predicted / (predicted @ predicted) for measured, predicted in seeds])
    return correlations, signs, slopes


def _series(rows: Rows, group: str) -> dict[tuple, list[Series]]:
    """By case and layer, each seed's measured and predicted changes in the order of the steps."""
    keys = ["case", "layer", "seed"]
    measured, predicted = (rows.where(quantity=f"{group}/{side}").frame.sort_values([*keys, "step"])
                           for side in ("measured", "predicted"))  # fmt: skip
    values = measured["value"].to_numpy(), predicted["value"].to_numpy()
    series: dict[tuple, list[Series]] = {}
    # Rows.by makes a table for each of hundreds of series, which takes ten times as long
    for (case, layer, _), places in measured.groupby(keys).indices.items():
        series.setdefault((case, layer), []).append((values[0][places], values[1][places]))
    return series


def _numbers(name: str, correlations: np.ndarray, signs: np.ndarray, slopes: np.ndarray) -> dict[str, float]:
    mean, low, high = interval(slopes)
    return {f"{name}: correlation": fisher(correlations)[0], f"{name}: equal signs": float(signs.mean()),
            f"{name}: slope": mean, f"{name}: slope, low": low, f"{name}: slope, high": high}  # fmt: skip


CHANGE = ("thm3/measured", "thm3/predicted")
UNEVEN = "The networks of the cases have two or three hidden layers."
CONTROLS = {
    "shuffled y": Control(
        text="The prediction is computed from shuffled labels; the measured change of the surrogate is that for "
        "the true ones.",
        has=("thm3/alignment", "thm3/measured", "thm3/predicted"),
        equal_quantities=("thm3/measured",),
        equal_because="The control shuffles the labels of the prediction; the measured change does not depend on them.",
    ),
    "strongly non-homogeneous f": Control(
        text="f is a network with the activation cos 3z, which is not homogeneous.",
        has=("thm3/alignment", "thm3/measured", "thm3/predicted"),
        parts=("layer", "step"),
        cases=("cos 3z",),
        parts_because="Its only case is an f that no case of the claim has.",
    ),
}
STATEMENTS = (
    Statement(
        name="change of the surrogate, m = 1",
        quote="For any loss function ℒ, let G_id = HᵀWᵀWH and G_id⁺ = Hᵀ(W⁺)ᵀW⁺H, where W⁺ = W − γ∇_W ℒ. If f "
        "is 1-positively homogeneous in h, the following holds: 𝒮(G_id⁺) − 𝒮(G_id) ≈ 2γ (fᵀy)·(yᵀKg)",
        place="Theorem 3",
        rule=partial(approximates, squared=False),
        reads=CHANGE,
        printed="𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg)",
        cases=6,
        rows=5000,
    ),
    Statement(
        name="change of the surrogate, m > 1",
        quote="The same result extends to general m-positively homogeneous case under the centered label "
        "assumption, Σ_i y_i = 0.",
        place="Theorem 3, footnote",
        rule=partial(approximates, squared=True),
        reads=CHANGE,
        printed="𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg)",
        cases=6,
        rows=5000,
    ),
    Statement(
        name="alignment of predictions and labels",
        quote="At initialization it is near zero, and as training proceeds it grows positive as f aligns with y.",
        place="Section 4.2",
        rule=aligns,
        reads=("thm3/alignment",),
        printed="fᵀy is near zero at first and grows positive",
        cases=6,
        rows=1400,
    ),
    Statement(
        name="equal signs",
        quote="If f is 1-positively homogeneous in h, the following holds: 𝒮(G_id⁺) − 𝒮(G_id) ≈ 2γ (fᵀy)·(yᵀKg)",
        place="Theorem 3",
        rule=same_sign,
        reads=CHANGE,
        kind="ours",
        cases=6,
        rows=5000,
    ),
    Statement(
        name="correlation over training",
        quote="If f is 1-positively homogeneous in h, the following holds: 𝒮(G_id⁺) − 𝒮(G_id) ≈ 2γ (fᵀy)·(yᵀKg)",
        place="Theorem 3",
        rule=correlated,
        reads=CHANGE,
        kind="ours",
        cases=6,
        rows=5000,
    ),
    Statement(
        name="beyond the assumptions",
        quote="We further assess the validity of this approach empirically in settings that go beyond these "
        "assumptions, including GELU activations",
        place="Section 4.2",
        rule=approximates_beyond,
        reads=("beyond/measured", "beyond/predicted"),
        kind="ours",
        cases=4,
        rows=3800,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw one network's course by layer; for all networks and layers the error, which decides, and our measures."""
    rows = rows[rows["quantity"].str.match("(thm3|beyond)/(measured|predicted)") & (rows["layer"] != "readout")]
    figure, grid = style.panels(claim, columns=3, rows=2, height=7.0)
    network = rows[(rows["case"] == NETWORK) & (rows["seed"] == 0)]
    for layer, axes in enumerate(grid[0]):
        _draw_course(axes, network[network["layer"] == str(layer)], layer)
    for axes in grid[1]:
        axes.remove()
    bottom = figure.add_subfigure(grid[1, 0].get_gridspec()[1, :])
    _draw_statistics(bottom.subplots(1, 3, sharey=True, width_ratios=(1.7, 1, 1)), _means(rows))
    return figure


def _draw_course(axes: Axes, rows: pd.DataFrame, layer: int) -> None:
    for (arm, quantity), (label, color, dashes) in COURSES.items():
        line = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)].sort_values("step")
        axes.plot(line["step"], line["value"], color=color, linestyle=dashes, linewidth=1.3, label=label)
    axes.set_title(f"{NETWORK},\nseed 0, layer {layer}", fontsize=8)
    axes.set(xlabel="step", ylabel="change of the surrogate in a step" if layer == 0 else "")
    axes.set_yscale("symlog", linthresh=10)
    axes.minorticks_off()
    if layer == 0:
        axes.legend()


def _draw_statistics(panels: Sequence[Axes], means: pd.DataFrame) -> None:
    order = list(dict.fromkeys(means["row"]))
    colors = dict(zip(MARKERS, sns.color_palette("viridis_r", len(MARKERS)), strict=True))
    controls = [order.index(row) for row in order if row.startswith("control")]
    for axes, (name, label) in zip(panels, LABELS.items(), strict=True):
        for layer, selected in means.groupby("layer"):
            axes.plot(selected[name], [order.index(row) for row in selected["row"]], MARKERS[layer],
                      color=colors[layer], markersize=4.5, label=f"layer {layer}")  # fmt: skip
        axes.axhspan(min(controls) - 0.5, max(controls) + 0.5, color=style.CONTROL, alpha=0.08, lw=0)
        axes.set(xlabel=label, ylim=(len(order) - 0.5, -1.6))
    error, correlation, signs = panels
    error.set_yticks(range(len(order)), [row.replace("control: ", "✗ ") for row in order], fontsize=style.SMALL)
    for layer, selected in means.groupby("layer"):
        error.hlines([order.index(row) for row in selected["row"]], selected["low"], selected["high"],
                     color=colors[layer], linewidth=1)  # fmt: skip
    error.set_xscale("log")
    error.legend(loc="upper right", bbox_to_anchor=(1.0, 0.93))
    lines = ((error, 1.0, "must be below 1"), (correlation, 0.0, "no correlation"), (signs, 0.5, "½ by chance"))
    for axes, place, words in lines:
        axes.axvline(place, color=style.PRINTED if axes is error else style.GUIDE, linestyle="--", linewidth=0.8)
        axes.annotate(words, (place, -1.1), (3, 0), textcoords="offset points", fontsize=style.SMALL, va="center")


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, by network and layer, of the error with its interval and of our measures; the claim's first."""
    rows = rows.assign(side=rows["quantity"].str.split("/").str[1], group=rows["quantity"].str.split("/").str[0])
    means = []
    for (arm, group, case, layer), selected in rows.groupby(["arm", "group", "case", "layer"]):
        if arm == "control: shuffled y" and case != NETWORK:
            continue
        wide = selected.pivot(index=["seed", "step"], columns="side", values="value").sort_index()
        seeds = [(seed["measured"].to_numpy(), seed["predicted"].to_numpy()) for _, seed in wide.groupby("seed")]
        place = (group == "beyond") + 2 * (arm != "claim")
        row = {0: case, 1: f"beyond: {case}", 2: arm.replace("strongly ", "")}[place]
        correlations, signs, _ = statistics(seeds)
        error, low, high = np.exp(interval(np.array([_log_error(*sides) for sides in seeds])))
        ours = {"correlation": correlations.mean(), "equal signs": signs.mean()}
        means.append({"place": place, "row": row, "layer": layer, ERROR: error, "low": low, "high": high, **ours})
    return pd.DataFrame(means).sort_values(["place", "row", "layer"])
