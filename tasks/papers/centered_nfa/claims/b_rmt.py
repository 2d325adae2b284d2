"""The numerator and both denominators of the centered NFA's ratio factor into moments of data and of weights.

Every printed equation is judged by itself. (10), (16)-(19), (21), (23)-(27) are identities of any matrices, to
round-off. (6), (20), (22), (28) hold for a sampled network with its own moments of R, as sums and word by word, up to a
relative error that falls with the size. So do the prediction of the ratio (10) from the limit of R's moments, and (11).
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, equivalent, every, exact, rate

ID = "B.rmt"
KIND = "statistical"
TITLE = "The random-matrix prediction of the centered NFA, term by term"
PRINTED = "(6), (10), (11), (16)–(28), Section 3.2 and Appendix E"
CORRECTION = (
    "(10): its denominator's roots have exponent +1/2, as in (4), not −1/2. (19): the last term has tr[R³], "
    "not tr[R]³. (28): the last term is tr[Ā²] tr[B]² tr[R²]², not tr[Ā]² tr[B²] tr[R²]², which is 0."
)
_NUMERATOR, _NFM, _AGOP = "tr(XᵀY𝒦YX XᵀY𝒦²YX)", "tr((XᵀY𝒦YX)²)", "tr((XᵀY𝒦²YX)²)"
FORMS = {  # as printed, and as derived where that differs; Ā = A − tr[A], B̄ = B − tr[B]
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
    "(24)": ("(23) with the first A taken apart",),
    "(25)": ("(24) with the first B taken apart",),
    "(26)": ("(25) with the next A taken apart",),
    "(27)": ("(26) with the last B taken apart: nine terms",),
    "(28)": (
        "(23) in moments: seven terms and tr[Ā]² tr[B²] tr[R²]², which is 0",
        "the seven terms and tr[Ā²] tr[B]² tr[R²]²",
    ),
}
EXACT = ("(10)", "(16)", "(17)", "(18)", "(19)", "(21)", "(23)", "(24)", "(25)", "(26)", "(27)")
FREE = ("(6)", "(20)", "(22)", "(28)")
FALLING = ("(10), predicted", "(11)")
QUANTITIES = (
    *(f"rmt/{equation}" for equation in (*EXACT, *FREE, *FALLING)), *(f"rmt/{equation}, terms" for equation in FREE[1:])
)  # fmt: skip
# margins of mean errors at the largest size: of traces, of correlations, and of a single word's trace, which a wrong
# term misses by its half or more
RELATIVE, ABSOLUTE, WORD = 0.05, 0.03, 0.2


def rule(rows: Rows) -> Finding:
    """Each equation of which there are rows: exact, or with an error that falls and has the mean 0 in the end."""
    parts: dict[str, Finding] = {}
    for equation in (*EXACT, *FREE, *FALLING):
        of = rows.where(quantity=f"rmt/{equation}")
        if not len(of):
            continue  # a control touches some of them
        if equation in EXACT:
            parts[equation] = exact(of)
            continue
        margin, what = (RELATIVE, "relative error") if equation in FREE else (ABSOLUTE, "difference of correlations")
        own = {"falls": falls(of), "limit": limit(of, margin, what)}
        if len(words := rows.where(quantity=f"rmt/{equation}, terms")):
            each = {word: limit(one, WORD, "relative error") for (word,), one in words.by("layer").items()}
            own["terms"] = every(**each)
        parts[equation] = every(**own)
    found = every(**parts)
    off = {f"({equation}": parts[f"({equation}"] for equation in ("20)", "22)", "28)", "10), predicted")
           if f"({equation}" in parts}  # fmt: skip
    if not off:
        return found
    said = ", ".join(f"{name} {one.parts['limit'].statistic:+.3f}" for name, one in off.items())
    # most parts are exact; what the claim is about is not
    return replace(found, evidence="direction", measured=f"mean error at the largest size: {said}")


def limit(rows: Rows, margin: float, what: str) -> Finding:
    """At the largest size the mean over seeds, each its cases' mean, is 0."""
    last = rows.where(x=rows.x.max())
    means = np.array([one.value.mean() for one in last.by("seed").values()])
    return equivalent(means, margin, f"the mean {what} at the largest size")


def falls(rows: Rows) -> Finding:
    """The root mean square error's slope in the size is negative; also by how much, for the report."""
    found = rate(rows, -1)
    low, high = found.low or 0.0, found.high or 0.0
    holds = True if high < 0 else (False if low > 0 else None)
    return replace(found, holds=holds, rule="the slope of the root mean square error is negative, jackknife at 95 %")


ARMS = {"claim": ("as printed", style.CONTROL, "X"), "corrected": ("as derived", style.CLAIM, "o")}
ROUND_OFF = 2.0**-53


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Left, an equation a line; right, the root mean square error over seeds and cases against the size."""
    about = claim
    figure, grid = style.panels(claim, columns=2, height=4.6, width=7.6)
    left, right = grid[0]
    equations = (*about.EXACT, *about.FREE, *about.FALLING)
    _lines(left, rows, equations, about.EXACT)
    controls = style.controls(rows)
    colors = dict(zip((*about.FREE, *about.FALLING), sns.color_palette("dark", 6), strict=True))
    for equation in (*about.FREE, *about.FALLING):
        found = rows[rows["quantity"] == f"rmt/{equation}"]
        for arm, dashes in (("corrected", "-"), ("claim", ":"), *((arm, "") for arm in controls)):
            one = found[(found["arm"] == arm) & (found["x"] > 0)]
            if one.empty:
                continue
            size = one.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            if dashes:
                label = equation if dashes == "-" else "_"
                right.plot(size.index, size, color=colors[equation], linestyle=dashes, label=label)
            else:
                label = "_" if arm in right.get_legend_handles_labels()[1] else arm
                mark = "X" if arm == controls[0] else "P"
                right.plot(size.index, size, color=style.CONTROL, marker=mark, markersize=4, lw=0.8, label=label)
    sizes = np.array(sorted(rows["x"].unique())[1:])
    right.plot(sizes, 20 / sizes, color=style.GUIDE, linestyle="--", label="slope −1")
    right.set(xscale="log", yscale="log", xlabel="size", ylabel="root mean square error")
    right.set_xticks(sizes, [f"{x:g}" for x in sizes])
    right.minorticks_off()
    lines, names = right.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda at: names[at] in controls)
    figure.legend(
        [lines[at] for at in order],
        [names[at] for at in order],
        fontsize=7,
        ncols=4,
        loc="outside lower left",
        title="solid: as derived, dotted: as printed",
        title_fontsize=7,
    )
    return figure


def _lines(axes: Axes, rows: pd.DataFrame, equations: tuple[str, ...], exact: tuple[str, ...]) -> None:
    for at, equation in enumerate(equations):
        found = rows[rows["quantity"] == f"rmt/{equation}"]
        for arm, (label, color, mark) in ARMS.items():
            one = found[found["arm"] == arm]
            if equation in exact:
                size = one.loc[one["dtype"] == "float64", "value"].max()
            else:
                size = abs(one.loc[one["x"] == one["x"].max(), "value"].mean())
            axes.plot(max(size, ROUND_OFF * 1e-6), at, mark, color=color, alpha=0.8, label=label if not at else "_",
                      markersize=7 if arm == "claim" else 4)  # fmt: skip
    axes.axvline(8 * ROUND_OFF, color=style.GUIDE, linestyle="--", linewidth=1, label="8 u")
    axes.set_yticks(range(len(equations)), equations)
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.4)
    axes.set(
        xscale="log", xlabel="exact: residual over its scale, the largest\nothers: |mean error| at the largest size"
    )
    axes.legend(fontsize=7, loc="lower right", frameon=True)
