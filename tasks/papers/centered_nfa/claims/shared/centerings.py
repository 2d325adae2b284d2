"""Figures 2, 4, 5, 7 and 8, all from one experiment: the correction, statements of Appendix G, both layouts.

All statements of these figures are read alike. The paper's sentences name no scale of the initial weights; the three
scales are ours. Only one of them names a layer, that on the final UC-NFA in the second row of Figure 2; both hidden
layers are in the figures. So the other sentences are judged in the mean over the layers and, where they compare no
scales, over the scales. A sentence about large or small initial weights is judged by the order over the scales, since
none of ours is known to be large. What holds in each layer, at each scale, or below a limit of ours is a statement of
ours. “High” is read as nearer to 1 than to chance, “small” as nearer to chance than to 1. Chance is the mean
correlation of two matrices with independent eigenvectors.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import curves

CORRECTION = (
    "The initial weights have torch's default variance 1/(3k), times s₀ in the first layer. The paper prints 1/k. "
    "The authors' program for these figures is not published. Their networks on images have torch's default without "
    "a scale, and Appendix H speaks of a “default scale”. So Figures 2, 4, 5, 7 and 8 are judged with both "
    "variances. With 1/k the first steps overshoot on isotropic data, at width 256 and s₀ = 1: the rate times the "
    "largest curvature of the loss is 4.2, and gradient descent is stable below 2. The paper prints no factor of the "
    "loss; with a factor ½ this product is 2.1. On the other data the steps do not overshoot."
)
PRINTED_SETTINGS = {"every": (5, "steps between two measurements")}
MATH_CORRECTED = r"\operatorname{Var}(W_{ij}) = \frac{s_0}{3 k} \quad\text{instead of } \frac{s_0}{k}"
PRINTED = (  # of Figures 7 and 8
    "C-NFA “more robust to the initialization scale than the UC-NFA”, “high throughout training”, “especially high and "
    "invariant to scale early on”; UC-NFA “high through training, while being small at initialization”; test loss "
    "“improves for smaller initializations”; curves of both layers"
)
ROBUST = "Similar to Figure 2, we observe that the C-NFA is more robust to the initialization scale than the UC-NFA"
LESS_SPREAD = (  # of Figures 7 and 8
    r"\operatorname{spread}_{s_0} \rho\left( \bar W^\top \bar W, \bar W^\top K \bar W \right) "
    r"< \operatorname{spread}_{s_0} \rho\left( W^\top W, W^\top K W \right)"
)


def for_both_forms(controls: dict[str, Control]) -> dict[str, Control]:
    """The controls, and each again with the networks of the corrected form.

    The paper scale's table is older than the second ones. There the controls of the printed form serve both forms.
    """
    corrected = {f"{name}, corrected": replace(control, scales=("quick",)) for name, control in controls.items()}
    return {**controls, **corrected}


CONTROLS = for_both_forms(  # of Figures 7 and 8
    {
        "no training": Control(
            text="The weights move as far from their start as in training, but in a random direction.",
            has=("nfa/centered", "null/centered", "nfa/uncentered", "null/uncentered"),
            parts=("case", "layer"),
            parts_because="At step 0 this control's weights are the claim's.",
        ),
        "random K": Control(
            text="The tangent kernel K has random eigenvectors and its own eigenvalues.",
            has=("nfa/centered", "null/centered", "nfa/uncentered", "null/uncentered"),
            equal_quantities=("test_loss",),
            equal_because="The control replaces K in the correlations. The networks and their losses are the claim's.",
        ),
    }
)
ROWS = 500, 250  # the least numbers of rows of a correlation and of a loss
SHARE = "normalized UC-NFA"  # (UC-NFA − null)/(1 − null): 0 at chance, 1 for proportional matrices
LAYERS = ("0", "2")  # the hidden layers, by their names in the network
COLUMNS = {"nfa/uncentered": "UC-NFA", "nfa/centered": "C-NFA", "train_loss": "training loss", "test_loss": "test loss"}


def over_layers(values: np.ndarray, label: str) -> Finding:
    """A number of each seed and hidden layer, (seeds, layers), is positive in the mean over the layers."""
    return positive(values.mean(1), f"{label} (mean over both layers)")


def by_layer(values: np.ndarray, label: str) -> Finding:
    """A number of each seed and hidden layer, (seeds, layers), is positive in every layer."""
    return all_of(**{f"layer {layer}": positive(of_layer, label) for layer, of_layer in enumerate(values.T, 1)})


def at_each_scale(values: np.ndarray, scales: np.ndarray, label: str) -> Finding:
    """A number of each seed, layer and scale, (seeds, layers, scales), is positive in every layer at every scale."""
    parts = {}
    for layer, scale in np.ndindex(values.shape[1:]):
        parts[f"layer {layer + 1}, s₀ = {scales[scale]:g}"] = positive(values[:, layer, scale], label)
    return all_of(**parts)


def of_spectrum(rows: Rows, spectrum: str, *quantities: str) -> list[np.ndarray]:
    """Each quantity on data of this spectrum by (seeds, layers, scales, steps)."""
    return [curves(rows.where(case=spectrum, quantity=name), "seed", "layer", "x") for name in quantities]


def robust(rows: Rows, spectrum: str) -> Finding:
    """The C-NFA varies less over the scales than the UC-NFA, in the mean over the steps and layers."""
    uncentered, centered = of_spectrum(rows, spectrum, "nfa/uncentered", "nfa/centered")
    spreads = [np.ptp(nfa[..., -centered.shape[-1] :], 2).mean(-1) for nfa in (uncentered, centered)]
    finding = over_layers(spreads[0] - spreads[1], "the UC-NFA's spread over s₀ minus the C-NFA's")
    measured = " and ".join(
        f"{spread.mean():.2f} for the {name}" for name, spread in zip(("UC-NFA", "C-NFA"), spreads, strict=True)
    )
    return replace(finding, measured=f"in the mean over training the spread over s₀ is {measured}")


def becomes_high(rows: Rows, spectrum: str) -> Finding:
    """Before training the UC-NFA is small, after it high, in the mean over the scales and layers."""
    uncentered, share = _uncentered(rows, spectrum)
    finding = all_of(
        small=over_layers(0.5 - share[..., 0].mean(2), f"1/2 minus the {SHARE} before training, averaged over s₀"),
        high=over_layers(share[..., -1].mean(2) - 0.5, f"the {SHARE} after training, averaged over s₀, minus 1/2"),
    )
    ends = {"before training": float(uncentered[..., 0].mean()), "after training": float(uncentered[..., -1].mean())}
    at_scales = zip(np.unique(rows.x), uncentered[..., -1].mean((0, 1)), strict=True)
    after = ", ".join(f"{mean:.2f} at s₀ = {scale:g}" for scale, mean in at_scales)
    first, final = (float(share[..., step].mean()) for step in (0, -1))
    before, last = ends.values()
    measured = f"the UC-NFA is {before:.2f} before training and {last:.2f} after it ({after})"
    measured += f"; the {SHARE} is {first:.2f} before training and {final:.2f} after it"
    return replace(finding, numbers=finding.numbers | ends, measured=measured)


def emerges(rows: Rows, spectrum: str) -> Finding:
    """The UC-NFA is higher after training than before, in the mean over the scales and layers."""
    (uncentered,) = of_spectrum(rows, spectrum, "nfa/uncentered")
    rise = (uncentered[..., -1] - uncentered[..., 0]).mean(2)
    finding = over_layers(rise, "the last UC-NFA minus the first, averaged over s₀")
    before, last = (float(uncentered[..., step].mean()) for step in (0, -1))
    return replace(finding, measured=f"the UC-NFA is {before:.2f} before training and {last:.2f} after it")


def small_and_high(rows: Rows, spectrum: str) -> Finding:
    """In each layer the UC-NFA is small before training at every scale, and high after it at the smallest."""
    _, share = _uncentered(rows, spectrum)
    return all_of(
        small=by_layer(0.5 - share[..., 0].max(2), f"1/2 minus the largest {SHARE} over s₀ before training"),
        high=by_layer(share[:, :, 0, -1] - 0.5, f"the {SHARE} after training at the smallest s₀, minus 1/2"),
    )


def _uncentered(rows: Rows, spectrum: str) -> tuple[np.ndarray, np.ndarray]:
    """The UC-NFA, and where it lies between chance, 0, and 1; by (seeds, layers, scales, steps)."""
    uncentered, null = of_spectrum(rows, spectrum, "nfa/uncentered", "null/uncentered")
    return uncentered, (uncentered - null) / (1 - null)


def smaller_loss(rows: Rows, spectrum: str) -> Finding:
    """The final test loss rises with the initial scale."""
    losses = curves(rows.where(case=spectrum), "seed", "x")[..., -1]
    finding = trend(losses, "the final test loss rises with s₀")
    scales = np.unique(rows.x)
    means = ", ".join(f"{loss:.3f} at s₀ = {scale:g}" for loss, scale in zip(losses.mean(0), scales, strict=True))
    return replace(finding, measured=f"the final test loss is {means}")


def higher_for_smaller(rows: Rows, spectrum: str, ansatz: str) -> Finding:
    """The final correlation, in the mean over the layers, falls as the initial scale rises."""
    final = _final(rows, spectrum, ansatz)
    finding = trend(-final.mean(1), f"the final {ansatz} NFA, mean over both layers, falls with s₀")
    at_scales = zip(np.unique(rows.x), final.mean((0, 1)), strict=True)
    means = ", ".join(f"{mean:.3f} at s₀ = {scale:g}" for scale, mean in at_scales)
    return replace(finding, measured=f"the final {ansatz} NFA, mean over both layers, is {means}")


def higher_for_smaller_in_each_layer(rows: Rows, spectrum: str, ansatz: str) -> Finding:
    """In each layer the final correlation falls as the initial scale rises."""
    final = _final(rows, spectrum, ansatz)
    finding = all_of(
        **{
            f"layer {layer + 1}": trend(-final[:, layer], f"the final {ansatz} NFA falls with s₀")
            for layer in range(final.shape[1])
        }
    )
    means = " and ".join(
        f"{', '.join(f'{mean:.3f}' for mean in of_layer)} in layer {layer}"
        for layer, of_layer in enumerate(final.mean(0), 1)
    )
    scales = ", ".join(f"{scale:g}" for scale in np.unique(rows.x))
    return replace(finding, measured=f"at s₀ = {scales} the final {ansatz} NFA is {means}")


def _final(rows: Rows, spectrum: str, ansatz: str) -> np.ndarray:
    """A correlation after training by (seeds, layers, scales)."""
    (nfa,) = of_spectrum(rows, spectrum, f"nfa/{ansatz}")
    return nfa[..., -1]


def appendix_g(spectrum: str, figure: str) -> tuple[Statement, ...]:
    """The statements of Appendix G on data of a spectrum."""

    def statement(name: str, quote: str, rule: Callable[..., Finding], *reads: str, **more: Any) -> Statement:
        return Statement(
            name=name,
            quote=quote,
            place=f"Appendix G and {figure}",
            rule=partial(rule, spectrum=spectrum),
            reads=reads,
            cases=3,
            rows=ROWS[reads[0] == "test_loss"],
            **more,
        )

    losses_and_nfa = (
        "We see that the test loss improves for smaller initializations, where the value of the C-NFA and UC-NFA are "
        "higher."
    )
    return (
        statement(
            "C-NFA more robust", ROBUST, robust, "nfa/uncentered", "nfa/centered",
        ),
        statement(
            "UC-NFA becomes high",
            "UC-NFA value become high through training, while being small at initialization",
            becomes_high, "nfa/uncentered", "null/uncentered",
        ),
        statement(
            "smaller test loss for smaller scales", losses_and_nfa, smaller_loss, "test_loss",
            stands_in="Random eigenvectors of K do not change the losses. Tests show that the rule refutes planted "
            "losses that fall as s₀ rises.",
        ),
        statement(
            "higher C-NFA for smaller scales", losses_and_nfa, partial(higher_for_smaller, ansatz="centered"),
            "nfa/centered",
        ),
        statement(
            "higher UC-NFA for smaller scales", losses_and_nfa, partial(higher_for_smaller, ansatz="uncentered"),
            "nfa/uncentered",
        ),
        *(
            statement(
                f"higher {name} for smaller scales, in each layer", losses_and_nfa,
                partial(higher_for_smaller_in_each_layer, ansatz=ansatz), f"nfa/{ansatz}", kind="ours",
            )
            for name, ansatz in (("C-NFA", "centered"), ("UC-NFA", "uncentered"))
        ),
        statement(
            "small at initialization, high after training",
            "UC-NFA value become high through training, while being small at initialization",
            small_and_high, "nfa/uncentered", "null/uncentered", kind="ours",
        ),
    )  # fmt: skip


def draw_nfa_and_losses(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw Figures 2, 7 and 8: UC-NFA and C-NFA, a row of panels for each layer, and the losses.

    Each loss is divided by its largest value over all scales of its arm. The data are of the claim's ``SPECTRUM``.
    """
    rows = rows[rows["quantity"].isin(COLUMNS) & (rows["case"] == claim.SPECTRUM)]
    rows = _with_one_control(rows[rows["arm"] != "control: no training"])  # more dotted lines would hide each other
    rows = style.thinned(rows, 15, power=2)
    figure, grid = style.panels(claim, columns=4, rows=2, height=4.6)
    controls = style.controls(rows)
    for (row, layer), (column, quantity) in product(enumerate(LAYERS), enumerate(COLUMNS)):
        axes, is_loss = grid[row, column], quantity.endswith("loss")
        if is_loss and row:
            axes.set_axis_off()
            continue
        values = rows[(rows["quantity"] == quantity) & rows["layer"].isin([layer, ""])]
        if is_loss:
            means = values.groupby(["x", "step", "arm"])["value"].transform("mean")
            values = values.assign(value=values["value"] / means.groupby(values["arm"]).transform("max"))
        _lines_by_scale(axes, values, [] if is_loss else controls)
        if row == 0:
            axes.set_title(COLUMNS[quantity], fontsize=9)
        if is_loss or row:
            axes.set_xlabel("step")
        axes.set_ylim(0, None if is_loss else 1.02)
        if column == 0:
            axes.set_ylabel(f"layer {row + 1}")
    label_scales(grid[1, 1], rows[(rows["quantity"] == "nfa/centered") & (rows["layer"] == LAYERS[-1])], controls)
    for name in grid[1, 1].texts:
        name.set_in_layout(False)  # they extend into the empty panels at the right
    _note(figure, rows)
    return figure


def _with_one_control(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without the controls of the corrected form, which would be further dotted lines at every scale."""
    return rows[~(rows["arm"].str.startswith("control") & rows["arm"].str.endswith(", corrected"))]


def _note(figure: Figure, rows: pd.DataFrame) -> None:
    """Name the variances and what the lines are, in few words: the stamp is in the same line."""
    lines = style.meaning_of_lines(rows).replace("line: mean; band: Student's", "mean and")
    style.note(figure, f"variance s₀/(3k), printed: s₀/k; {lines}")


def label_scales(axes: Axes, rows: pd.DataFrame, controls: list[str]) -> None:
    """Name the lines of each scale and arm at their ends; ``rows`` are those of the panel."""
    last = rows[rows["step"] == rows["step"].max()].groupby(["arm", "x"])["value"].mean()
    names = {"corrected": "solid: corrected", "claim": "dashed: as printed"}
    names |= {arm: f"dotted, {arm}" for arm in controls}
    ends = [(float(last[arm, scale]), f"{name}, s₀ = {scale:g}", style.CONTROL if arm in controls else color)
            for scale, color in _scale_colors(rows) for arm, name in names.items()]  # fmt: skip
    style.label_ends(axes, ends, gap=0.085)


def draw_by_layer(rows: pd.DataFrame, claim: ModuleType, label: str, top: float) -> Figure:
    """Draw Figures 4 and 5: the first statement's quantity, a column of panels for each layer, a row for each spectrum.

    The y axis is linear up to ``top``, and logarithmic above where a line goes there.
    """
    rows = _with_one_control(rows[rows["quantity"] == claim.STATEMENTS[0].reads[0]])
    rows = style.thinned(rows, 20, power=2)
    spectra, controls = claim.SPECTRA, style.controls(rows)
    figure, grid = style.panels(claim, columns=2, rows=len(spectra), height=1.0 + 2.2 * len(spectra))
    for panels, spectrum in zip(grid, spectra, strict=True):
        for axes, (number, layer) in zip(panels, enumerate(LAYERS, 1), strict=True):
            _lines_by_scale(axes, rows[(rows["case"] == spectrum) & (rows["layer"] == layer)], controls)
            _fit_axis(axes, top)
            axes.set(title=f"layer {number}, {spectrum}", xlabel="step", ylabel=label)
    label_scales(grid[0, -1], rows[(rows["case"] == spectra[0]) & (rows["layer"] == LAYERS[-1])], controls)
    _note(figure, rows)
    return figure


def _fit_axis(axes: Axes, top: float) -> None:
    """Let the y axis be linear up to ``top``, and logarithmic above where a line goes there."""
    drawn = [np.asarray(line.get_ydata(), float) for line in axes.get_lines()]
    highest = max(float(np.nanmax(values)) for values in drawn if len(values))
    if highest <= top:
        axes.set_ylim(0, top)
        return
    axes.set_yscale("symlog", linthresh=top, linscale=3)
    axes.axhline(top, color=style.GUIDE, linewidth=0.5, linestyle=":")
    ticks = [0, 0.5, 1, *(10.0**power for power in range(1, 4) if 10.0**power < highest)]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.5 * highest)


def _line_styles(controls: list[str]) -> list[tuple[str, str]]:
    return [("claim", "--"), *((arm, ":") for arm in controls)]


def _scale_colors(rows: pd.DataFrame) -> list[tuple[float, Any]]:
    """The scales of the initial weights, the largest first, and their colours."""
    scales = sorted(rows["x"].unique(), reverse=True)
    return list(zip(scales, sns.color_palette("viridis", len(scales)), strict=True))


def _lines_by_scale(axes: Axes, rows: pd.DataFrame, controls: list[str]) -> None:
    """Draw the corrected arm with its seeds, since gradient descent is stable there; the other arms as means."""
    for scale, color in _scale_colors(rows):
        of_scale = rows[rows["x"] == scale]
        corrected = of_scale[of_scale["arm"] == "corrected"]
        style.seeds(axes, corrected, "step", color, label=f"corrected, s₀ = {scale:g}")
        for arm, dashes in _line_styles(controls):
            means = of_scale[of_scale["arm"] == arm].groupby("step")["value"].mean()
            axes.plot(means.index, means, color=style.CONTROL if arm in controls else color, linestyle=dashes,
                      linewidth=1, label="_")  # fmt: skip
