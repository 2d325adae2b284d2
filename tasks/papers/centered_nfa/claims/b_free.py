"""Normalized traces of alternating words of two free families, one of them centered, factor as in (12)–(15).

A bar marks a centered matrix: C̄ = C − tr[C], with the normalized trace tr. The paper uses the identities for large
matrices. With independent random eigenvectors the difference of the two sides must fall with the size, and its mean at
the largest size must be 0 within 0.02.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equivalent, rate
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared.limits import falls

ID = "B.free"
KIND = "statistical"
TITLE = "The traces of alternating words of free families factor"
PRINTED = "(12)–(15), Appendix E.1"
MATH = (
    (
        r"\operatorname{tr}[\bar C_1 R_1 \bar C_2 R_2] = \operatorname{tr}[R_1] \operatorname{tr}[R_2] "
        r"\operatorname{tr}[\bar C_1 \bar C_2]"
    ),
    (
        r"\operatorname{tr}[\bar C_1 R_1 \bar C_2 R_2 \bar C_3 R_3] = \operatorname{tr}[R_1] "
        r"\operatorname{tr}[R_2] \operatorname{tr}[R_3] \operatorname{tr}[\bar C_1 \bar C_2 \bar C_3]"
    ),
    r"\text{if } \{ \bar C_i \} \text{ and } \{ R_i \} \text{ are free and } \operatorname{tr}[\bar C_i] = 0",
)
FORMULAS = {
    "(12)": "tr[C̄₁R₁] = 0",
    "(13)": "tr[C̄₁R₁C̄₂R₂] = tr[R₁] tr[R₂] tr[C̄₁C̄₂]",
    "(14)": "tr[C̄₁R₁C̄₂R₂C̄₃R₃] = tr[R₁] tr[R₂] tr[R₃] tr[C̄₁C̄₂C̄₃]",
    "(15)": "tr[C̄₁R₁C̄₂R₂C̄₃R₃C̄₄R₄] = tr[R₁] tr[R₂] tr[R₃] tr[R₄] tr[C̄₁C̄₂C̄₃C̄₄] + tr[R₁] tr[R₃] tr[R̄₂R̄₄] tr[C̄₁C̄₂] "
    "tr[C̄₃C̄₄] + tr[R₂] tr[R₄] tr[R̄₁R̄₃] tr[C̄₂C̄₃] tr[C̄₁C̄₄]",
}
MARGIN = 0.02  # of the mean error at the largest size, on matrices with tr[C²] = tr[R²] = 1


def identity(rows: Rows) -> Finding:
    """The error falls as the matrices grow, and its mean at the largest size is 0."""
    size = rows.x.max()
    falling = falls(rows)
    limit = equivalent(rows.where(x=size).value, MARGIN, "the mean difference of the two sides at the largest size")
    words = f"the difference of the two sides falls as size^{-falling.statistic:.2f} in root mean square"
    measured = f"{words}, and its mean at size {size:g} is {limit.statistic:+.4f}"
    return replace(all_of(falls=falling, limit=limit), measured=measured)


CONTROLS = {
    "R with the eigenvectors of C": Control(
        text="Each matrix R is C + C² up to scale, so that it has the eigenvectors of one of the C."
    ),
}
STATEMENTS = (
    *(
        Statement(
            name=equation,
            quote="Alternating words have the following products:",
            place=f"{equation}, Appendix E.1",
            rule=identity,
            reads=(f"free/{equation}",),
            printed=formula,
            rows=300,
        )
        for equation, formula in FORMULAS.items()
    ),
    *(
        Statement(
            name=f"{equation}, as 1/size",
            quote="be freely independent of each other",
            place=f"{equation}, Appendix E.1",
            rule=partial(rate, power=-1),
            reads=(f"free/{equation}",),
            kind="ours",
            rows=300,
        )
        for equation in FORMULAS
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each identity: the root mean square error, and the 5 % and 95 % quantiles of |error|."""
    figure, grid = style.panels(claim, columns=len(FORMULAS), height=3.1)
    limits = [1e-4, 3 * rows["value"].abs().max()]
    (control,) = style.controls(rows)
    for axes, equation in zip(grid[0], FORMULAS, strict=True):
        for arm, color, marker in (("claim", style.CLAIM, "o"), (control, style.CONTROL, "X")):
            errors = rows[(rows["quantity"] == f"free/{equation}") & (rows["arm"] == arm)]
            low, high = (errors["value"].abs().groupby(errors["x"]).quantile(q) for q in (0.05, 0.95))
            axes.fill_between(low.index, low, high, color=color, alpha=0.15, linewidth=0)
            rmse = errors.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            axes.plot(rmse.index, rmse, color=color, marker=marker, markersize=4, label=arm)
            if arm == "claim":
                guide = rmse.iloc[0] * rmse.index[0] / rmse.index * 2
                axes.plot(rmse.index, guide, color=style.GUIDE, ls="--", label="slope −1")
        axes.set(xscale="log", yscale="log", title=equation, xlabel="size", ylim=limits)
        axes.set_xticks(rmse.index, [f"{x:g}" for x in rmse.index], minor=False)
        axes.minorticks_off()
    grid[0, 0].set_ylabel("|left − right side|")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    style.name_lines(grid[0, 0], [(control.replace(" with", "\nwith"), style.CONTROL)], x=0.03, y=0.97)
    style.name_lines(grid[0, 0], [("claim", style.CLAIM), ("dashed: slope −1", style.GUIDE)], x=0.03)
    style.note(figure, f"root mean square over {rows['seed'].nunique()} seeds; band: 90 % of them")
    return figure
