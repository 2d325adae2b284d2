"""Figures of C.tab2, C.fig3, C.fig8, C.fig9 and C.fig10: Pearson correlations with a weight's Gram."""

import re
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.papers.fact.claims.shared.correlation_tables import Table
from tasks.papers.fact.claims.shared.correlations import HIDDEN, HIGH, LABELS, LOW

ROUNDED = 0.9995  # numbers from here on are printed as 1.000; Fisher's z of 1 is infinite
LINES = {  # colour, dashes, marker
    "fact": (style.COLORS["FACT"], "-", "o"),
    "symmetric fact": (style.COLORS["FACT"], "--", "s"),
    "agop": (style.COLORS["AGOP"], "-", "^"),
    "root agop": (style.COLORS["AGOP"], "--", "v"),
    "enfa": (style.COLORS["eNFA"], "-", "D"),
    "root enfa": (style.COLORS["eNFA"], "--", "d"),
}


def _label(name: str, side: str) -> str:
    """The name of a correlated matrix in a figure; of the backward versions with a b before each letter of theirs."""
    label = LABELS[name]
    for forward in ("FACT", "AGOP", "eNFA"):
        label = label.replace(forward, f"b{forward}") if side else label
    return label


def draw_layers(rows: pd.DataFrame, claim: ModuleType, side: str) -> Figure:
    """Draw each correlation by layer after training, with the controls' FACT."""
    rows = rows[(rows["x"] == rows["x"].max()) & rows["layer"].isin(HIDDEN)]
    rows = rows.assign(at=rows["layer"].astype(int) // 2 + 1)
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), height=4.2)
    for axes, case in zip(grid[0], cases, strict=True):
        case_rows = rows[rows["case"] == case]
        for name, (color, dashes, mark) in LINES.items():
            line = case_rows[(case_rows["quantity"] == f"pearson/{side}{name}") & (case_rows["arm"] == "claim")]
            style.seeds(axes, line, "at", color, linestyle=dashes, marker=mark, markersize=4, label=_label(name, side))
        for arm in style.controls(case_rows):
            line = case_rows[(case_rows["quantity"] == f"pearson/{side}fact") & (case_rows["arm"] == arm)]
            style.seeds(axes, line, "at", style.CONTROL, linestyle=":", marker="X", markersize=5,
                        label=f"{_label('fact', side)}, {arm}")  # fmt: skip
        axes.set(xlabel="hidden layer", xticks=sorted(case_rows["at"].unique()), title=case)
        style.enlarge_near_one(axes)
    grid[0, 0].set_ylabel(f"Pearson correlation with {'WWᵀ' if side else 'WᵀW'}")
    style.label_lines(grid[0, -1], gap=0.045)
    style.note(figure, style.meaning_of_lines(rows))
    return figure


def draw_epochs(rows: pd.DataFrame, claim: ModuleType, side: str) -> Figure:
    """Draw the correlations of the first three layers by epoch, and below them those of the controls' FACT."""
    rows = rows[rows["case"] != "MNIST"]
    figure, grid = style.panels(claim, columns=3, rows=2, height=5.4, sharex=True, sharey="row")
    for index, (axes, below) in enumerate(grid.T):
        layer = rows[rows["layer"] == str(2 * index)]
        for name in ("fact", "symmetric fact", "root agop", "root enfa"):
            color, dashes, _ = LINES[name]
            line = layer[(layer["quantity"] == f"pearson/{side}{name}") & (layer["arm"] == "claim")]
            style.seeds(axes, line, "x", color, linestyle=dashes, label=_label(name, side))
        for arm, dashes in zip(style.controls(rows), (":", "-."), strict=False):
            line = layer[(layer["quantity"] == f"pearson/{side}fact") & (layer["arm"] == arm)]
            style.seeds(below, line, "x", style.CONTROL, linestyle=dashes, label=f"{_label('fact', side)}, {arm}")
        for panel in (axes, below):
            panel.axhline(HIGH, color=style.GUIDE, linewidth=0.8, linestyle="--", label=f"{HIGH:g}: “near 1”")
            panel.axhline(LOW, color=style.GUIDE, linewidth=0.8, linestyle=":", label=f"{LOW:g}: below it “low”")
        axes.set(title=f"layer {index + 1}")
        below.set_xlabel("epoch")
    grid[0, 0].set_ylim(top=1.02)
    for axes in grid[:, 0]:
        axes.set_ylabel(f"Pearson correlation with {'WWᵀ' if side else 'WᵀW'}")
    for axes in grid[:, -1]:
        style.label_lines(axes)
    style.note(figure, style.meaning_of_lines(rows))
    return figure


def draw_table_2(rows: pd.DataFrame, claim: ModuleType, table: Table) -> Figure:
    """Draw seeds as small marks, means as large ones, the controls beside them, the table's numbers as black lines."""
    rows = rows[rows["quantity"].isin([f"pearson/{name}" for name in table])]
    cases = sorted(rows["case"].unique(), key=lambda case: [int(number) for number in re.findall(r"\d+", case)])
    arms = [arm for arm in ("claim", "corrected") if arm in set(rows["arm"])]
    arms += style.controls(rows)
    figure, grid = style.panels(claim, columns=len(cases), height=3.9)
    for axes, case in zip(grid[0], cases, strict=True):
        for index, (name, by_column) in enumerate(table.items()):
            color = LINES[name][0]
            for shift, arm in zip(np.linspace(-0.2, 0.2, len(arms)), arms, strict=True):
                dots = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["quantity"] == f"pearson/{name}")]
                hue = style.CONTROL if arm.startswith("control") else color
                mark = "D" if arm == "corrected" else style.MARKS["control" if arm.startswith("control") else "claim"]
                axes.plot(np.full(len(dots), index + shift), dots["value"], mark, color=hue, markersize=3, alpha=0.5)
                axes.plot(index + shift, dots["value"].mean(), mark, color=hue, markersize=8, fillstyle="none")
            if case in by_column and style.are_of_paper_scale(rows):
                printed = min(by_column[case], ROUNDED)
                axes.hlines(printed, index - 0.35, index + 0.35, color=style.PRINTED, linewidth=1.2,
                            label="Table 2" if index == 0 else "_")  # fmt: skip
                if printed < by_column[case]:
                    axes.text(index, printed, f"{by_column[case]:.3f}", ha="center", va="bottom", fontsize=style.SMALL)
        for arm in arms:
            mark = "D" if arm == "corrected" else style.MARKS["control" if arm.startswith("control") else "claim"]
            names = {"claim": "as printed", "corrected": "corrected"} if "corrected" in arms else {}
            axes.plot([], [], mark, color=style.CONTROL if arm.startswith("control") else style.GUIDE, markersize=6,
                      fillstyle="none", label=names.get(arm, arm))  # fmt: skip
        axes.set(xticks=range(len(table)), title=f"n = {case}" if case.endswith("K") else _in_words(case))
        axes.set_xticklabels([LABELS[name] for name in table], rotation=20)
        style.enlarge_near_one(axes)
    grid[0, 0].set_ylabel("Pearson correlation with W₁ᵀW₁")
    style.legend(figure, grid[0], 4, f"small: each of {rows['seed'].nunique()} seeds; large: their mean")
    return figure


def _in_words(case: str) -> str:
    """A case's name as print has it."""
    return re.sub(r"^decay-1e-(\d+)$", lambda decay: f"weight decay $10^{{-{decay[1]}}}$", case)
