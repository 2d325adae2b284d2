"""In interpolating networks under the Neural Feature Ansatz, the surrogate has a lower bound, and grows with the layer.

Layers are counted from 0 here; the pages of paper A's figures count from 1. f_l is the network from the inputs of layer
l on, and m is the degree of homogeneity of the activation. For m > 1 the activation is ReLU^m, here ReLU², and the
labels have mean 0. For m = 1 it is ReLU, and f_l is piecewise linear with M_l regions; B bounds the norms of every
layer's inputs, and δ the change of f_l's gradient from a region to the next. C_0 is the least ||W_l H_l||_F^2. We read
≳ as: at least 1/1.05 of the bound.

Trained networks meet the ansatz only roughly. So we add a network that meets every hypothesis exactly:
f = |x_1| - |x_2| (the even target), on samples that are symmetric under a change of sign of each coordinate. Its
surrogate S of layer l = 0 is 0 up to round-off, and the bound is positive, so the theorem fails. The reason: for m = 1
the proof's S = C_l ||Y||^4 omits the error ε of Lemma 4, although the proof's bound of C_l contains it. In the other
networks the bound for m = 1 excludes next to nothing: the proof's last two inequalities lose a factor N ||Y||_1^2 /
||Y||_2^2 even where f_l is linear.

We also report two other bounds: the bound before these inequalities, and the bound with the readout counted as a layer,
where C_0 is at most ||f||^2 = ||Y||^2. The proof has a step S ≈ C_l ||Y||^4. As for Lemma 3, we ask that its error is
below the smaller side. We do not ask this of the readout: f is linear there, and both sides are equal.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import UNIT, Finding, all_of, trend_along
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.papers.weight_gram.claims.shared.approximations import about
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.thm4"
KIND = "statistical"
TITLE = "Lower bounds of the surrogate by layer"
PRINTED = "𝒮(G^l) ≳ C₀‖Y‖²Φ_l⁻¹ for m > 1, ≳ C₀‖Y‖⁴Ψ_l⁻¹ for m = 1; grows with l; Theorem 4"
MATH = (
    (
        r"\mathcal{S}(G_{\text{id}}^l) \gtrsim \begin{cases} C_0 \| Y \|_2^2\, \Phi_l^{-1} & \text{if } m "
        r"> 1 \text{ and } \sum_i y_i = 0 \\ C_0 \| Y \|_2^4\, \Psi_l^{-1} & \text{if } m = 1 \text{ and } "
        r"f_l \text{ is piecewise linear} \end{cases}"
    ),
    r"\Phi_l = \left( m^{L-l} - 1 \right)^2 + 1, \quad \Psi_l = N \left( \| Y \|_1 + 2 N M_l B \delta \right)^2",
)
EVEN = "ReLU, even target"
KINDS = {False: "ReLU", True: "ReLU²"}  # of networks, by whether the activation is squared
SLACK = 1.05  # for "greater or about": the networks fit their labels up to some percent of the variance
LEAST_FIT = 0.95  # share of the labels' variance that an interpolating network fits
LEAST_COSINE = 0.75**0.5  # where the best C_l AGOP misses half of the Gram matrix, in Frobenius norm
REPORTED = {  # medians over seeds, by network and layer
    "thm4/ratio": "bound / surrogate",
    "thm4/with readout": "the same with C₀ ≤ ‖f‖²",
    "thm4/step": "surrogate / C_l‖Y‖⁴",
    "thm4/bound": "bound / ‖Y‖⁴",
    "thm4/surrogate": "surrogate / ‖Y‖⁴",
    "thm4/normalised": "surrogate / ‖WH‖²‖Y‖²",
    "null/normalised": "97.5 % of the same with permuted labels",
    "thm4/nfa": "cosine of WᵀW and the AGOP",
    "null/nfa": "97.5 % of the cosine with random eigenvectors",
}
LINES = {
    "claim": ("interpolating", style.CLAIM, "o"),
    "control: untrained net": ("✗ control: untrained net", style.CONTROL, "X"),
    "control: labels orthogonal to every layer": ("▾ control: orthogonal labels", style.CONTROL, "v"),
}
BOUNDS = {
    "thm4/ratio": ("dashed: bound as printed", "--"),
    "thm4/with readout": ("dotted: bound, C₀ ≤ ‖f‖²", ":"),
    "thm4/before": ("dash-dotted, for m = 1: bound\nbefore the proof's last steps", "-."),
}
ROUND_OFF = 1e-13  # smaller surrogates are 0 up to round-off, and drawn here


def bounded(rows: Rows, squared: bool) -> Finding:
    """On every network, layer and seed the surrogate is at least, or about, the bound."""
    rows = _networks(rows, squared)
    finding = _bound(rows.where(quantity="thm4/ratio"))
    return replace(finding, numbers=_medians(rows), measured=f"in {KINDS[squared]} networks {finding.measured}")


def bounded_for_even_target(rows: Rows) -> Finding:
    """On every layer and seed the surrogate is at least, or about, the bound."""
    finding = _bound(rows)
    zero = [layer for (layer,), ratios in rows.by("layer").items() if ratios.value.min() > 1 / UNIT["float64"]]
    measured = f"in layer {' and '.join(zero)} the surrogate is 0 up to round-off, and the bound is positive"
    return replace(finding, measured=f"even target: {measured if zero else finding.measured}")


def _bound(ratios: Rows) -> Finding:
    worst = float(ratios.value.max())
    measured = f"the bound is at most {worst:.2g} times the surrogate"
    return Finding(worst <= SLACK, worst, f"bound / surrogate <= {SLACK:g} on every layer and seed", "bound",
                   high=SLACK, measured=measured)  # fmt: skip


def step_of_proof(rows: Rows, squared: bool) -> Finding:
    """In every network and layer the surrogate differs from C_l ||Y||^4 by less than the smaller of the two."""
    finding = about(_steps(_networks(rows, squared)))
    return replace(finding, measured=f"in {KINDS[squared]} networks {finding.measured}")


def step_of_proof_for_even_target(rows: Rows) -> Finding:
    """In every layer the surrogate differs from C_l ||Y||^4 by less than the smaller of the two."""
    ratios = _steps(rows)
    finding = about(ratios)
    zero = [name.split(", ")[-1] for name, ratio in ratios.items() if ratio.max() < UNIT["float64"]]
    words = f"𝒮 is 0 up to round-off in {', '.join(zero)}, and C_l‖Y‖⁴ is positive" if zero else finding.measured
    return replace(finding, measured=f"even target: {words}")


def _steps(rows: Rows) -> dict[str, np.ndarray]:
    """By network and layer below the readout, S / (C_l ||Y||^4) of each seed."""
    return {f"{case}, layer {layer}": of_one.by_seed() for (case, layer), of_one in rows.by("case", "layer").items()
            if layer != "readout"}  # fmt: skip


def rises(rows: Rows, quantity: str, squared: bool, in_logs: bool = False) -> Finding:
    """In every network a quantity, or its logarithm, rises with the layer, below the readout."""
    rows = _networks(rows, squared)
    below = Rows(rows.frame[rows.layer != "readout"]).where(quantity=f"thm4/{quantity}")
    by_case = {case: _by_layer(network) for (case,), network in below.by("case").items()}
    name = f"{quantity} surrogate" if quantity == "normalised" else quantity
    says = f"the {'log of the ' if in_logs else ''}{name} rises with the layer"
    findings = {case: trend_along(np.log(values) if in_logs else values, says) for case, values in by_case.items()}
    rising = sum(finding.holds is True for finding in findings.values())
    measured = f"the {name} rises with the layer in {rising} of {len(findings)} {KINDS[squared]} networks"
    return replace(weakest_of(findings), numbers=_medians(rows), measured=measured)


def bounds_rise(rows: Rows) -> Finding:
    """In every network the bound rises with the layer, below the readout.

    The bounds of a layer spread over two powers of ten. Logarithms keep a few seeds from deciding the mean.
    """
    return all_of(**{name: rises(rows, "bound", squared, in_logs=True) for squared, name in KINDS.items()})


def interpolates(rows: Rows, squared: bool) -> Finding:
    """Every network fits at least LEAST_FIT of the labels' variance."""
    return _at_least(_networks(rows, squared).value, LEAST_FIT, "share of the labels' variance that is fitted")


def obeys_ansatz(rows: Rows, squared: bool) -> Finding:
    """In every network and layer W^T W and the AGOP have at least LEAST_COSINE."""
    rows = _networks(rows, squared)
    finding = _at_least(rows.where(quantity="thm4/nfa").value, LEAST_COSINE, "cosine of WᵀW and the AGOP")
    return replace(finding, numbers=_medians(rows))


def _at_least(values: np.ndarray, least: float, label: str) -> Finding:
    worst = float(values.min())
    rule = f"least {label}, over networks, layers and seeds, at least {least:.3g}"
    return Finding(worst >= least, worst, rule, "bound", low=least)


def _networks(rows: Rows, squared: bool) -> Rows:
    """The rows of networks with ReLU² activations, or with ReLU."""
    return Rows(rows.frame[rows.frame["case"].str.startswith(KINDS[True]) == squared])


def _by_layer(network: Rows) -> np.ndarray:
    """A quantity of one network, (seeds, layers)."""
    return np.array([seed.value[np.argsort(seed.layer.astype(str))] for seed in network.by("seed").values()])


def _medians(rows: Rows) -> dict[str, float]:
    """Over seeds, by quantity, network and layer."""
    medians = {}
    for (quantity, case, layer), selected in rows.by("quantity", "case", "layer").items():
        layer_name = layer if layer == "readout" else f"layer {layer}"
        medians[f"{REPORTED[quantity]}, {case}, {layer_name}"] = float(np.median(selected.value))
    return medians


THEOREM = (
    "Assume the network interpolates the training data and ∃C₀ > 0 s.t. ‖W_lH_l‖_F² ≥ C₀, ∀l. Under the Neural Feature "
    "Ansatz W_lᵀW_l ≈ (C_l/N) Σ_i ∇_{h_{l,i}}f_l ∇_{h_{l,i}}f_lᵀ for layer-dependent constants C_l > 0, the surrogate "
    "satisfies"
)
STEP = "A first-order Taylor expansion and homogeneity then gives 𝒮(G_id^l) ≈ C_l‖Y‖₂⁴ for both cases."
NAMES = {False: "m = 1", True: "m > 1"}
STEPS: tuple[tuple[str, Callable[[Rows], Finding], str, int], ...] = (  # name, rule, quantity, networks
    *((name, partial(step_of_proof, squared=squared), "thm4/step", 4) for squared, name in NAMES.items()),
    ("m = 1, an even target", step_of_proof_for_even_target, "even/step", 1),
)
PRINTED_BOUNDS = {False: "𝒮 ≳ C₀‖Y‖⁴/Ψ_l, Ψ_l = N(‖Y‖₁ + 2NM_lBδ)²", True: "𝒮 ≳ C₀‖Y‖²/Φ_l, Φ_l = (m^(L−l) − 1)² + 1"}
UNEVEN = "The networks of the cases have two or three hidden layers."
CONTROLS = {
    "labels orthogonal to every layer": Control(
        text="The labels are orthogonal to the pre-activations of every hidden layer, so that the networks do "
        "not interpolate them."
    ),
    "untrained net": Control(
        text="The networks have their initial weights in place of the trained ones.",
        has=(
            "null/normalised",
            "thm4/bound",
            "thm4/normalised",
            "thm4/ratio",
            "thm4/step",
            "thm4/surrogate",
            "thm4/with readout",
        ),
        parts=("case", "layer"),
        cases={"null/normalised": ("ReLU, digits", "ReLU, staircase", "ReLU², digits", "ReLU², staircase")},
        parts_because="Before training every step is 0, and the null of the even target belongs to the trained net.",
    ),
}
STATEMENTS = (
    *(
        Statement(
            name=f"lower bound, {NAMES[squared]}",
            quote=THEOREM,
            place="Theorem 4",
            rule=partial(bounded, squared=squared),
            reads=("thm4/ratio", "thm4/with readout", "thm4/step"),
            printed=PRINTED_BOUNDS[squared],
            cases=4,
            rows=90,
        )
        for squared in NAMES
    ),
    Statement(
        name="lower bound, m = 1, an even target",
        quote=THEOREM,
        place="Theorem 4",
        rule=bounded_for_even_target,
        reads=("even/ratio",),
        printed=PRINTED_BOUNDS[False],
        rows=18,
    ),
    *(
        Statement(
            name=f"step of the proof, {name}",
            quote=STEP,
            place="Theorem 4, proof sketch",
            rule=rule,
            reads=(quantity,),
            printed="𝒮 ≈ C_l‖Y‖⁴",
            cases=cases,
            rows=27 * cases,
        )
        for name, rule, quantity, cases in STEPS
    ),
    Statement(
        name="the bounds grow with the layer",
        quote="are monotonically increasing in",
        place="Theorem 4",
        rule=bounds_rise,
        reads=("thm4/bound",),
        printed="Φ_l⁻¹ and Ψ_l⁻¹ grow with l",
        cases=4,
        rows=90,
        stands_in="Φ_l depends on the degree and the depth alone, and fewer units lie above a higher layer. So the "
        "bounds grow in every control too. The exact permutation test rejects layers in random order.",
    ),
    *(
        Statement(
            name=f"the surrogate grows with the layer, {NAMES[squared]}",
            quote="— correspondingly grows with depth",
            place="Section 4.2",
            rule=partial(rises, quantity="surrogate", squared=squared),
            reads=("thm4/surrogate",),
            printed="𝒮(G_id^l) grows with l",
            cases=4,
            rows=120,
        )
        for squared in NAMES
    ),
    *(
        Statement(
            name=f"the normalised surrogate grows with the layer, {NAMES[squared]}",
            quote="Relating the two expressions shows that the lower bound of C_l is monotonically increasing in l.",
            place="Theorem 4, proof sketch",
            rule=partial(rises, quantity="normalised", squared=squared),
            reads=("thm4/normalised", "null/normalised"),
            kind="ours",
            derived="𝒮(G_id^l) / (‖W_lH_l‖²‖Y‖²), for m > 1 under the theorem's hypotheses 1/Φ_l, grows with l",
            cases=4,
            rows=120,
        )
        for squared in NAMES
    ),
)
NEEDING = {  # the statements about trained networks
    squared: tuple(f"{statement}, {name}" for statement in
                   ("lower bound", "step of the proof", "the surrogate grows with the layer"))
    for squared, name in NAMES.items()
}  # fmt: skip
HYPOTHESES = tuple(
    hypothesis
    for squared, name in NAMES.items()
    for hypothesis in (
        Hypothesis(
            name=f"interpolation, {name}",
            text=f"Every network fits at least {LEAST_FIT:g} of the labels' variance (“Assume the network interpolates "
            "the training data”).",
            rule=partial(interpolates, squared=squared),
            reads=("thm4/fit",),
            statements=NEEDING[squared],
        ),
        Hypothesis(
            name=f"Neural Feature Ansatz, {name}",
            text=f"The cosine of WᵀW and the AGOP is at least {LEAST_COSINE:.3g} in every layer below the readout, so "
            "that C_l AGOP misses less than half of WᵀW in norm (“Under the Neural Feature Ansatz”, WᵀW ≈ C_l AGOP).",
            rule=partial(obeys_ansatz, squared=squared),
            reads=("thm4/nfa", "null/nfa"),
            statements=NEEDING[squared],
        ),
    )
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each kind of network; the cosine of the ansatz stands under each layer."""
    rows = rows.assign(quantity=rows["quantity"].str.replace("even/", "thm4/"))
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=3, rows=2, height=5.0)
    for axes, case in zip(grid.flat, cases, strict=False):
        ends = _draw_case(axes, rows[(rows["case"] == case) & (rows["layer"] != "")])
        axes.set_title(case, fontsize=8)
    style.label_ends(grid.flat[len(cases) - 1], ends)  # the last panel has room at its right
    for name in grid.flat[len(cases) - 1].texts:
        name.set_in_layout(False)
    style.name_lines(grid[0, 0], [(BOUNDS["thm4/before"][0], style.COLORS["predicted"])], y=0.98)
    for axes in grid[:, 0]:
        axes.set_ylabel("surrogate / ‖Y‖⁴")
    for axes in grid.flat[len(cases) :]:
        axes.remove()
    style.note(figure, f"{style.meaning_of_lines(rows, 'geometric mean')}; {ROUND_OFF:g} stands for round-off")
    return figure


def _draw_case(axes: Axes, rows: pd.DataFrame) -> list[tuple[float, str, Any]]:
    """Draw the surrogates and bounds of a case; its lines' last heights, names and colours."""
    ends: list[tuple[float, str, Any]] = []
    layers = sorted(rows["layer"].unique())  # the readout comes last
    rows = rows.assign(x=rows["layer"].map(layers.index))
    axes.set(yscale="log", ylim=(ROUND_OFF / 5, 1e4), xlabel="layer and its NFA's cosine")
    surrogates = rows[rows["quantity"] == "thm4/surrogate"]
    for arm, (label, color, marker) in LINES.items():
        line = surrogates[surrogates["arm"] == arm]
        if not line.empty:
            line = line.assign(value=line["value"].clip(lower=ROUND_OFF))
            style.seeds(axes, line, "x", color, marker=marker, markersize=4, label=label)
            last = line.loc[line["x"] == line["x"].max(), "value"]
            ends.append((float(np.exp(np.log(last).mean())), label, color))
    claim_rows = rows[rows["arm"] == "claim"]
    medians = claim_rows.groupby(["quantity", "x"])["value"].median()
    for quantity, (label, dashes) in BOUNDS.items():
        ratio = claim_rows[claim_rows["quantity"] == quantity].groupby("x")["value"].median()
        bound = ratio * medians["thm4/surrogate"].reindex(ratio.index)
        axes.plot(bound.index, bound, color=style.COLORS["predicted"], linestyle=dashes, linewidth=1.2, label=label)
        if len(bound):
            ends.append((float(bound.iloc[-1]), label, style.COLORS["predicted"]))
    cosine = medians["thm4/nfa"]
    names = [f"{'out' if layer == 'readout' else layer}\n{cosine[x]:.2f}" for x, layer in enumerate(layers)]
    axes.set_xticks(range(len(layers)), names, fontsize=8)
    axes.minorticks_off()
    return ends
