"""In interpolating networks under the Neural Feature Ansatz, the surrogate is at least C_0 ||Y||^2 / Phi_l (m > 1) or
C_0 ||Y||^4 / Psi_l (m = 1), and it grows with the layer l.

Phi_l = (m^(L-l) - 1)^2 + 1 for ReLU^m and labels of mean 0; Psi_l = N (||Y||_1 + 2 N M_l B delta)^2 for piecewise
linear f_l with M_l regions; C_0 is the least ||W_l H_l||_F^2. Reported beside the claim: the cosine of the ansatz; the
bound with the readout among the layers, by which C_0 is at most ||f||^2 = ||Y||^2; and for m = 1 the bound before the
proof's last two inequalities. These lose a factor N ||Y||_1^2 / ||Y||_2^2 even where f_l is linear, so that Psi_l's
bound excludes next to nothing. But it excludes S = 0, which f = |x_1| - |x_2| on symmetric samples has at l = 0 (even
target), where interpolation and ansatz are exact: for m = 1 the proof's S = C_l ||Y||^4 omits the epsilon that its C_l
contains.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.papers.weight_gram.claims.shared.figures import legend_below
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.thm4"
KIND = "statistical"
TITLE = "Lower bounds of the surrogate by layer"
PRINTED = "𝒮(G^l) ≳ C₀‖Y‖²Φ_l⁻¹ for m > 1, ≳ C₀‖Y‖⁴Ψ_l⁻¹ for m = 1; grows with l; Theorem 4"
QUANTITIES = ("thm4/ratio", "thm4/with readout", "thm4/before", "thm4/surrogate", "thm4/nfa", "thm4/step", "thm4/fit")
SLACK = 1.05  # for "greater or about": the networks fit their labels up to some percent of the variance
REPORTED = {
    "ratio": "bound / surrogate",
    "with readout": "the same with C₀ ≤ ‖f‖²",
    "nfa": "cosine of the ansatz",
    "before": "m = 1, the same before the last two inequalities",
    "step": "surrogate / C_l‖Y‖⁴",
    "surrogate": "surrogate / ‖Y‖⁴",
}
LINES = {
    "claim": ("interpolating", style.CLAIM, "o"),
    "control: untrained net": ("control: untrained net", style.CONTROL, "X"),
    "control: labels orthogonal to every layer": ("control: orthogonal labels, 0 to round-off", style.CONTROL, "v"),
}
BOUNDS = {
    "thm4/ratio": ("bound as printed", "--"),
    "thm4/with readout": ("bound, C₀ ≤ ‖f‖²", ":"),
    "thm4/before": ("m = 1, before the proof's last steps", "-."),
}
ROUND_OFF = 1e-13  # smaller surrogates are 0 up to round-off, and drawn here


def rule(rows: Rows) -> Finding:
    """The bound on every network and layer; the least growth from a layer to the next below the readout."""
    bounds = {case: _bound(ratios) for (case,), ratios in rows.where(quantity="thm4/ratio").by("case").items()}
    steps = {case: _least_steps(surrogates)
             for (case,), surrogates in rows.where(quantity="thm4/surrogate").by("case").items()}  # fmt: skip
    grown = [positive(values, "least log step of the surrogate to the next layer") for values in steps.values()]
    finding = all_of(**{f"bound, {case}": part for case, part in bounds.items()}, growth=weakest_of(grown))
    numbers = {f"growth, {case}": float(values.mean()) for case, values in steps.items()}
    for quantity, name in REPORTED.items():
        for (case, layer), selected in rows.where(quantity=f"thm4/{quantity}").by("case", "layer").items():
            layer_name = layer if layer == "readout" else f"layer {layer}"
            numbers[f"{name}, {case}, {layer_name}"] = float(np.median(selected.value))
    fits = rows.where(quantity="thm4/fit").value
    if len(fits):
        numbers["least share of the labels' variance that is fitted"] = float(fits.min())
    worst = ", ".join(f"{part.statistic:.2g} ({case})" for case, part in bounds.items())
    rising = sum(part.holds is True for part in grown)
    return replace(
        finding,
        rule=f"bound / surrogate <= {SLACK:g} on every layer and seed; and in every network {grown[0].rule}",
        numbers=numbers,
        measured=f"bound / surrogate at most {worst}; it grows with l in {rising} of {len(grown)} networks",
    )


def _bound(ratios: Rows) -> Finding:
    worst = float(ratios.value.max())
    return Finding(worst <= SLACK, worst, f"bound / surrogate <= {SLACK:g}", "bound", high=SLACK)


def _least_steps(surrogates: Rows) -> np.ndarray:
    """Per seed, the least log step from one layer below the readout to the next."""
    steps = []
    for seed in surrogates.by("seed").values():
        order = np.argsort(seed.layer.astype(str))
        below_readout = order[seed.layer[order] != "readout"]
        steps.append(np.diff(np.log(seed.value[below_readout])).min())
    return np.array(steps)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each kind of network; the cosine of the ansatz stands under each layer."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), height=3.7, width=8.4)
    for axes, case in zip(grid[0], cases, strict=True):
        _draw_case(axes, rows[(rows["case"] == case) & (rows["layer"] != "")])
        axes.set_title(case, fontsize=8)
    grid[0, 0].set(ylabel="surrogate / ‖Y‖⁴")
    legend_below(figure, [grid[0, 0]], 3)
    return figure


def _draw_case(axes: Axes, rows: pd.DataFrame) -> None:
    layers = sorted(rows["layer"].unique())  # the readout comes last
    rows = rows.assign(x=rows["layer"].map(layers.index))
    axes.set(yscale="log", ylim=(ROUND_OFF / 5, 20), xlabel="layer, NFA’s cosine")
    surrogates = rows[rows["quantity"] == "thm4/surrogate"]
    for arm, (label, color, marker) in LINES.items():
        line = surrogates[surrogates["arm"] == arm]
        if not line.empty:
            line = line.assign(value=line["value"].clip(lower=ROUND_OFF))
            style.band(axes, line, "x", color, marker=marker, markersize=4, label=label)
    claim_rows = rows[rows["arm"] == "claim"]
    medians = claim_rows.groupby(["quantity", "x"])["value"].median()
    for quantity, (label, dashes) in BOUNDS.items():
        ratio = claim_rows[claim_rows["quantity"] == quantity].groupby("x")["value"].median()
        bound = ratio * medians["thm4/surrogate"].reindex(ratio.index)
        axes.plot(bound.index, bound, color=style.PRINTED, linestyle=dashes, linewidth=1, label=label)
    cosine = medians["thm4/nfa"]
    names = [f"{'out' if layer == 'readout' else layer}\n{cosine[x]:.2f}" for x, layer in enumerate(layers)]
    axes.set_xticks(range(len(layers)), names, fontsize=8)
    axes.minorticks_off()
