"""C, Table 2 and Figures 3, 8, 9, 10: correlations with the weight's Gram by samples, by layer, and by epoch."""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.papers.fact.claims.shared.rules import HIDDEN

LINES = {
    "fact": ("FACT", style.CLAIM, "-", "o"),
    "symmetric fact": ("√(FACT FACTᵀ)", style.CLAIM, "--", "s"),
    "agop": ("AGOP", style.OTHER, "-", "^"),
    "root agop": ("√AGOP", style.OTHER, "--", "v"),
    "enfa": ("eNFA", "#cc79a7", "-", "D"),
    "root enfa": ("√eNFA", "#cc79a7", "--", "d"),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the table's columns, or the layers after training, or the first three layers along it."""
    if claim.ID.startswith("C.tab2"):
        return _columns(rows, claim)
    return _layers(rows, claim) if claim.ID in ("C.fig3", "C.fig9") else _epochs(rows, claim)


def _layers(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw mean and Student's interval over seeds of each correlation; the control's FACT beside them."""
    back = "back_" if "back_" in claim.QUANTITIES[0] else ""
    rows = rows[(rows["x"] == rows["x"].max()) & rows["layer"].isin(HIDDEN)]
    rows = rows.assign(at=rows["layer"].astype(int) // 2 + 1)
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), height=3.4, width=2 + 5 * len(cases))
    for axes, case in zip(grid[0], cases, strict=True):
        own = rows[rows["case"] == case]
        for name, (label, color, dashes, mark) in LINES.items():
            found = own[(own["quantity"] == f"pearson/{back}{name}") & (own["arm"] == "claim")]
            style.band(axes, found, "at", color, linestyle=dashes, marker=mark, markersize=4,
                       label=f"b{label}" if back and name != "symmetric fact" else label)  # fmt: skip
        for arm in style.controls(own):
            found = own[(own["quantity"] == f"pearson/{back}fact") & (own["arm"] == arm)]
            style.band(axes, found, "at", style.CONTROL, linestyle=":", marker="X", markersize=5, label=f"FACT, {arm}")
        axes.set(xlabel="hidden layer", ylim=(None, 1.02), xticks=sorted(own["at"].unique()), title=case)
    grid[0, 0].set_ylabel(f"Pearson correlation with {'WWᵀ' if back else 'WᵀW'}")
    grid[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    return figure


def _epochs(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw mean and Student's band over seeds of each correlation, and the control's FACT."""
    back = "back_" if "back_" in claim.QUANTITIES[0] else ""
    rows = rows[rows["case"] == "CIFAR-10"]
    figure, grid = style.panels(claim, columns=3, height=3.4, width=8)
    for index, axes in enumerate(grid[0]):
        layer = rows[rows["layer"] == str(2 * index)]
        for name in ("fact", "symmetric fact", "root agop", "root enfa"):
            label, color, dashes, _ = LINES[name]
            found = layer[(layer["quantity"] == f"pearson/{back}{name}") & (layer["arm"] == "claim")]
            style.band(axes, found, "x", color, linestyle=dashes, label=label)
        for arm in style.controls(rows):
            found = layer[(layer["quantity"] == f"pearson/{back}fact") & (layer["arm"] == arm)]
            style.band(axes, found, "x", style.CONTROL, linestyle=":", label=f"FACT, {arm}")
        axes.axhline(0.9, color=style.GUIDE, linewidth=0.7, linestyle="--")
        axes.set(xlabel="epoch", ylim=(-0.3, 1.02), title=f"layer {index + 1}")
    grid[0, 0].set_ylabel(f"Pearson correlation with {'WWᵀ' if back else 'WᵀW'}")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _columns(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw seeds as dots, means as larger ones, the table's numbers as black lines, the control beside them."""
    table = claim.TABLE
    rows = rows[rows["quantity"].isin([f"pearson/{name}" for name in table])]
    cases, arms = sorted(rows["case"].unique()), ["claim", *style.controls(rows)]
    figure, grid = style.panels(claim, columns=len(cases), height=3.6, width=7.6)
    for axes, case in zip(grid[0], cases, strict=True):
        for index, (name, printed) in enumerate(table.items()):
            for shift, arm in zip(np.linspace(-0.15, 0.15, len(arms)), arms, strict=True):
                one = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["quantity"] == f"pearson/{name}")]
                color = style.CLAIM if arm == "claim" else style.CONTROL
                mark = style.MARKS["claim" if arm == "claim" else "control"]
                at = np.full(len(one), index + shift)
                axes.plot(at, one["value"], mark, color=color, markersize=3, alpha=0.5)
                axes.plot(index + shift, one["value"].mean(), mark, color=color, markersize=7,
                          label=arm if index == 0 else "_")  # fmt: skip
            if case in printed:
                axes.hlines(printed[case], index - 0.35, index + 0.35, color=style.PRINTED, linewidth=1,
                            label="Table 2" if index == 0 else "_")  # fmt: skip
        axes.set(xticks=range(len(table)), title=f"n = {case}" if case.endswith("K") else case)
        axes.set_xticklabels([LINES[name][0] for name in table], rotation=20, fontsize=8)
    grid[0, 0].set_ylabel("Pearson correlation with W₁ᵀW₁")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8)
    return figure
