"""In interpolating networks under the Neural Feature Ansatz the surrogate is at least C_0 ||Y||^2 / Phi_l (m > 1) or
C_0 ||Y||^4 / Psi_l (m = 1), and it grows with the layer l.

Phi_l = (m^(L-l) - 1)^2 + 1 for ReLU^m and labels of mean 0; Psi_l = N (||Y||_1 + 2 N M_l B delta)^2 for piecewise
linear f_l with M_l regions; C_0 the least ||W_l H_l||_F^2. Beside it: the ansatz's own cosine; the bound with the
readout among the layers, by which C_0 is at most ||f||^2 = ||Y||^2; and for m = 1 the bound before the proof's last two
inequalities, which lose a factor N ||Y||_1^2 / ||Y||_2^2 even where f_l is linear, so that Psi_l's excludes next to
nothing. But S = 0 it does exclude, and f = |x_1| - |x_2| on symmetric samples has it at l = 0 (even target), where
interpolation and ansatz are exact: for m = 1 the proof's S = C_l ||Y||^4 leaves out the epsilon that its C_l keeps.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "A.thm4"
KIND = "statistical"
TITLE = "Lower bounds of the surrogate by layer"
PRINTED = "𝒮(G^l) ≳ C₀‖Y‖²Φ_l⁻¹ for m > 1, ≳ C₀‖Y‖⁴Ψ_l⁻¹ for m = 1; grows with l; Theorem 4"
QUANTITIES = ("thm4/ratio", "thm4/with readout", "thm4/before", "thm4/surrogate", "thm4/nfa", "thm4/step", "thm4/fit")
SLACK = 1.05  # of the sign "greater or about": the networks fit their labels up to some percent of the variance
REPORTED = {"ratio": "bound / surrogate", "with readout": "the same with C₀ ≤ ‖f‖²", "nfa": "cosine of the ansatz",
            "before": "m = 1, the same before the last two inequalities", "step": "surrogate / C_l‖Y‖⁴",
            "surrogate": "surrogate / ‖Y‖⁴"}  # fmt: skip


def rule(rows: Rows) -> Finding:
    """On every network and layer; the growth by the least step to the next of the layers below the readout."""
    ratios = rows.where(quantity="thm4/ratio").by("case")
    steps = {case: _steps(one) for (case,), one in rows.where(quantity="thm4/surrogate").by("case").items()}
    parts = {f"bound, {case}": _bound(one) for (case,), one in ratios.items()}
    grown = [positive(one, "least log step of the surrogate to the next layer") for one in steps.values()]
    growth = every(**{str(index): one for index, one in enumerate(grown)})
    found = every(**parts, growth=growth)
    numbers = {f"growth, {case}": float(one.mean()) for case, one in steps.items()}
    for quantity, name in REPORTED.items():
        for (case, layer), one in rows.where(quantity=f"thm4/{quantity}").by("case", "layer").items():
            where = layer if layer == "readout" else f"layer {layer}"
            numbers[f"{name}, {case}, {where}"] = float(np.median(one.value))
    fits = rows.where(quantity="thm4/fit").value
    numbers |= {"least share of the labels' variance that is fitted": float(fits.min())} if len(fits) else {}
    rule = f"bound / surrogate <= {SLACK:g} on every layer and seed; and in every network {grown[0].rule}"
    worst = ", ".join(f"{one.statistic:.2g} ({name.removeprefix('bound, ')})" for name, one in parts.items())
    rising = sum(one.holds is True for one in grown)
    measured = f"bound / surrogate at most {worst}; it grows with l in {rising} of {len(grown)} networks"
    return replace(found, rule=rule, numbers=numbers, measured=measured)


def _bound(rows: Rows) -> Finding:
    worst = float(rows.value.max())
    return Finding(worst <= SLACK, worst, f"bound / surrogate <= {SLACK:g}", "bound", high=SLACK)


def _steps(rows: Rows) -> np.ndarray:
    """Per seed, the least log step from one layer below the readout to the next."""
    found = []
    for one in rows.by("seed").values():
        order = np.argsort(one.layer.astype(str))
        inside = order[one.layer[order] != "readout"]
        found.append(np.diff(np.log(one.value[inside])).min())
    return np.array(found)


BOUNDS = {"thm4/ratio": ("bound as printed", "--"), "thm4/with readout": ("bound, C₀ ≤ ‖f‖²", ":"),
          "thm4/before": ("m = 1, before its last steps", "-.")}  # fmt: skip
LINES = {"claim": ("interpolating", style.CLAIM, "o"),
         "control: untrained net": ("control: untrained net", style.CONTROL, "X"),
         "control: labels orthogonal to every layer": ("control: orthogonal labels, 0 to round-off",
                                                       style.CONTROL, "v")}  # fmt: skip
ZERO = 1e-13  # what is below is 0 to round-off, and drawn here


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each kind of network; the ansatz's cosine stands under each layer."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), height=3.7, width=8.4)
    for axes, case in zip(grid[0], cases, strict=True):
        _panel(axes, rows[rows["case"] == case])
        axes.set_title(case, fontsize=8)
    grid[0, 0].set(ylabel="surrogate / ‖Y‖⁴")
    lines, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower left", ncols=3, fontsize=7)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    order = sorted(rows["layer"][rows["layer"] != ""].unique())  # the readout comes last
    rows = rows[rows["layer"] != ""].assign(x=lambda one: one["layer"].map(order.index))
    claim_rows = rows[rows["arm"] == "claim"]
    rows = rows.assign(value=rows["value"].clip(lower=ZERO))
    axes.set(yscale="log", ylim=(ZERO / 5, 20), xlabel="layer, NFA’s cosine")
    for arm, (label, color, marker) in LINES.items():
        found = rows[(rows["arm"] == arm) & (rows["quantity"] == "thm4/surrogate")]
        if not found.empty:
            style.band(axes, found, "x", color, marker=marker, markersize=4, label=label)
    surrogate = claim_rows[claim_rows["quantity"] == "thm4/surrogate"].groupby("x")["value"].median()
    for quantity, (label, dashes) in BOUNDS.items():
        ratio = claim_rows[claim_rows["quantity"] == quantity].groupby("x")["value"].median()
        below = ratio * surrogate.reindex(ratio.index)
        axes.plot(below.index, below, color=style.PRINTED, linestyle=dashes, linewidth=1, label=label)
    cosine = claim_rows[claim_rows["quantity"] == "thm4/nfa"].groupby("x")["value"].median()
    names = [f"{'out' if layer == 'readout' else layer}\n{cosine[at]:.2f}" for at, layer in enumerate(order)]
    axes.set_xticks(range(len(order)), names, fontsize=8)
    axes.minorticks_off()
