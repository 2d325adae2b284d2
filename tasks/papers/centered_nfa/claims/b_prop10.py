"""For the quadratic network with a ~ N(0, I), W ~ N(0, I/k) and M = XᵀYX, E[ẆᵀẆ] = M² at every width k.

E[ẆᵀKẆ] is a linear combination of tr(XᵀX) M² and M XᵀX M alone. The paper prints the coefficients 3 and 6 at every
width; we derive 3/k and 1 + 5/k. Both expectations are those with the printed 𝒦, which leaves out the factor 2 of the
square's derivative. Each coefficient is measured; its relative error must be 0 within 0.05.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equivalent
from tasks.judging.statement import Control, Statement

TRACE, PRODUCT = 3, 6  # the printed coefficients of tr(XᵀX) M² and of M XᵀX M
ID = "B.prop10"
KIND = "statistical"
TITLE = "The expected derivatives of the quadratic network"
PRINTED = f"E[ẆᵀKẆ] = {TRACE} tr(XᵀX) M² + {PRODUCT} M XᵀX M, Proposition 10"
MATH = (
    r"\mathbb{E}\left[ \dot W^\top \dot W \right] = M^2, \quad M = X^\top Y X",
    r"\mathbb{E}\left[ \dot W^\top K \dot W \right] = 3 \operatorname{tr}(X^\top X)\, M^2 + 6\, M X^\top X M",
)
MATH_CORRECTED = (
    r"\mathbb{E}\left[ \dot W^\top K \dot W \right] = \frac{3}{k} \operatorname{tr}(X^\top X)\, M^2 + "
    r"\left( 1 + \frac{5}{k} \right) M X^\top X M \quad\text{at width } k"
)
CORRECTS = "a formula"
CORRECTION = (
    "E[ẆᵀKẆ] = (3/k) tr(XᵀX) M² + (1 + 5/k) M XᵀX M. The printed formula is the case k = 1, because the paper's proof "
    "omits the pairs of different hidden units. For f = aᵀ(Wx)² as printed E[ẆᵀẆ] is 4 times and E[ẆᵀKẆ] 16 times as "
    "large, because the printed 𝒦 omits the factor 2 of the square's derivative."
)
MARGIN = 0.05  # of the relative error of each coefficient
COEFFICIENTS = {  # a rest is the coefficient of M, which neither formula has
    "nfm": "coefficient of M²",
    "nfm, rest": "rest of E[ẆᵀẆ]",
    "agop, trace": "coefficient of tr(XᵀX) M²",
    "agop, product": "coefficient of M XᵀX M",
    "agop, rest": "rest of E[ẆᵀKẆ]",
}
Coefficient = Callable[[np.ndarray], np.ndarray]  # of the width
PANELS: dict[str, tuple[str, float, Coefficient]] = {  # title, printed coefficient, derived coefficient
    "nfm": ("E[ẆᵀẆ], of M²", 1, lambda k: 1 + 0 * k),
    "agop, trace": ("E[ẆᵀKẆ], of tr(XᵀX) M²", TRACE, lambda k: 3 / k),
    "agop, product": ("E[ẆᵀKẆ], of M XᵀX M", PRODUCT, lambda k: 1 + 5 / k),
}


def coefficients(rows: Rows, names: tuple[str, ...]) -> Finding:
    """The relative error of each coefficient is 0 within the margin, at every width and on every data set."""
    parts = {}
    for name in names:
        for (case, width), errors in rows.where(quantity=f"prop10/{name}").by("case", "x").items():
            part = f"{COEFFICIENTS[name]}, {case}, width {width:g}"
            parts[part] = equivalent(errors.value, MARGIN, "the relative error")
    worst = max(parts, key=lambda part: abs(parts[part].statistic))
    measured = f"the largest relative error is {parts[worst].statistic:+.3f}, of the {worst}"
    return replace(all_of(**parts), measured=measured)


CONTROLS = {
    "W of unequal columns": Control(
        text="The columns of W have unequal standard deviations, from 0.5 to 2 times the claim's."
    ),
}
STATEMENTS = tuple(
    Statement(
        name=name,
        quote=quote,
        place="Proposition 10, Appendix F",
        rule=partial(coefficients, names=names),
        reads=tuple(f"prop10/{coefficient}" for coefficient in names),
        printed=printed,
        derived=derived,
        cases=2,
        rows=100,
    )
    for name, quote, names, printed, derived in (
        (
            "mean of the NFM's derivative",
            "the expected second derivative of the centered NFM satisfies",
            ("nfm", "nfm, rest"),
            "E[ẆᵀẆ] = M²",
            "",
        ),
        (
            "mean of the AGOP's derivative",
            "For a one hidden layer quadratic network, f(x) = aᵀ(Wx)²",
            ("agop, trace", "agop, product", "agop, rest"),
            f"E[ẆᵀKẆ] = {TRACE} tr(XᵀX) M² + {PRODUCT} M XᵀX M",
            "E[ẆᵀKẆ] = (3/k) tr(XᵀX) M² + (1 + 5/k) M XᵀX M",
        ),
    )
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the Monte Carlo means of the corrected arm and of the control, with Student's intervals over batches."""
    figure, grid = style.panels(claim, columns=3, height=3.2)
    widths = np.array(sorted(rows["x"].unique()))
    (control,) = style.controls(rows)
    fine = np.geomspace(widths[0], widths[-1], 50)
    for axes, (name, (title, printed, derived)) in zip(grid[0], PANELS.items(), strict=True):
        axes.plot(fine, printed + 0 * fine, color=style.PRINTED, linestyle=":", label="as printed")
        axes.plot(fine, derived(fine), color=style.CLAIM, linestyle="-", linewidth=1, label="as derived")
        for arm, color, marker, label in (
            ("corrected", style.CLAIM, "o", "Monte Carlo"),
            (control, style.CONTROL, "X", control),
        ):
            errors = rows[(rows["arm"] == arm) & (rows["quantity"] == f"prop10/{name}")]
            for number, (_, of_data_set) in enumerate(errors.groupby("case")):
                band = style.mean_and_band(of_data_set, "x")
                scale = derived(band["x"])
                mean, half = (1 + band["mean"]) * scale, (band["high"] - band["mean"]) * scale
                axes.errorbar(band["x"], mean, half, fmt=marker, color=color, markersize=4, capsize=2,
                              label="_" if number else label)  # fmt: skip
        axes.set(xscale="log", title=title, xlabel="width k", ylim=(0, None))
        axes.set_xticks(widths, [f"{k:g}" for k in widths])
        axes.minorticks_off()
    grid[0, 0].set_ylabel("coefficient")
    names = [("dotted: as printed", style.PRINTED), ("line: as derived", style.CLAIM), ("● Monte Carlo", style.CLAIM),
             (f"✗ {control}".replace(" of", "\nof"), style.CONTROL)]  # fmt: skip
    style.name_lines(grid[0, 0], names)
    style.note(figure, f"bars: Student's 95 % interval over {rows['seed'].nunique()} batches, of two data sets")
    return figure
