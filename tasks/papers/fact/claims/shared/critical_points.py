"""C.thm3.1, C.thmA.1, C.rem3.3: the errors of FACT's identities near a critical point, as rule and figure."""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, below, order

END = 1e-9  # largest error at the critical point, relative to ||W^T W||
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


def convergence(rows: Rows, quantities: dict[str, str]) -> dict[str, Finding]:
    """Each error, a quantity by name, is proportional to the gradient's norm (slope 1) and ends at most at END."""
    parts: dict[str, Finding] = {}
    for name, quantity in quantities.items():
        errors = rows.where(quantity=quantity)
        parts |= {f"slope of {name}": order(errors, 1), f"end of {name}": below(errors, END)}
    return parts


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw each error against the gradient's norm with slope 1: a line for each of five cases, its worst layer."""
    quantities = [name for name in claim.QUANTITIES if name.endswith("/error")]
    rows = rows[rows["quantity"].isin(quantities) & (rows["value"] > 0) & (rows["x"] > 0)]
    worst = rows.groupby(["quantity", "arm", "case", "x"], as_index=False)["value"].max()
    figure, grid = style.panels(claim, columns=len(quantities), height=3.6, width=max(7.0, 3.1 * len(quantities)))
    for axes, quantity in zip(grid[0], quantities, strict=True):
        _panel(axes, worst[worst["quantity"] == quantity])
        axes.set(xscale="log", yscale="log", ylabel=LABELS[quantity], xlabel="‖∇(L + λ‖θ‖²/2)‖ / (λ‖θ‖)")
        axes.yaxis.label.set_size(8)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for arm in [*style.controls(rows), "claim"]:
        color = style.CLAIM if arm == "claim" else style.CONTROL
        label = arm
        for _, line in list(rows[rows["arm"] == arm].groupby("case"))[:DRAWN]:
            line = line if arm == "claim" else line[::2]
            axes.plot(line["x"], line["value"], color=color, linewidth=0.9, alpha=0.7, label=label,
                      linestyle=DASHES.get(arm, "--"))  # fmt: skip
            label = "_"
    claim_rows = rows[rows["arm"] == "claim"]
    middle = float(np.exp(np.log(claim_rows["value"] / claim_rows["x"]).median()))
    x = np.array([claim_rows["x"].min(), claim_rows["x"].max()])
    axes.plot(x, middle * x, color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 1")
