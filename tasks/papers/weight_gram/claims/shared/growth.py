"""Growth of the surrogate and of Target Linearity in training and with depth: rules and figure of A.fig4 and A.fig9."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend_along
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set

LAWS = ("exponential", "linear", "logarithmic")
DATA_SETS = ("CIFAR-10", "CIFAR-100", "digits")  # rows of panels, as in the paper
PANELS = (
    ("claim", "surrogate", "surrogate tr(YᵀGY)"),
    ("corrected", "surrogate", "corrected: surrogate / ‖WH‖²"),
    ("claim", "target_linearity", "Target Linearity (λ = 0)"),
)
RAW = "surrogate, raw"  # the printed surrogate, in every arm
NORMALISED = "surrogate, normalised"  # of the printed form's networks, if the corrected form has others
NAMES = {"surrogate": "the surrogate", NORMALISED: "the normalised surrogate", "target_linearity": "TL"}
LEAST_TRAIN_ACCURACY = 0.9
CORRECTION = (
    "The surrogate is normalised: it is that of the centred labels, divided by ‖W_l H_l‖². The raw surrogate also "
    "depends on the size of a layer's outputs and, through the labels' mean, on their distance from the origin. "
    "Neither says anything about linearity. The paper states no bound of the normalised surrogate. Theorem 4 bounds "
    "the raw one by a number that grows with l, times a constant C₀ with ‖W_l H_l‖² ≥ C₀ in all layers. With the "
    "layer's own ‖W_l H_l‖² in place of C₀, the steps of its proof bound the normalised surrogate by the same number. "
    "These networks do not meet the theorem's hypotheses: GELU is not homogeneous."
)
MATH = (
    r"\mathcal{S}(G_{\text{id}}^l) = \operatorname{tr}\left( Y^\top H_l^\top W_l^\top W_l H_l Y \right) "
    r"\text{ and } \mathcal{T}_0(H_l, Y) \text{ grow with } t \text{ and with } l"
)
MATH_CORRECTED = (
    r"\frac{\operatorname{tr}\left( (Y - \bar Y)^\top H_l^\top W_l^\top W_l H_l (Y - \bar Y) \right)}{\| "
    r"W_l H_l \|_F^2} \text{ and } \mathcal{T}_0(H_l, Y) \text{ grow with } t \text{ and with } l"
)


def throughout(rows: Rows) -> Finding:
    """Every layer's measure rises from epoch to epoch."""
    parts: dict[str, Finding] = {}
    for data_set, selected in by_data_set(rows).items():
        layers = curves(selected, "layer", "seed")
        parts |= {f"{data_set}, layer {index}": trend_along(series, f"{_name(rows)} rises with the epoch")
                  for index, series in enumerate(layers, start=1)}  # fmt: skip
    return replace(all_of(**parts), measured=_courses(rows, parts))


def with_layer(rows: Rows) -> Finding:
    """After training the measure rises from each layer to the next."""
    is_surrogate = rows.quantity[0] in ("surrogate", NORMALISED)
    parts: dict[str, Finding] = {}
    for data_set, selected in by_data_set(rows).items():
        final = curves(selected, "seed", "layer")[:, :, -1]
        if is_surrogate:
            final = np.log(final)  # of a positive number without a scale, steps are factors
        statistic = f"increase of {'log of ' * is_surrogate}{_name(rows)} from layer to layer"
        parts |= {f"{data_set}, {layer} to {layer + 1}": positive(step, statistic)
                  for layer, step in enumerate(np.diff(final, axis=1).T, start=1)}  # fmt: skip
    return replace(all_of(**parts), measured=_by_layer(rows))


def above_chance(rows: Rows) -> Finding:
    """After training every layer's Target Linearity is above that of shuffled labels on the same features."""
    parts: dict[str, Finding] = {}
    for data_set, selected in by_data_set(rows).items():
        linearity, chance = (
            curves(selected.where(quantity=name), "seed", "layer")[:, :, -1]
            for name in ("target_linearity", "null/target_linearity")
        )
        parts |= {f"{data_set}, layer {layer}": positive(lead, "TL minus TL of shuffled labels")
                  for layer, lead in enumerate((linearity - chance).T, start=1)}  # fmt: skip
    return all_of(**parts)


CONTROLS = {
    "random features": Control(
        text="At each epoch a network with newly drawn initial weights takes the place of the trained one.",
        has=("surrogate", RAW, "target_linearity"),
    ),
    "random features, corrected": Control(
        text="At each epoch a network with newly drawn initial weights takes the place of the trained one.",
        has=("surrogate",),
    ),
}


def chance_statement(quote: str, place: str) -> Statement:
    """Our own: Target Linearity is above the level that features have on labels that they were not trained on."""
    return Statement(
        name="TL above chance",
        quote=quote,
        place=place,
        rule=above_chance,
        reads=("target_linearity", "null/target_linearity"),
        kind="ours",
        data_sets=DATA_SETS,
        rows=20,
        forms=("claim",),  # shuffled labels are measured on the networks of the text
    )


def follows(rows: Rows, law: str) -> Finding:
    """Over the epochs this law leaves a smaller squared error than the other two."""
    statistic = f"log(squared error of the best other law / that of the {law} law), mean over layers"
    parts, texts = {}, []
    for data_set, selected in by_data_set(rows).items():
        lead = lead_of_law(np.unique(selected.x), curves(selected, "seed", "layer"), law)
        parts[data_set] = positive(lead, statistic)
        factor = float(np.exp(-lead.mean()))
        texts.append(f"{data_set}: the {law} law leaves {factor:.2g} times the squared error of the best other law")
    return replace(all_of(**parts), measured="; ".join(texts))


def fitted(rows: Rows) -> Finding:
    """The training accuracy after training exceeds 0.9 on every data set."""
    return all_of(
        **{
            data_set: positive(
                curves(selected, "seed")[:, -1] - LEAST_TRAIN_ACCURACY,
                f"training accuracy minus {LEAST_TRAIN_ACCURACY:g}",
            )
            for data_set, selected in by_data_set(rows).items()
        }
    )


FITTED = Hypothesis(
    name="fitted",
    text=f"After training, “the training accuracy exceeds {LEAST_TRAIN_ACCURACY:g}” (Section 6, on Figure 4).",
    rule=fitted,
    reads=("train_accuracy",),
)


def last_layer(rows: Rows) -> np.ndarray:
    """By seed the last layer's measure after training, on one data set."""
    return curves(rows.where(layer=max(rows.layer)), "seed")[:, -1]


def errors_of_laws(t: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Least squared errors of the laws a e^(bt), a + b t and a + b log(1 + t), two parameters each.

    The exponential's rate comes from a fine grid, its scale in closed form.
    """

    def linear(u: np.ndarray) -> float:
        design = np.stack([np.ones_like(u), u], 1)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    shapes = np.exp(np.linspace(-20, 20, 4001)[:, None] * (t / t.max() - 0.5))
    scales = shapes @ y / (shapes**2).sum(1)
    exponential = ((y - scales[:, None] * shapes) ** 2).sum(1).min()
    return dict(zip(LAWS, (float(exponential), linear(t), linear(np.log1p(t))), strict=True))


def lead_of_law(t: np.ndarray, series: np.ndarray, law: str) -> np.ndarray:
    """Per seed, the mean over layers of log(squared error of the best other law / that of this law).

    ``series`` has the axes (seeds, layers, times).
    """
    leads = np.zeros(series.shape[:2])
    for index in np.ndindex(leads.shape):
        errors = errors_of_laws(t, series[index])
        error = errors.pop(law)
        leads[index] = np.log(min(errors.values()) / error)
    return leads.mean(axis=1)


def _name(rows: Rows) -> str:
    return NAMES[rows.quantity[0]]


def _courses(rows: Rows, trends: Mapping[str, Finding]) -> str:
    """By data set the course of each layer whose tau is below 0; without one, the last layer's before and after.

    ``trends``: by data set and layer the trend with the epoch. A measure that rises to a peak and then drifts down can
    have a tau below 0 too, so the course has its start, its peak and its end, of the mean over seeds.
    """
    texts = []
    for data_set, selected in by_data_set(rows).items():
        courses = curves(selected, "layer", "seed").mean(1)
        falling = []
        for layer, course in enumerate(courses, start=1):
            tau = trends[f"{data_set}, layer {layer}"].statistic
            if tau < 0:
                start, peak, end = (f"{value:.3g}" for value in (course[0], course.max(), course[-1]))
                falling.append(f"layer {layer} (τ {tau:+.2f}, start {start}, peak {peak}, end {end})")
        if falling:
            *others, last = falling
            listed = f"{', '.join(others)} and {last}" if others else last
            texts.append(f"{data_set}: Kendall's τ of {_name(rows)} with the epoch is below 0 in {listed}")
        else:
            start, end = f"{courses[-1, 0]:.3g}", f"{courses[-1, -1]:.3g}"
            texts.append(f"{data_set}: {_name(rows)} of the last layer goes from {start} to {end} in training")
    return "; ".join(texts)


def _by_layer(rows: Rows) -> str:
    """The measure after training by layer, by data set."""
    texts = []
    for data_set, selected in by_data_set(rows).items():
        final = curves(selected, "layer", "seed")[:, :, -1].mean(1)
        values = ", ".join(f"{value:.3g}" for value in final)
        texts.append(f"{data_set}: after training, {_name(rows)} is {values} in layers 1 to {len(final)}")
    return "; ".join(texts)


def draw(
    rows: pd.DataFrame, claim: ModuleType, levels: Mapping[str, tuple[float, str]] = MappingProxyType({})
) -> Figure:
    """Draw for each data set both quantities against the epoch as in the paper: layers from light to dark purple.

    ``levels``: by data set the printed Target Linearity of the last layer, and how its label shows it.
    """
    data_sets = [name for name in DATA_SETS if name in set(rows["case"])]
    panels = [panel for panel in PANELS if panel[0] in set(rows["arm"])]
    figure, grid = style.panels(claim, columns=len(panels), rows=len(data_sets), height=0.8 + 2.4 * len(data_sets))
    for line_of_panels, data_set in zip(grid, data_sets, strict=True):
        selected = rows[rows["case"] == data_set]
        for axes, (arm, quantity, label) in zip(line_of_panels, panels, strict=True):
            _draw_layers(axes, selected[selected["quantity"] == quantity], arm)
            axes.set(xlabel="epoch", ylabel=label)
        line_of_panels[0].set_title(data_set, loc="left")
        linearity = line_of_panels[-1]
        twin = style.accuracies(linearity, selected[selected["arm"] == "claim"])
        style.name_axis(twin, [("training accuracy, dash-dotted", style.COLORS["training accuracy"]),
                               ("test accuracy, dashed", style.COLORS["test accuracy"])])  # fmt: skip
        linearity.set_ylim(top=1)
        if data_set in levels:
            height, printed = levels[data_set]
            linearity.axhline(height, color=style.PRINTED, linewidth=0.8, linestyle="-.")
            # beside its line the name would cross the accuracies, which start low and leave the upper corner free
            style.name_lines(linearity, [(f"layer 4,\nprinted: {printed}", style.PRINTED)], x=0.03, y=0.97)
    lines = style.meaning_of_lines(rows[rows["arm"] == "claim"], "mean (of the surrogate: geometric)")
    style.note(figure, lines)
    return figure


def _draw_layers(axes: Axes, rows: pd.DataFrame, arm: str) -> None:
    """Every layer of an arm, and the last layer of its control; of the surrogate with their names."""
    surrogate = "surrogate" in set(rows["quantity"])
    if surrogate:
        axes.set_yscale("log")
    shown = rows[rows["arm"] == arm]
    style.layers(axes, shown)
    for control in style.controls(rows):
        if control.endswith(", corrected") == (arm == "corrected"):
            line = rows[(rows["arm"] == control) & (rows["layer"] == rows["layer"].max())]
            style.seeds(axes, line, "x", style.CONTROL, linestyle=":", marker="X", markersize=3, linewidth=1)
            if surrogate:
                broken = control.removeprefix("control: ").removesuffix(", corrected")
                name = f"control, layer {line['layer'].iloc[0]}:\n{broken}"  # longer, it would cross early layers
                top = float(line["value"].max())
                axes.annotate(name, (0.98, top), (0, 4), xycoords=axes.get_yaxis_transform(), ha="right",
                              textcoords="offset points", fontsize=style.SMALL + 0.5,
                              color=style.legible(style.CONTROL, 4.5))  # fmt: skip
    if surrogate:
        at_the_end = shown[shown["x"] == shown["x"].max()].groupby("layer")["value"]
        final = at_the_end.apply(lambda values: np.exp(np.log(values).mean()))
        axes.set_ylim(axes.get_ylim())
        style.label_ends(axes, [(float(value), f"layer {layer}", color) for (layer, value), color
                                in zip(final.items(), style.layer_colors(len(final)), strict=True)])  # fmt: skip
