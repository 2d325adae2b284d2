"""C.thm3.1, C.thmA.1, C.rem3.3: the errors of FACT's identities near a critical point, as rule and figure."""

import textwrap
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, below, order
from tasks.judging.statement import Control, Hypothesis, quantities

END = 1e-9  # largest error at the critical point, relative to ||W^T W||; and largest gradient, to lambda ||theta||
LABELS = {
    "fact/error": "‖WᵀW − FACT‖ / ‖WᵀW‖",
    "fact/transposed/error": "‖WᵀW − FACTᵀ‖ / ‖WᵀW‖",
    "fact/root/error": "‖WᵀW − √(FACT FACTᵀ)‖ / ‖WᵀW‖",
    "fact/cone/error": "FACT to nearest psd matrix / ‖WᵀW‖",
    "back_fact/error": "‖WWᵀ − bFACT‖ / ‖WWᵀ‖",
    "back_fact/root/error": "‖WWᵀ − √(bFACT bFACTᵀ)‖ / ‖WWᵀ‖",
}
DRAWN = 5  # cases of each arm
DASHES = {"claim": "-", "control: lambda doubled": ":"}


def vanishes(errors: Rows) -> Finding:
    """The error is proportional to the gradient's norm (slope 1) and at most END at the critical point."""
    slope, end = order(errors, 1), below(errors, END, "error", x="gradient")
    law = f"falls like the gradient to the power {slope.statistic:.2f}"
    measured = f"the error {law}, and at critical points it is at most {end.statistic:.1g}"
    return replace(all_of(slope=slope, end=end), measured=measured)


def _arrives(errors: Rows) -> Finding:
    """Every ray ends where the gradient is at most END of lambda ||theta||."""
    largest = max(float(ray.x.min()) for ray in errors.by("case", "layer").values())
    rule = f"||gradient of L_lambda|| / (lambda ||theta||) at most {END:g} at every critical point"
    return Finding(largest <= END, largest, rule, "exact", high=END)


def critical_point(error: str) -> tuple[Hypothesis, ...]:
    """The theorem's premise, at the ends of the rays on which this error is measured."""
    text = "Newton's method arrives at a critical point: ||gradient of L_lambda|| / (lambda ||theta||) is at most 1e-9."
    return (Hypothesis("critical point", text, _arrives, (error,)),)


def controls(matrix: str) -> dict[str, Control]:
    """The two controls of an identity of ``matrix``, FACT or bFACT."""
    return {
        "a point that is not critical": Control(
            text="The errors are measured towards a point from early in the optimisation, not towards a critical point."
        ),
        "lambda doubled": Control(
            text=f"{matrix} is computed with twice the λ of the loss whose critical point is approached."
        ),
    }


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw each error against the gradient's norm with slope 1: a line for each of five cases, its worst layer."""
    names = [name for name in quantities(claim) if name.endswith("/error")]
    rows = rows[rows["quantity"].isin(names) & (rows["value"] > 0) & (rows["x"] > 0)]
    worst = rows.groupby(["quantity", "arm", "case", "x"], as_index=False)["value"].max()
    figure, grid = style.panels(claim, columns=len(names), height=3.9)
    for axes, quantity in zip(grid[0], names, strict=True):
        _panel(axes, worst[worst["quantity"] == quantity])
        axes.set(xscale="log", yscale="log", ylabel=LABELS[quantity], xlabel="‖∇(L + λ‖θ‖²/2)‖ / (λ‖θ‖)")
        axes.yaxis.label.set_size(7.5)
    dashes = {arm: "dotted" if DASHES.get(arm) == ":" else "dashed" for arm in style.controls(rows)}
    width = 60 // len(names)  # letters that a panel has room for
    broken = [(textwrap.fill(f"{words}, {arm}", width), style.CONTROL) for arm, words in dashes.items()]
    style.name_lines(grid[0, 0], [*broken, ("claim", style.CLAIM), ("dashed: slope 1", style.GUIDE)])
    style.note(figure, f"a line for each of {DRAWN} cases, its worst layer; marked is its end")
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for arm in ["claim", *style.controls(rows)]:
        control = arm != "claim"
        label = arm
        for _, line in list(rows[rows["arm"] == arm].groupby("case"))[:DRAWN]:
            line = line.sort_values("x")[:: 2 if control else 1]
            axes.plot(line["x"], line["value"], color=style.CONTROL if control else style.CLAIM, linewidth=0.9,
                      alpha=0.7, label=label, linestyle=DASHES.get(arm, "--"), marker=style.MARKS["control"] if control
                      else style.MARKS["claim"], markevery=[0], markersize=4)  # fmt: skip
            label = "_"
    claim_rows = rows[rows["arm"] == "claim"]
    middle = float(np.exp(np.log(claim_rows["value"] / claim_rows["x"]).median()))
    x = np.array([claim_rows["x"].min(), claim_rows["x"].max()])
    axes.plot(x, middle * x, color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 1")
