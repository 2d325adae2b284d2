"""The centered NFM W̄ᵀW̄ and AGOP W̄ᵀKW̄ are 0 at initialization, and so are their first time derivatives.

W̄ = W − W₀ is the change of the weights. The second derivatives are 2ẆᵀẆ and 2ẆᵀKẆ. So along the gradient flow the two
matrices are t² ẆᵀẆ and t² ẆᵀKẆ, up to remainders O(t³); the rule fits this power.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, order
from tasks.judging.statement import Control, Grid, Statement

ID = "B.prop3"
KIND = "exact"
TITLE = "The second derivatives of the centered NFM and AGOP are the first nonzero ones"
PRINTED = "d/dt = 0, d²/dt² = 2ẆᵀẆ and 2ẆᵀKẆ, Proposition 3, (7)–(9)"
MATH = (
    (
        r"\bar W^\top \bar W = t^2\, \dot W^\top \dot W + O(t^3), \quad \bar W^\top K \bar W = t^2\, \dot "
        r"W^\top K \dot W + O(t^3)"
    ),
    r"\bar W = W - W_0",
)
POWER, CONTROL_POWER = 3, 1  # of the time, in the remainders of the claim and of the control
LAYERS = tuple(f"{layer}, {matrix}" for layer in range(3) for matrix in ("AGOP", "NFM"))


def layers_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The hidden layers of a case, with both matrices: one to three layers in turn, by the number in "7: softplus"."""
    number = case.partition(":")[0]
    return LAYERS[: 2 * (1 + int(number) % 3)] if number.isdecimal() else LAYERS


GRIDS = {
    "prop3/remainder": Grid(
        layers=LAYERS,
        layers_of=layers_of,
        x=tuple(2.0**-power for power in range(4, 25)),
    )
}


def cubic_remainder(rows: Rows) -> Finding:
    """The remainders shrink as the third power of the time."""
    finding = order(rows, POWER)
    words = f"the remainders shrink as t^{finding.statistic:.3g}"
    return replace(finding, measured=f"{words}, in the median over networks and layers")


CONTROLS = {
    "uncentered": Control(text="WᵀW and WᵀKW less their initial values take the place of the centered W̄ᵀW̄ and W̄ᵀKW̄."),
}
STATEMENTS = (
    Statement(
        name="second derivatives",
        quote="The first non-zero derivatives of the two quantities in the C-NFA give us the change in the gram matrix "
        "of W, as well as the change in the AGOP for fixed PTK K.",
        place="Proposition 3, and below it",
        rule=cubic_remainder,
        reads=("prop3/remainder",),
        printed="at initialization d/dt = 0 for both, d²/dt²(W̄ᵀW̄) = 2ẆᵀẆ, d²/dt²(W̄ᵀKW̄) = 2ẆᵀKẆ; "
        "equivalently W̄ᵀW̄ = t² ẆᵀẆ + O(t³), W̄ᵀKW̄ = t² ẆᵀKẆ + O(t³)",
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the median and the range of the remainders against time, each divided by its value at the longest time."""
    figure, grid = style.panels(claim, columns=2, height=3.2)
    rows = rows[rows["quantity"] == "prop3/remainder"]
    (control,) = style.controls(rows)
    rows = rows.assign(matrix=rows["layer"].str.split(", ").str[1])
    rows["value"] /= rows.groupby(["arm", "case", "layer"])["value"].transform("max")
    for axes, matrix in zip(grid[0], ("NFM", "AGOP"), strict=True):
        for arm, color, power, dashes in (
            (control, style.CONTROL, CONTROL_POWER, ":"),
            ("claim", style.CLAIM, POWER, "--"),
        ):
            remainders = rows[(rows["arm"] == arm) & (rows["matrix"] == matrix)].groupby("x")["value"]
            times = remainders.median().index
            axes.plot(times, remainders.median(), color=color, label=arm)
            axes.fill_between(times, remainders.min(), remainders.max(), color=color, alpha=0.25, linewidth=0)
            guide = 5 * (times / times[-1]) ** power
            axes.plot(times, guide, color=style.GUIDE, linestyle=dashes, label=f"slope {power}")
        axes.set(xscale="log", yscale="log", title=f"centered {matrix}", xlabel="time / fastest weight's own time")
    grid[0, 0].set_ylabel("remainder / the largest")
    broken = [(control, style.CONTROL), (f"dotted: slope {CONTROL_POWER}", style.GUIDE)]
    style.name_lines(grid[0, 0], broken, x=0.03, y=0.96)
    style.name_lines(grid[0, 0], [("claim", style.CLAIM), (f"dashed: slope {POWER}", style.GUIDE)])
    style.note(figure, "line: median; band: least to largest over networks and hidden layers")
    return figure
