"""The numerator and both denominator terms of the centered NFA factor into moments of the data and of the weights.

Every printed equation is judged separately, with R = Wᵀ diag(a²) W, A = (XᵀYX)², B = XᵀX, Ā = A − tr[A] and B̄ = B −
tr[B]. (16)–(18), (21), (23)–(27) and, as corrected, (10) and (19) hold for any matrices, up to round-off. (6), (20),
(22) and, as corrected, (28) take the moments of a sampled network's own R. Their relative error must fall with the
size, to a mean within ±0.05 at the largest size. (20), (22) and (28) replace traces of words, which are products of R,
Ā and B̄. Each word is tested too: the mean relative error of its trace at the largest size must be within ±0.2. “(10),
predicted” takes the limit of R's moments, and (28) as corrected. For it and for (11) the mean difference of the two
sides at the largest size must be within ±0.03. Self-averaging, that larger networks on one data set differ less, is a
statement of ours.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equivalent, exact, trend
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement
from tasks.papers.centered_nfa.claims.shared.limits import falls

ID = "B.rmt"
KIND = "statistical"
TITLE = "The random-matrix prediction of the centered NFA, term by term"
PRINTED = "(6), (10), (11), (16)–(28), Section 3.2 and Appendix E"
MATH = (
    (
        r"\rho = \frac{\operatorname{tr}\left( M_1 M_2 \right)}{\operatorname{tr}\left( M_1^2 "
        r"\right)^{-1/2} \operatorname{tr}\left( M_2^2 \right)^{-1/2}} \quad (10)"
    ),
    (
        r"\operatorname{tr}\left( M_1 M_2 \right) = \ldots + \operatorname{tr}[A]^2 \operatorname{tr}[B] "
        r"\operatorname{tr}[R]^3 \quad (19), \quad M_1 = X^\top Y \mathcal{K} Y X, \quad M_2 = X^\top Y "
        r"\mathcal{K}^2 Y X"
    ),
    (
        r"\operatorname{tr}\left( M_2^2 \right) = \ldots + \operatorname{tr}[\bar A]^2 "
        r"\operatorname{tr}[B^2] \operatorname{tr}[R^2]^2 \quad (28)"
    ),
)
MATH_CORRECTED = (
    (
        r"\rho = \frac{\operatorname{tr}\left( M_1 M_2 \right)}{\operatorname{tr}\left( M_1^2 "
        r"\right)^{1/2} \operatorname{tr}\left( M_2^2 \right)^{1/2}} \quad (10)"
    ),
    (
        r"\operatorname{tr}\left( M_1 M_2 \right) = \ldots + \operatorname{tr}[A]^2 \operatorname{tr}[B] "
        r"\operatorname{tr}[R^3] \quad (19)"
    ),
    (
        r"\operatorname{tr}\left( M_2^2 \right) = \ldots + \operatorname{tr}[\bar A^2] "
        r"\operatorname{tr}[B]^2 \operatorname{tr}[R^2]^2 \quad (28)"
    ),
)
CORRECTS = "a formula"
CORRECTION = (
    "In (10) both exponents of the denominator are +1/2, as in (4); the paper prints −1/2. In (19) the last term has "
    "tr[R³], as in (20); the paper prints tr[R]³. These two are slips that change no prediction. In (28) the last term "
    "is tr[Ā²] tr[B]² tr[R²]². The printed term tr[Ā]² tr[B²] tr[R²]² is 0, because tr[Ā] = 0."
)
_NUMERATOR, _NFM, _AGOP = "tr(XᵀY𝒦YX XᵀY𝒦²YX)", "tr((XᵀY𝒦YX)²)", "tr((XᵀY𝒦²YX)²)"
FORMULAS = {  # as printed and, where it differs, as derived; Ā = A − tr[A], B̄ = B − tr[B]
    "(6)": ("for XᵀX = 1: tr(A)² tr(R³) + tr(R) tr(R²) tr(Ā²)",),
    "(10)": (
        f"ρ = {_NUMERATOR} / ({_NFM}^−½ {_AGOP}^−½)",
        f"ρ = {_NUMERATOR} / ({_NFM}^½ {_AGOP}^½)",
    ),
    "(10), predicted": (
        "ρ from (20), (22), (28) as printed and the limit of R's moments",
        "the same with (28) as derived",
    ),
    "(11)": ("E[ρ] ≈ E[tr(AᵀB)] / √(E[tr(AᵀA)] E[tr(BᵀB)])",),
    "(16)": ("R = Wᵀ diag(a²) W, A = (XᵀYX)², B = XᵀX: 𝒦 = XRXᵀ",),
    "(17)": (f"{_NUMERATOR} = tr(ARARBR)",),
    "(18)": ("(17) = tr((Ā + tr[A]) R (Ā + tr[A]) R (B̄ + tr[B]) R)",),
    "(19)": (
        "(18) multiplied out: …, last term tr(A)² tr(B) tr(R)³",
        "…, last term tr(A)² tr(B) tr(R³)",
    ),
    "(20)": ("(17) = tr[A]² tr[B] tr(R³) + 2 tr[A] tr[R²] tr[R] tr(ĀB̄) + tr[B] tr[R] tr[R²] tr(Ā²) + tr[R]³ tr(Ā²B̄)",),
    "(21)": (f"{_NFM} = tr(ARAR)",),
    "(22)": ("(21) = tr[A²] tr[R]² + tr[A]² tr(R²) − tr[A]² tr[R]²",),
    "(23)": (f"{_AGOP} = tr(ARBRARBR)",),
    "(24)": ("(23) with the first A = Ā + tr[A]",),
    "(25)": ("(24) with the first B = B̄ + tr[B]",),
    "(26)": ("(25) with the other A = Ā + tr[A]",),
    "(27)": ("(26) with the last B = B̄ + tr[B]: nine terms",),
    "(28)": (
        "(23) in moments: seven terms and tr[Ā]² tr[B²] tr[R²]², which is 0",
        "the seven terms and tr[Ā²] tr[B]² tr[R²]²",
    ),
}
QUOTES = {
    "(6)": "In the simplified case of isotropic data",
    "(10)": "In this case, the NFA has the following form",
    "(10), predicted": "We will compute the expected values of the centered NFA under these assumptions.",
    "(11)": "the expectation commutes with ratio and square root",
    "(16)": "Applying these identities to the one hidden layer quadratic case, we use the following definitions",
    "(17)": "The numerator in Equation (10) is",
    "(18)": "Re-writing A = Ā + tr[A] and B = B̄ + tr[B] we have: tr(XᵀY𝒦YXXᵀY𝒦²YX) = tr((Ā + tr[A])R(Ā + "
    "tr[A])R(B̄ + tr[B])R)",
    "(19)": "This expands to",
    "(20)": "Using the identities we arrive at",
    "(21)": "The first denominator term in Equation (10) is",
    "(22)": "This is a classic free probability product",
    "(23)": "For the second denominator term of Equation (10) we have",
    "(24)": "Expanding the first A we have",
    "(25)": "Next we expand the first B",
    "(26)": "The next A gives us",
    "(27)": "Expanding the final B we have",
    "(28)": "This means we can factor out the non-zero traces of the other terms. Simplifying we have",
}
EXACT = ("(10)", "(16)", "(17)", "(18)", "(19)", "(21)", "(23)", "(24)", "(25)", "(26)", "(27)")
FREE = ("(6)", "(20)", "(22)", "(28)")  # hold for free families
WORD_BY_WORD = FREE[1:]
FALLING = ("(10), predicted", "(11)")  # hold in the limit
EQUATIONS = (*EXACT, *FREE, *FALLING)
# margins of the mean error at the largest size: of traces (relative), of correlations, and of the trace of a single
# word (relative), where a wrong term gives an error of 1/2 or more
TRACE, CORRELATION, WORD = 0.05, 0.03, 0.2
LINES = (style.BLUE, style.SKY, style.GREEN, style.PURPLE, "#8c6d1f")  # of equations that hold in the limit
ARMS = {"claim": ("as printed", style.PRINTED, "s", 6), "corrected": ("as derived", style.CLAIM, "o", 4)}
ROUND_OFF = 2.0**-53


def in_the_limit(rows: Rows, equation: str) -> Finding:
    """The mean error at the largest size is within a margin; for free families the error also falls with the size."""
    if equation in FALLING:
        return _limit(rows, CORRELATION, "difference of the two sides")
    return all_of(falls=falls(rows), limit=_limit(rows, TRACE, "relative error"))


def word_by_word(rows: Rows) -> Finding:
    """For each single word the mean error at the largest size is within a margin."""
    words = rows.by("layer").items()
    return all_of(**{f"word {word}": _limit(of_word, WORD, "relative error") for (word,), of_word in words})


def alike_for_all_networks(rows: Rows) -> Finding:
    """For each kind of data the deviation of ρ between networks on one data set falls with the size, in trend.

    The networks are numbered in the step column. All of a data set have one prediction, so the deviation of the error
    is that of ρ. A control with a single network has none, and neither falls nor rises.
    """
    by_case = {case: _deviations(of_case) for (case,), of_case in rows.by("case").items()}
    finding = all_of(
        **{case: trend(-of_case, "the standard deviation of ρ between networks falls with the size")
           for case, of_case in by_case.items()}
    )  # fmt: skip
    smallest, largest = (np.mean([of_case[:, end] for of_case in by_case.values()]) for end in (0, -1))
    deviations = f"{smallest:.3f} at the smallest size and {largest:.3f} at the largest"
    return replace(finding, measured=f"the standard deviation of ρ between networks is {deviations}")


def _deviations(rows: Rows) -> np.ndarray:
    """The standard deviation of a number between the networks of each data set, (seeds, sizes)."""
    frame = rows.frame.groupby(["seed", "x"])["value"]
    return frame.std(ddof=0).unstack().to_numpy()


def _limit(rows: Rows, margin: float, name: str) -> Finding:
    """The mean error at the largest size is within the margin; a seed's error is averaged over the cases."""
    largest = rows.where(x=rows.x.max())
    means = np.array([of_seed.value.mean() for of_seed in largest.by("seed").values()])
    return equivalent(means, margin, f"the mean {name} at the largest size")


CASES = {"(6)": 2, "(11)": 3, "(10), predicted": 8, "(20)": 6, "(22)": 6, "(28)": 6}  # kinds of random data


def _statement(equation: str) -> Statement:
    printed, *derived = FORMULAS[equation]
    return Statement(
        name=equation,
        quote=QUOTES[equation],
        place="Section 3.2" if equation == "(6)" else "Appendix E",
        rule=exact if equation in EXACT else partial(in_the_limit, equation=equation),
        reads=(f"rmt/{equation}",),
        printed=printed,
        derived="".join(derived),
        cases=5 if equation in EXACT else CASES[equation],
        rows=100,
    )


def _sharper(name: str, equation: str, rule: Callable[[Rows], Finding], quantity: str) -> Statement:
    return Statement(
        name=f"{equation}, {name}",
        quote=QUOTES[equation],
        place="Appendix E",
        rule=rule,
        reads=(quantity,),
        kind="ours",
        cases=CASES[equation],
        rows=100,
    )


GRIDS = {f"rmt/{equation}": Grid(BOTH_PRECISIONS) for equation in EXACT}
CONTROLS = {
    "R has the data's eigenvectors": Control(
        text="R has the eigenvectors of A = (XᵀYX)² and its own eigenvalues.",
        has=("rmt/(10), predicted", "rmt/(20)", "rmt/(22)", "rmt/(28)", "rmt/(6)"),
        parts=("case", "layer"),
        cases=dict.fromkeys(("rmt/(10), predicted", "rmt/(20)", "rmt/(22)", "rmt/(28)"), ("1:1:1, isotropic, normal",)),
        parts_because="Of the random data it has isotropic normal data alone, with one network of each seed.",
    ),
    "R of another network": Control(
        text="The right side of each equation has the R of another network.",
        has=(
            "rmt/(10)",
            "rmt/(16)",
            "rmt/(17)",
            "rmt/(18)",
            "rmt/(19)",
            "rmt/(21)",
            "rmt/(23)",
            "rmt/(24)",
            "rmt/(25)",
            "rmt/(26)",
            "rmt/(27)",
        ),
    ),
    "four hidden units at every size": Control(
        text="Every network has four hidden units, whatever the size.", has=("rmt/(11)",)
    ),
}
STATEMENTS = (
    *(_statement(equation) for equation in EQUATIONS),
    # a wrong small term could go unnoticed in the sums
    *(_sharper("word by word", equation, word_by_word, f"rmt/{equation}, terms") for equation in WORD_BY_WORD),
    *(_sharper("error falls", equation, falls, f"rmt/{equation}") for equation in FALLING),
    Statement(
        name="self-averaging",
        quote="We assume that computing the average of the NFA quantities across initializations is equal to the "
        "quantities themselves in the high-dimensional limit.",
        place="Appendix E, Assumption 7",
        rule=alike_for_all_networks,
        reads=("rmt/(10), predicted",),
        kind="ours",
        cases=CASES["(10), predicted"],
        rows=100,
        forms=("claim",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw, on the left, the error of each equation; on the right, root mean square errors against the size."""
    figure, grid = style.panels(claim, columns=2, height=5.2, width_ratios=(1, 1.1))
    left, right = grid[0]
    _draw_equations(left, rows)
    _draw_sizes(right, rows, style.controls(rows))
    style.legend(figure, [left, right], 3)
    return figure


def _draw_equations(axes: Axes, rows: pd.DataFrame) -> None:
    """A line for each equation, with its error as printed and as derived, and the largest of its controls."""
    for line, equation in enumerate(EQUATIONS):
        errors = rows[rows["quantity"] == f"rmt/{equation}"]
        for arm in [*ARMS, *style.controls(errors)]:
            label, color, marker, size = ARMS.get(arm, ("controls", style.CONTROL, "X", 4))
            of_arm = errors[errors["arm"] == arm]
            if of_arm.empty:
                continue
            if equation in EXACT:
                error = of_arm.loc[of_arm["dtype"] == "float64", "value"].max()
            else:
                error = abs(of_arm.loc[of_arm["x"] == of_arm["x"].max(), "value"].mean())
            axes.plot(max(error, ROUND_OFF * 1e-6), line, marker, color=color, alpha=0.8, markersize=size,
                      fillstyle="none" if arm == "claim" else "full", label=label if line == 0 else "_")  # fmt: skip
    axes.axvline(8 * ROUND_OFF, color=style.GUIDE, linestyle="--", linewidth=1, label="8 u, the limit of exact ones")
    axes.set_yticks(range(len(EQUATIONS)), EQUATIONS)
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.4)
    axes.set(
        xscale="log", xlabel="exact: residual over its scale, the largest\nothers: |mean error| at the largest size"
    )


def _draw_sizes(axes: Axes, rows: pd.DataFrame, controls: list[str]) -> None:
    """Root mean square errors over seeds and cases against the size, of the equations that hold in the limit."""
    markers = dict(zip(controls, ("X", "P", "v"), strict=False))
    equations = (*FREE, *FALLING)
    ends = []
    axes.set(xscale="log", yscale="log", xlabel="size", ylabel="root mean square error")
    for equation, color in zip(equations, (*LINES, "#444444"), strict=True):
        errors = rows[(rows["quantity"] == f"rmt/{equation}") & (rows["x"] > 0)]
        for arm in ("corrected", "claim", *controls):
            of_arm = errors[errors["arm"] == arm]
            if of_arm.empty:
                continue
            rmse = of_arm.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            if arm in controls:
                label = "_" if arm in axes.get_legend_handles_labels()[1] else arm
                axes.plot(rmse.index, rmse, color=style.CONTROL, marker=markers[arm], markersize=4, lw=0.8, label=label)
            else:
                axes.plot(rmse.index, rmse, color=color, linestyle="-" if arm == "corrected" else ":", label="_")
                ends.append((arm, equation, float(rmse.iloc[-1]), color))
    drawn = {equation for arm, equation, *_ in ends if arm == "corrected"}
    sizes = np.array(sorted(rows["x"].unique())[1:])
    axes.plot(sizes, 20 / sizes, color=style.GUIDE, linestyle="--", label="slope −1")
    axes.plot([], [], color=style.GUIDE, linestyle=":", label="an equation as printed")
    axes.set_xticks(sizes, [f"{x:g}" for x in sizes])
    axes.minorticks_off()
    axes.set_ylim(*axes.get_ylim())
    labels = [
        (end, equation, color) for arm, equation, end, color in ends if arm == "corrected" or equation not in drawn
    ]
    style.label_ends(axes, labels, gap=0.045)
