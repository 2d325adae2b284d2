"""The inner product of random ReLU features has a mean in closed form in r = x^T y, and a variance of order 1/D.

x and y are unit vectors, and the entries of the D x d matrix W are N(0, 2/D). The printed mean equals (sqrt(1-r^2) + r
(π - arccos r)) / π and is never below r. So the layer moves points closer together, but the text says that distances
increase. It also says that near points expand more. In the printed form the ratio of the distance after the features to
that before them is above 1 and rises with r; in the derived form it rises, so near points shrink less. The product is
sub-exponential if E Z^p <= p! b^p / 2 for some b and all p, where Z is the product of a single row of W. We take b = 2
(1 + r), and p up to 256. A statement of ours tests NC1 "on average", on random classes. The controls have other
activations than ReLU, a W whose rows are all equal, or classes with points on both sides of the origin.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.monte_carlo import within_standard_errors
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, exact, order, positive
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "D.propA.1"
KIND = "exact"
TITLE = "Inner products after random ReLU features"
PRINTED = "closed form (5); variance ∝ 1/D, Proposition A.1"
MATH = (
    (
        r"\mathbb{E}\left[ \sigma(Wx)^\top \sigma(Wy) \right] = \frac{1}{\pi} \left( (1 - r^2)^{3/2} + r^2 "
        r"\sqrt{1 - r^2} \right) + \frac{r}{2} + \frac{r}{\pi} \arctan\left( \frac{r}{\sqrt{1 - r^2}} "
        r"\right), \quad r = x^\top y"
    ),
    (
        r"\operatorname{Var} \propto \frac{1}{D}, \quad \mathbb{E}\, \| \sigma(Wx) - \sigma(Wy) \|^2 \ge "
        r"\| x - y \|^2"
    ),
)
MATH_CORRECTED = (
    r"\mathbb{E}\left[ \sigma(Wx)^\top \sigma(Wy) \right] \ge x^\top y, \quad\text{so}\quad \mathbb{E}\, "
    r"\| \sigma(Wx) - \sigma(Wy) \|^2 \le \| x - y \|^2"
)
VARIANCE_ORDER = 1  # in 1/D
CORRECTS = "a formula"
CORRECTION = (
    "Distances decrease. The closed form and the variance are as printed, but the text after them concludes that the "
    "distances between data points generally increase, whatever their angle. The mean product is never below r, so "
    "that the squared distance of two unit vectors shrinks on average: it halves at r = −1, and hardly changes for r "
    "near 1. Small distances shrink less than large ones. So, as the paper says, NC1 does not fall."
)


def variance_falls(rows: Rows) -> Finding:
    """The variance of the product is of order 1/D, for every r."""
    return order(rows, VARIANCE_ORDER)


def distances_change(rows: Rows) -> Finding:
    """As printed no distance shrinks, as derived none grows: a ratio of squared distances is at most 1 for every r."""
    finding = bound(rows)
    grows = "corrected" not in str(rows.arm[0])  # the rule as printed: its ratio is the distance before over that after
    factor = f"as little as {1 / finding.statistic:.3g}" if grows else f"at most {finding.statistic:.3g}"
    measured = f"the squared distance after the features is {factor} times that before them"
    return replace(finding, measured=measured)


def near_points_expand_more(rows: Rows) -> Finding:
    """From every r to the next the squared distance after the features, over that before them, rises.

    As printed distances expand, so that every ratio must also be above 1. As derived all distances shrink, and those of
    near points less. The paper speaks of an order, and names no amount. A rise has to be above round-off.
    """
    by_r = np.argsort(rows.x)
    printed = "corrected" not in str(rows.arm[0])  # the ratio is then the distance before over that after
    expansion = (1 / rows.value if printed else rows.value)[by_r]
    worst = float((expansion[:-1] / expansion[1:]).max())
    rule = "from every r to the next the ratio of squared distances rises"
    if printed:
        worst, rule = max(worst, float(1 / expansion.min())), f"every distance expands, and {rule}"
    factors = f"{expansion[0]:.3g} to {expansion[-1]:.5g} times"
    measured = f"the squared distance after the features is {factors} that before them"
    rule = f"{rule}: ratio <= 1 - {ROUND_OFF:g}"
    return Finding(worst <= 1 - ROUND_OFF, worst, rule, "bound", high=1 - ROUND_OFF, measured=measured)


def sub_exponential(rows: Rows) -> Finding:
    """The moments of the product of one row of W are at most p! b^p / 2, with b = 2 (1 + r), for every r and p.

    This is Bernstein's condition, which a variable meets for some b if and only if it is sub-exponential. The mean of D
    such variables meets it too. The paper prints no constant; this b follows from the product's size in the plane.
    """
    finding = bound(rows)
    largest = int(rows.x.max())
    measured = f"(2 E Z^p / p!)^(1/p) reaches {finding.statistic:.4g} times 2(1 + r), with p up to {largest}"
    return replace(finding, measured=measured)


def nc1_does_not_fall(rows: Rows) -> Finding:
    """NC1 of the features is above that of the points, in the mean over data sets of its relative change.

    The change is (after - before) / (after + before), so that each data set counts alike. The paper says "increase or
    stay constant": a fall refutes it. "Marginally" names no amount, so no rule tests it.
    """
    parts, texts = {}, []
    for case in sorted(set(rows.case.tolist())):
        before, after = (_by_instance(rows.where(case=case, quantity=name)) for name in (NC1_BEFORE, NC1_AFTER))
        label = "NC1 after the features minus NC1 before them, over their sum"
        parts[case] = positive((after - before) / (after + before), label, units="data sets")
        change = float(np.exp(np.log(after / before).mean()))
        texts.append(f"{case}: NC1 after the features is {change:.3g} times that before (geometric mean)")
    return replace(all_of(**parts), measured="; ".join(texts))


def _by_instance(rows: Rows) -> np.ndarray:
    return rows.value[np.argsort(rows.seed)]


NC1_BEFORE, NC1_AFTER = "propA1/nc1 before", "propA1/nc1 after"
ROUND_OFF = 1e-9  # of a ratio of distances
INNER_PRODUCTS = (-1.0, -0.999, -0.7, -0.2, 0.0, 0.3, 0.8, 0.99, 0.9999, 1.0)  # r
SCALES = tuple(2.0**-power for power in range(3, 11))  # one over the root of the width, in x
GRIDS = {
    "propA1/residual": Grid(BOTH_PRECISIONS, x=INNER_PRODUCTS),
    "propA1/distance": Grid(x=INNER_PRODUCTS[:-1]),
    "propA1/away": Grid(x=SCALES),
    "propA1/moment": Grid(x=tuple(2.0**power for power in range(9))),
    "propA1/remainder": Grid(x=SCALES),
}
DRAWN = {
    f"propA1/{quantity}": Drawn(0, "It is an average over the instances, or a quadrature, which draws nothing.")
    for quantity in ("away", "distance", "moment", "remainder", "residual")
}
CONTROLS = {
    "absolute value": Control(
        text="The activation is the absolute value, divided by √2, instead of the ReLU.", has=("propA1/distance",)
    ),
    "all rows of W equal": Control(
        text="All rows of W are the same random row instead of independent ones.",
        has=("propA1/away", "propA1/remainder"),
    ),
    "classes on both sides of the origin": Control(
        text="Each point changes its sign with probability 1/2, so that a class lies on both sides of the origin.",
        has=(NC1_BEFORE, NC1_AFTER),
    ),
    "identity": Control(text="The activation is the identity instead of the ReLU.", has=("propA1/residual",)),
    "linear features": Control(
        text="The activation is the identity, divided by √2, instead of the ReLU.", has=("propA1/distance",)
    ),
    "leaky ReLU": Control(
        text="The activation is a leaky ReLU, with the slope 1/5 below 0, instead of the ReLU.",
        has=("propA1/away", "propA1/remainder", "propA1/residual"),
    ),
    "sign, corrected": Control(
        text="The activation is the sign, divided by √2, instead of the ReLU.", has=("propA1/distance",)
    ),
    "squared ReLU": Control(
        text="The activation is the square of the ReLU, divided by √3, instead of the ReLU.", has=("propA1/moment",)
    ),
    "tanh": Control(text="The activation is tanh instead of the ReLU.", has=("propA1/residual",)),
}
STATEMENTS = (
    Statement(
        name="closed form, by quadrature",
        quote="Let x, y ∈ ℝ^d be two fixed vectors of unit length. Let W ∈ ℝ^{D×d} be a weight matrix "
        "whose entries are initialized i.i.d. from 𝒩(0, 2/D). Assume xᵀy = r.",
        place="Proposition A.1",
        rule=exact,
        reads=("propA1/residual",),
        printed="(1−r²)^(3/2)/π + r²√(1−r²)/π + r/2 + (r/π) arctan(r/√(1−r²))",
        cases=10,
        forms=("claim",),
    ),
    Statement(
        name="closed form, by random W",
        quote="be a weight matrix whose entries are initialized i.i.d. from 𝒩(0, 2/D).",
        place="Proposition A.1",
        rule=within_standard_errors,
        reads=("propA1/away",),
        printed="the same, equation (5)",
        cases=8,
        forms=("claim",),
    ),
    Statement(
        name="variance",
        quote="Moreover, the variance of this dot product scales with 1/D",
        place="Proposition A.1",
        rule=variance_falls,
        reads=("propA1/remainder",),
        printed="∝ 1/D",
        cases=8,
        forms=("claim",),
    ),
    Statement(
        name="distances",
        quote="This means that the distances between data points generally increase, but not drastically. They "
        "increase irrespective of the angle between data points",
        place="Appendix A",
        rule=distances_change,
        reads=("propA1/distance",),
        printed="distances increase",
        derived="distances decrease",
        cases=9,
    ),
    Statement(
        name="near points expand more",
        quote="however they tend to expand relatively more, if the data points are already aligned.",
        place="Appendix A",
        rule=near_points_expand_more,
        reads=("propA1/distance",),
        printed="distances grow by a ratio that rises with r",
        derived="distances shrink by a ratio that rises with r: near points shrink less",
        cases=9,
    ),
    Statement(
        name="sub-exponential",
        quote="and the product is sub-exponential, making it well-concentrated.",
        place="Proposition A.1",
        rule=sub_exponential,
        reads=("propA1/moment",),
        printed="sub-exponential",
        cases=9,
        forms=("claim",),
    ),
    Statement(  # ours, since the paper does not say over which data the average is
        name="NC1 does not fall on average",
        quote="Therefore, the DNC1 metric should on average marginally increase or stay constant.",
        place="Appendix A",
        rule=nc1_does_not_fall,
        reads=(NC1_BEFORE, NC1_AFTER),
        kind="ours",
        printed="NC1 increases or stays",
        cases=2,
        forms=("claim",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the closed form with the quadrature's values beside r itself, and the variance against D."""
    figure, grid = style.panels(claim, columns=2, height=3.9)
    mean_axes, variance_axes = grid[0]
    r = np.linspace(-1, 1, 201)
    closed_form = (np.sqrt(1 - r**2) + r * (np.pi - np.arccos(r))) / np.pi
    mean_axes.plot(r, closed_form, color=style.PRINTED, linewidth=1, label="as printed, (5)")
    mean_axes.plot(
        r, r, color=style.GUIDE, linestyle=":", linewidth=1.2, label="r: unchanged; above it, closer together"
    )
    mean = rows[rows["quantity"] == "propA1/mean"]
    mean_axes.plot(mean["x"], mean["value"], style.MARKS["claim"], color=style.CLAIM, markersize=4.5,
                   label="quadrature")  # fmt: skip
    mean_axes.set(xticks=np.linspace(-1, 1, 5), xlabel="r = xᵀy", ylabel="E σ(Wx)ᵀσ(Wy)")

    variance = rows[rows["quantity"] == "propA1/remainder"]
    equal_rows = "control: all rows of W equal"
    for arm, color, mark, label in (
        (equal_rows, style.CONTROL, style.MARKS["control"], equal_rows),
        ("claim", style.CLAIM, style.MARKS["claim"], "ReLU, one line a value of r"),
    ):
        for _, line in variance[variance["arm"] == arm].groupby("case"):
            line = line.sort_values("x")
            variance_axes.plot(1 / line["x"], line["value"], marker=mark, markersize=3, color=color, linewidth=0.8,
                               label=label)  # fmt: skip
            label = "_"
    features = np.array([8.0, 1024.0])
    variance_axes.plot(features, 0.02 * 8 / features, color=style.GUIDE, linestyle="--", linewidth=1.2,
                       label="slope −1")  # fmt: skip
    variance_axes.set(xscale="log", yscale="log", xlabel="number of features D", ylabel="variance of σ(Wx)ᵀσ(Wy)")
    names = [("line: as printed, (5)", style.PRINTED), ("● quadrature", style.CLAIM),
             ("dotted: r, unchanged;\nabove it, closer together", style.GUIDE)]  # fmt: skip
    style.name_lines(mean_axes, names, x=0.03, y=0.96)
    low, high = variance_axes.get_ylim()
    variance_axes.set_ylim(low / 10, high * 10)
    style.name_lines(variance_axes, [(equal_rows, style.CONTROL)], y=0.98)
    style.name_lines(variance_axes, [("ReLU, one line a value of r", style.CLAIM), ("dashed: slope −1", style.GUIDE)],
                     x=0.03)  # fmt: skip
    return figure
