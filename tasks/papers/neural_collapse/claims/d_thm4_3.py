"""With linearised kernels the Gram of Deep RFM's features converges to yy^T, up to second order in lambda_k.

X are the layer's features; X^T X = G_l + lambda_Phi I, where lambda_Phi I stands for the nonlinear part of the feature
map. The kernel matrix is X^T X + lambda_k I, where lambda_k I stands for the nonlinear part of the kernel. M is the
AGOP of the predictor that this kernel fits to the labels. A layer maps the Gram G_l to G_{l+1} = kappa^-1 X^T M X;
kappa is a scale. The distance from collapse is d_l = ||G_l - yy^T||, with one-hot labels y and n samples in each class.
By the theorem d_{l+1} is at most (1 - eps) d_l plus a remainder. The paper prints no constant for the remainder; we
take 4.5 n (lambda_k / lambda_Phi)^2. The remainder's order is the slope in lambda_k of the largest excess of d_{l+1}
over (1 - eps) d_l, down to 2^-11 of the largest lambda_k that the condition allows.

The paper leaves the constant C of this condition open. We take C = 1, as in the paper's proof. For partial collapse,
eps_A / lambda_Phi < 1/2, some C is enough; for each C the instances include a lambda_Phi just below n / (C (1 - eps)),
where the printed kappa is near 0.

The paper names two limits. At lambda_k / lambda_Phi = 0 one layer collapses completely. At a large ratio non-linear
parts of the predictor increase the rank of the AGOP. The linearised kernel has no non-linear parts: its AGOP has the
rank of y at every ratio. So a statement of ours takes two non-linear kernels. Between the limits larger lambda_k delays
collapse and larger lambda_Phi accelerates it. We judge this by the first layer's rate, the distance of G_3 / ||G_3||
from yy^T / n over that of G_2 / ||G_2||. A larger rate means slower collapse.

Three bounds of the proof are judged too: kappa > 1/2, eps_A / lambda_Phi < 1/2 and ||Psi~|| <= 2, where eps_A = ||A -
A*|| after one layer, A* = yy^T + lambda_Phi I and Psi~ = A* A^-1. One control violates the condition. Another has
lambda_Phi = 0, that is, no nonlinearity. The controls of the two limits have lambda_k = lambda_Phi and the linearised
kernel.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound, order
from tasks.judging.statement import Control, Drawn, Grid, Statement
from tasks.papers.neural_collapse.claims.shared import limits
from tasks.papers.neural_collapse.claims.shared.limits import UNCHANGED

ID = "D.thm4.3"
KIND = "bound"
TITLE = "Linearised Deep RFM collapses layer by layer"
PRINTED_KAPPA, KAPPA = "κ = 1 − 2λ_k(1+λ_Φ⁻¹)", "κ = 1 − 2λ_k/(λ_Φ+n)"
PRINTED_REMAINDER, REMAINDER = "O(λ_k²λ_Φ⁻²)", "4.5n(λ_k/(λ_Φ+n))²"
CONDITION = "λ_k ≤ λ_Φ(1−ε)/4"
CONDITION_OF_COLLAPSE = "λ_k ≤ min(λ_Φ(1−ε)/4, λ_Φ²/(12n))"  # of partial collapse
NO_GRAM = 2.0  # 1 − κ over 1/2, where κ = 0: there is no next Gram from here on
REMAINDER_ORDER = 2  # in λ_k
PRINTED = f"{PRINTED_KAPPA}, λ_k ≤ Cλ_Φ(1−ε)/(2(1+λ_Φ⁻¹)n), remainder {PRINTED_REMAINDER}, Theorem 4.3"
MATH = (
    (
        r"\| \tilde X_{l+1}^\top \tilde X_{l+1} - y y^\top \| \le (1 - \epsilon)\, \| \tilde X_l^\top "
        r"\tilde X_l - y y^\top \| + O\left( \lambda_k^2 \lambda_\Phi^{-2} \right)"
    ),
    (
        r"\kappa = 1 - 2 \lambda_k \left( 1 + \lambda_\Phi^{-1} \right), \quad \lambda_k \le \frac{C "
        r"\lambda_\Phi (1 - \epsilon)}{2 (1 + \lambda_\Phi^{-1})\, n}"
    ),
)
MATH_CORRECTED = (
    (
        r"d_{l+1} \le (1 - \epsilon)\, d_l + 4.5\, n \left( \frac{\lambda_k}{\lambda_\Phi + n} \right)^2, "
        r"\quad d_l = \| \tilde X_l^\top \tilde X_l - y y^\top \|"
    ),
    (
        r"\kappa = 1 - \frac{2 \lambda_k}{\lambda_\Phi + n}, \quad \lambda_k \le \frac{\lambda_\Phi (1 - "
        r"\epsilon)}{4}"
    ),
)
CORRECTS = "a formula"
CORRECTION = (
    f"The theorem holds with {KAPPA}, since (A*)⁻¹yyᵀ = yyᵀ/(λ_Φ+n) (D.lemB.2). With the printed κ the recursion "
    "stops at a distance of about 2nλ_k(1+λ_Φ⁻¹−(λ_Φ+n)⁻¹), which is of first order in λ_k for every C; κ can even "
    f"be negative, where λ_Φ > n. The condition needs no n: {CONDITION} is enough. Then the remainder is at most "
    f"{REMAINDER} and the rate below 2λ_k/λ_Φ. With κ = (1+λ_k/(λ_Φ+n))⁻², yyᵀ is the fixed point and there is no "
    "remainder. M must be the mean over the points (Section 3.3); Algorithm 1 and the proof write the sum. Of the "
    "proof's three bounds ‖Ψ̃‖ ≤ 2 holds. At the largest λ_k of the condition κ = 1 − C(1−ε)λ_Φ/n. So κ > 1/2 fails "
    "for every C if λ_Φ/n is large. Partial collapse, ε_A < λ_Φ/2, fails for every C too: where λ_Φ is just below "
    "n/(C(1−ε)), κ is near 0 and G = κ⁻¹XᵀMX is too large; from n/(C(1−ε)) on κ is not above 0, and there is no G. "
    "If κ > 1/2 were assumed, partial collapse would hold with C = 1/8. But the proof derives κ > 1/2 from the "
    f"condition, and this step fails. With our κ partial collapse holds for {CONDITION_OF_COLLAPSE}. The theorem does "
    "not need it, since (A*)⁻¹Ψ̃ = A⁻¹ has a norm of at most 1/λ_Φ."
)


def slope(rows: Rows) -> Finding:
    """The remainder is of second order in lambda_k on every instance."""
    finding = order(rows, REMAINDER_ORDER)
    return replace(finding, measured=f"the remainder grows like λ_k to the power {finding.statistic:.2f}")


def inequality(rows: Rows) -> Finding:
    """On every instance the left side is at most the right side, with the constant 4.5 n in the remainder."""
    ratio = bound(rows.where(quantity="thm4_3/ratio"))
    floor = float(rows.where(quantity="thm4_3/floor").value.max())
    measured = f"the distance from collapse reaches {ratio.statistic:.4g} times its bound"
    return replace(ratio, numbers={**ratio.numbers, "largest floor / n": floor}, measured=measured)


def within_its_bound(rows: Rows, name: str) -> Finding:
    """On every instance the named quantity of the proof, over its bound, is at most 1."""
    finding = bound(rows)
    return replace(finding, measured=f"{name} reaches {finding.statistic:.4g} times its bound")


def for_some_constant(rows: Rows, name: str) -> Finding:
    """For some C of the grid "collapsed" is at most 1, and kappa above 0, on every instance whose x is at most C.

    x is lambda_k over the largest lambda_k that the condition allows with C = 1, so that it is C. The paper asserts
    that a constant exists. A bound that fails at a single C does not refute this. So the largest C that works is found;
    if none does, the finding is that of the least C. An instance with kappa <= 0 meets the condition, but has no next
    Gram, so it counts as a failure.
    """
    collapsed, kappa = rows.where(quantity="thm4_3/collapsed").frame, rows.where(quantity="thm4_3/kappa").frame
    constants = sorted(set(collapsed["x"].tolist()))
    findings: dict[float, Finding] = {}
    for C in constants:
        finding = bound(Rows(collapsed[collapsed["x"] <= C]))
        without = int((kappa.loc[kappa["x"] <= C, "value"] >= NO_GRAM).sum())
        numbers = {**finding.numbers, "instances with κ <= 0": float(without)}
        findings[C] = replace(finding, holds=bool(finding.holds and not without), numbers=numbers)
    working = [C for C in constants if findings[C].holds]
    C = working[-1] if working else constants[0]
    measured = f"{name} reaches {findings[C].statistic:.3g} times its bound with C up to {Fraction(C)}"
    if constants[-1] > C:
        measured += f", and {findings[constants[-1]].statistic:.3g} times with C up to {Fraction(constants[-1])}"
    if failing := findings[C].numbers["instances with κ <= 0"]:
        measured += f"; with C up to {Fraction(C)} κ is not above 0 on {failing:,.0f} instances"
    rule = (
        f"for some C, {findings[C].rule} with λ_k up to C times the largest that the condition allows with C = 1, "
        "and κ > 0 there"
    )
    return replace(findings[C], rule=rule, numbers={**findings[C].numbers, "largest C": C}, measured=measured)


def between_the_limits(rows: Rows) -> Finding:
    """On every instance the first rate rises with lambda_k at each lambda_Phi, and falls with lambda_Phi.

    The rate is the ratio by which a layer shrinks the distance from collapse; a larger rate delays collapse. Ratios of
    neighbours are below 1: of a smaller lambda_k to its double, and of a lambda_Phi to a tenth of it. The paper says
    nothing about their size; a change of less than 1 % counts as none.
    """
    frame = rows.frame
    names = frame["case"].str.rsplit(", λ_Φ = ", n=1)
    frame = frame.assign(size=names.str[0], ridge=names.str[1].astype(float))
    worst: dict[str, float] = {}
    for name, column, fixed, growing in (("λ_k", "x", "ridge", True), ("λ_Φ", "ridge", "x", False)):
        rates = frame.pivot(index=["size", "layer", "seed", fixed], columns=column, values="value").to_numpy()
        larger, smaller = (rates[:, 1:], rates[:, :-1]) if growing else (rates[:, :-1], rates[:, 1:])
        worst[name] = float((smaller / larger).max())
    statistic = max(worst.values())
    measured = (
        f"twice the λ_k raises the first layer's rate by a factor of at least {1 / worst['λ_k']:.3g}, and ten times "
        f"the λ_Φ lowers it by a factor of at least {1 / worst['λ_Φ']:.3g}"
    )
    rule = (
        "on every instance twice the λ_k raises the rate of the first layer, and ten times the λ_Φ lowers it, by "
        f"{1 - UNCHANGED:.0%} or more: ratio <= {UNCHANGED:g}"
    )
    return Finding(statistic <= UNCHANGED, statistic, rule, "bound", high=UNCHANGED, numbers=worst, measured=measured)


FRACTIONS = tuple(2.0**-power for power in range(12))  # of the largest λ_k that the condition allows


def first_grams(_: str, seed: int) -> tuple[str, ...]:
    """The kinds of the first Gram, with the number of the instance, which is the seed."""
    return tuple(f"{kind} {seed}" for kind in ("random", "multiple of I", "far"))


def layers_of(case: str, seed: int) -> tuple[str, ...]:
    """The kinds of the first Gram at both ε."""
    return tuple(f"{kind}, ε = {epsilon}" for kind in first_grams(case, seed) for epsilon in (0.1, 0.9))


def not_yet_collapsed(case: str, seed: int) -> tuple[str, ...]:
    """The kinds of the first Gram that do not collapse in one layer."""
    return tuple(kind for kind in first_grams(case, seed) if not kind.startswith("multiple"))


CLOSE_TO_THE_LIMIT = tuple(
    f"{size}, λ_Φ close to n/(C(1−ε))" for size in ("n = 2", "n = 6", "n = 20", "n = 5, ten classes")
)
GRIDS = {
    **{f"thm4_3/{name}": Grid(layers_of=layers_of, x=12) for name in ("ratio", "floor", "remainder", "exact")},
    **{f"thm4_3/{name}": Grid(layers_of=layers_of, x=FRACTIONS) for name in ("kappa", "collapsed", "psi")},
    "thm4_3/first rate": Grid(layers_of=not_yet_collapsed, x=6),
    **limits.grids(not_yet_collapsed),
}
DRAWN = {
    f"thm4_3/{quantity}": Drawn(
        1, "At some λ_k the printed κ is not above 0, or the proof's constants are not defined."
    )
    for quantity in ("collapsed", "exact", "floor", "psi", "ratio", "remainder")
}
CONTROLS = {
    "condition violated": Control(
        text="λ_k is five times λ_Φ, more than the theorem's condition allows.",
        has=tuple(f"thm4_3/{name}" for name in ("collapsed", "exact", "floor", "kappa", "psi", "ratio", "remainder")),
        parts=("case", "layer"),
        lacks=CLOSE_TO_THE_LIMIT,
        ignored_in_layers=", ε = .*",
        grids={
            "thm4_3/kappa": Grid(layers_of=first_grams, x=1),
            **{f"thm4_3/{name}": Grid(layers_of=first_grams, steps=12, x=1) for name in ("collapsed", "psi")},
        },
        parts_because="It violates the condition that contains ε, and so has an ε of its own. Its x is λ_k/λ_Φ = 5, "
        "and its steps are ever smaller λ_Φ. So it has no λ_Φ close to the limit of the condition.",
    ),
    "no nonlinearity": Control(
        text="The feature map has no nonlinear part: no layer adds λ_Φ I to its Gram matrix.",
        has=("thm4_3/exact", "thm4_3/first rate", "thm4_3/floor", "thm4_3/ratio", "thm4_3/remainder"),
    ),
    **limits.CONTROLS,
}
STATEMENTS = (
    Statement(
        name="inequality",
        quote="provided λ_k ≤ (Cλ_Φ/(2(1 + λ_Φ⁻¹)n))(1 − ε), and for all layers l ∈ {2, ..., L} of Deep RFM, "
        "‖X̃_{l+1}ᵀX̃_{l+1} − yyᵀ‖ ≤ (1 − ε)‖X̃_lᵀX̃_l − yyᵀ‖ + O(λ_k²λ_Φ⁻²).",
        place="Theorem 4.3",
        rule=inequality,
        reads=("thm4_3/ratio", "thm4_3/floor"),
        printed=f"d_{{l+1}} ≤ (1−ε)d_l + {PRINTED_REMAINDER}, {PRINTED_KAPPA}",
        derived=f"d_{{l+1}} ≤ (1−ε)d_l + {REMAINDER}, {KAPPA}",
        cases=12,
    ),
    Statement(
        name="order of the remainder",
        quote="this theorem immediately implies exponential convergence to NC1 and NC2 up to error O(Lλ_k²λ_Φ⁻²), "
        "a small value determined by the parameters of the problem.",
        place="after Theorem 4.3",
        rule=slope,
        reads=("thm4_3/remainder",),
        printed=PRINTED_REMAINDER,
        derived=REMAINDER,
        cases=12,
    ),
    Statement(
        name="fixed point",
        quote="leading to further convergence to the collapsed data Gram matrix, a fixed point of the Deep RFM "
        "iteration",
        place="after Theorem 4.3",
        rule=partial(within_its_bound, name="the ratio of successive distances"),
        reads=("thm4_3/exact",),
        printed=f"yyᵀ is the fixed point, {PRINTED_KAPPA}",
        derived="yyᵀ is the fixed point, κ = (1+λ_k/(λ_Φ+n))⁻²",
        cases=12,
    ),
    Statement(
        name="between the limits",
        quote="Between these limits, larger λ_k delays collapse across layers of Deep RFM, while larger λ_Φ "
        "accelerates collapse.",
        place="Section 4",
        rule=between_the_limits,
        reads=("thm4_3/first rate",),
        printed="the rate of a layer rises with λ_k and falls with λ_Φ",
        cases=12,
    ),
    *limits.STATEMENTS,
    Statement(
        name="proof: κ",
        quote="Therefore, where κ = 1 − 2λ_k(1 + λ_Φ⁻¹) > 1/2 by choice of λ_k·2λ_Φ⁻¹(1 + λ_Φ⁻¹)n < 1 − ε",
        place="Appendix B.1",
        rule=partial(within_its_bound, name="1 − κ"),
        reads=("thm4_3/kappa",),
        printed="κ > 1/2 by choice of λ_k",
        derived=f"κ > 1/2 by {CONDITION}, with {KAPPA}",
        cases=16,
    ),
    Statement(
        name="proof: partial collapse",
        quote="It remains to show that partial collapse, ε_A λ_Φ⁻¹ < 1/2, happens in the first iteration.",
        place="Appendix B.1",
        rule=partial(for_some_constant, name="ε_A / λ_Φ"),
        reads=("thm4_3/collapsed", "thm4_3/kappa"),
        printed="ε_A/λ_Φ < 1/2 after the first layer, for some universal constant",
        derived=f"ε_A/λ_Φ < 1/2 after the first layer, by {CONDITION_OF_COLLAPSE}, with {KAPPA}",
        cases=16,
    ),
    Statement(
        name="proof: norm of Ψ̃",
        quote="Assuming partial collapse has already occurred, i.e.,",
        place="Appendix B.1",
        rule=partial(within_its_bound, name="‖Ψ̃‖"),
        reads=("thm4_3/psi",),
        printed="‖Ψ̃‖ ≤ 2",
        cases=16,
    ),
)

ARMS = {
    "claim": ("printed κ", style.PRINTED, "s"),
    "corrected": (KAPPA, style.CLAIM, style.MARKS["claim"]),
    "control: no nonlinearity": ("control: λ_Φ = 0", style.CONTROL, style.MARKS["control"]),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the distance by layer, the remainder against lambda_k, and the rate against lambda_k / lambda_Phi."""
    figure, ((distance, remainder, rate),) = style.panels(claim, columns=3, height=3.8)
    _draw_distance(distance, rows[rows["quantity"] == "thm4_3/course"])
    shown = rows[(rows["layer"] == "random 0, ε = 0.1") & ~rows["case"].str.endswith("= 0.1") & (rows["value"] > 0)]
    _draw_remainder(remainder, shown[shown["quantity"] == "thm4_3/remainder"])
    _draw_rate(rate, shown[shown["quantity"] == "thm4_3/rate"])
    style.legend(figure, [distance], 3)
    return figure


def _draw_distance(axes: Axes, rows: pd.DataFrame) -> None:
    lines = dict(zip(sorted(rows["case"].unique()), (":", "-"), strict=True))
    for arm, (label, color, mark) in ARMS.items():
        for case, dashes in lines.items():
            line = rows[(rows["arm"] == arm) & (rows["case"] == case)].sort_values("x")
            axes.plot(line["x"], line["value"], color=color, linestyle=dashes, marker=mark, markevery=4,
                      markersize=3, linewidth=1, label=label if dashes == "-" else "_")  # fmt: skip
    for case, dashes in lines.items():
        axes.plot([], [], color=style.GUIDE, linestyle=dashes, label=case)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(yscale="log", xlabel="layer l", ylabel="‖G_l − yyᵀ‖ / n", title="n = 20, λ_Φ = 1", ylim=(1e-10, 3))


def _draw_remainder(axes: Axes, rows: pd.DataFrame) -> None:
    for arm, (_, color, _) in ARMS.items():
        for _, case_rows in rows[rows["arm"] == arm].groupby("case"):
            line = case_rows.groupby("x")["value"].mean()
            axes.plot(line.index, line, color=color, linewidth=0.8)
    # named where no other line passes: above the end of the upper, beside the start of the lower
    for slope, height, at, offset, side in ((1, 30.0, 1.0, (-14, 0), "right"), (2, 0.1, 1e-5, (10, -2), "left")):
        x = np.array([1e-5, 1.0])
        axes.plot(x, height * x**slope, color=style.GUIDE, linestyle="--", linewidth=1.2)
        axes.annotate(f"slope {slope}", (at, height * at**slope), offset, textcoords="offset points", ha=side,
                      va="center", fontsize=style.SMALL, color=style.GUIDE)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="λ_k", ylabel="max of d_l₊₁ − (1−ε) d_l over l",
             title="remainder, ε = 0.1")  # fmt: skip


def _draw_rate(axes: Axes, rows: pd.DataFrame) -> None:
    slowest = rows.groupby(["case", "x"], as_index=False)["value"].max()
    axes.plot(slowest["x"], slowest["value"], ".", color=style.CLAIM, markersize=3, markevery=2)
    limits = np.array([slowest["x"].min(), slowest["x"].max()])
    axes.plot(limits, limits, color=style.GUIDE, linestyle="--", linewidth=1.2)
    axes.text(0.04, 0.94, "dashed: λ_k / λ_Φ", transform=axes.transAxes, fontsize=style.SMALL, color=style.GUIDE)
    axes.set(xscale="log", yscale="log", xlabel="λ_k / λ_Φ", ylabel="d_l₊₁ / d_l", title="rate, any n")
