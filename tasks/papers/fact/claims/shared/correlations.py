"""C.tab2, C.fig3, C.fig8, C.fig9, C.fig10: Pearson correlations with a weight's Gram, as rules and figures.

The Gram is W^T W or, where ``side`` is "back_", W W^T, with bFACT, bAGOP and beNFA.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, matches, positive
from tasks.judging.statistics import curves, fisher

OTHERS = ("agop", "root agop", "enfa", "root enfa")
NAMES = ("fact", "symmetric fact", *OTHERS)
HIDDEN = {"0", "2", "4", "6", "8"}  # without the readout, where AGOP is W^T W and bAGOP the identity before training
LOW, HIGH = 0.5, 0.9  # "low" and "near-perfect" correlation
LINES = {  # label, colour, dashes, marker
    "fact": ("FACT", style.CLAIM, "-", "o"),
    "symmetric fact": ("√(FACT FACTᵀ)", style.CLAIM, "--", "s"),
    "agop": ("AGOP", style.OTHER, "-", "^"),
    "root agop": ("√AGOP", style.OTHER, "--", "v"),
    "enfa": ("eNFA", "#cc79a7", "-", "D"),
    "root enfa": ("√eNFA", "#cc79a7", "--", "d"),
}


def z(rows: Rows, name: str, *by: str) -> np.ndarray:
    """Fisher's z of pearson/NAME: seeds first, then the columns ``by``, then steps."""
    return np.arctanh(np.clip(curves(rows.where(quantity=f"pearson/{name}"), "seed", *by), -1 + 1e-15, 1 - 1e-15))


def above_null(rows: Rows, name: str, *by: str) -> dict[str, Finding]:
    """After training NAME is above its null, at the worst value of the columns ``by``.

    The null is the correlation with the Gram's spectrum in random directions. Older tables lack null/NAME and are not
    judged on it.
    """
    null = rows.where(quantity=f"null/{name}")
    if not len(null):
        return {}
    lead = z(rows, name, *by)[..., -1] - np.arctanh(curves(null, "seed", *by)[..., -1])
    smallest = lead.reshape(len(lead), -1).min(1)
    return {f"{name} above its null": positive(smallest, f"z of {name} minus its null's 97.5 % quantile")}


# Figures 3 and 9: every layer after training ----------------------------------------------------------------------


def ahead(rows: Rows, side: str) -> Finding:
    """After training FACT is above AGOP, eNFA and their roots on the worst hidden layer, in every data set."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), case_rows in rows.where(layer=HIDDEN).by("case").items():
        for other in OTHERS:
            lead = (z(case_rows, f"{side}fact", "layer") - z(case_rows, f"{side}{other}", "layer"))[..., -1].min(1)
            parts[f"{case}: above {other}"] = positive(lead, f"z of FACT minus z of {other} on the worst layer")
        null = above_null(case_rows, f"{side}fact", "layer")
        parts |= {f"{case}: {name}": finding for name, finding in null.items()}
        for name in NAMES:
            worst = z(case_rows, f"{side}{name}", "layer")[..., -1].min(1)
            numbers[f"{case}: {name}, worst layer"] = float(np.tanh(worst.mean()))
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers})


def draw_layers(rows: pd.DataFrame, claim: ModuleType, side: str) -> Figure:
    """Draw each correlation by layer after training, with the controls' FACT: mean and interval over seeds."""
    rows = rows[(rows["x"] == rows["x"].max()) & rows["layer"].isin(HIDDEN)]
    rows = rows.assign(at=rows["layer"].astype(int) // 2 + 1)
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), height=3.4, width=2 + 5 * len(cases))
    for axes, case in zip(grid[0], cases, strict=True):
        case_rows = rows[rows["case"] == case]
        for name, (label, color, dashes, mark) in LINES.items():
            line = case_rows[(case_rows["quantity"] == f"pearson/{side}{name}") & (case_rows["arm"] == "claim")]
            style.band(axes, line, "at", color, linestyle=dashes, marker=mark, markersize=4,
                       label=f"b{label}" if side and name != "symmetric fact" else label)  # fmt: skip
        for arm in style.controls(case_rows):
            line = case_rows[(case_rows["quantity"] == f"pearson/{side}fact") & (case_rows["arm"] == arm)]
            style.band(axes, line, "at", style.CONTROL, linestyle=":", marker="X", markersize=5, label=f"FACT, {arm}")
        axes.set(xlabel="hidden layer", ylim=(None, 1.02), xticks=sorted(case_rows["at"].unique()), title=case)
    grid[0, 0].set_ylabel(f"Pearson correlation with {'WWᵀ' if side else 'WᵀW'}")
    grid[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    return figure


# Figures 8 and 10: the layers along training ----------------------------------------------------------------------


def rise(rows: Rows, side: str) -> Finding:
    """FACT's mean over layers is below LOW at most epochs and above HIGH after training; the root's is higher."""
    fact, root = (curves(rows.where(quantity=f"pearson/{side}{name}"), "seed", "layer").mean(1) for name in NAMES[:2])
    finding = all_of(
        low=positive(LOW - np.median(fact, 1), f"{LOW:g} minus FACT's median over epochs"),
        end=positive(fact[:, -1] - HIGH, f"FACT's correlation after training minus {HIGH:g}"),
        root=positive(np.median(root - fact, 1), "√(FACT FACTᵀ)'s correlation minus FACT's, median over epochs"),
        **above_null(rows, f"{side}fact", "layer"),
    )
    finding.numbers["FACT, first epoch"] = float(fact[:, 0].mean())
    finding.numbers["FACT, median over epochs"] = float(np.median(fact, 1).mean())
    finding.numbers["FACT, last epoch"] = float(fact[:, -1].mean())
    return finding


def draw_epochs(rows: pd.DataFrame, claim: ModuleType, side: str, data_set: str) -> Figure:
    """Draw the correlations of the first three layers by epoch, with the controls' FACT: mean and band over seeds."""
    rows = rows[rows["case"] == data_set]
    figure, grid = style.panels(claim, columns=3, height=3.4, width=8)
    for index, axes in enumerate(grid[0]):
        layer = rows[rows["layer"] == str(2 * index)]
        for name in ("fact", "symmetric fact", "root agop", "root enfa"):
            label, color, dashes, _ = LINES[name]
            line = layer[(layer["quantity"] == f"pearson/{side}{name}") & (layer["arm"] == "claim")]
            style.band(axes, line, "x", color, linestyle=dashes, label=label)
        for arm in style.controls(rows):
            line = layer[(layer["quantity"] == f"pearson/{side}fact") & (layer["arm"] == arm)]
            style.band(axes, line, "x", style.CONTROL, linestyle=":", label=f"FACT, {arm}")
        axes.axhline(HIGH, color=style.GUIDE, linewidth=0.7, linestyle="--")
        axes.set(xlabel="epoch", ylim=(-0.3, 1.02), title=f"layer {index + 1}")
    grid[0, 0].set_ylabel(f"Pearson correlation with {'WWᵀ' if side else 'WᵀW'}")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure


# Table 2: the first layer after training --------------------------------------------------------------------------

Table = Mapping[str, Mapping[str, float]]  # printed correlations by name and column


def printed(table: Table, columns: str) -> str:
    """The numbers of Table 2 in one line."""
    cells = (f"{LINES[name][0]} {' / '.join(f'{value:.3f}'.removeprefix('0') for value in by_column.values())}"
             for name, by_column in table.items())  # fmt: skip
    return f"{columns}: {', '.join(cells)}, Table 2"


def table_2(rows: Rows, table: Table, behind: Collection[str] = ()) -> Finding:
    """In each column √(FACT FACTᵀ) and FACT are above √AGOP and √eNFA, in Fisher's z, paired by seed.

    FACT is not judged in the columns ``behind``, where the paper prints it behind.
    """
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), column in rows.by("case").items():
        for name in ("symmetric fact",) if case in behind else ("symmetric fact", "fact"):
            for other in ("root agop", "root enfa"):
                lead = (z(column, name) - z(column, other))[:, -1]
                parts[f"{case}, {name} above {other}"] = positive(lead, f"{case}: z of {name} minus z of {other}")
            parts |= {f"{case}, {part}": finding for part, finding in above_null(column, name).items()}
        for name, by_column in table.items():
            values = np.tanh(z(column, name)[:, -1])
            labels = (f"{case}, {name}", f"{case}, {name}, low", f"{case}, {name}, high")
            numbers |= dict(zip(labels, fisher(values), strict=True))
            if set(rows.scale) == {"paper"}:
                numbers[f"{case}, {name}, matches print"] = float(matches(values, by_column[case], 0.001))
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers})


def draw_table_2(rows: pd.DataFrame, claim: ModuleType, table: Table) -> Figure:
    """Draw seeds as small dots, means as large ones, the table's numbers as black lines, the controls beside them."""
    rows = rows[rows["quantity"].isin([f"pearson/{name}" for name in table])]
    cases, arms = sorted(rows["case"].unique()), ["claim", *style.controls(rows)]
    figure, grid = style.panels(claim, columns=len(cases), height=3.6, width=7.6)
    for axes, case in zip(grid[0], cases, strict=True):
        for index, (name, by_column) in enumerate(table.items()):
            for shift, arm in zip(np.linspace(-0.15, 0.15, len(arms)), arms, strict=True):
                dots = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["quantity"] == f"pearson/{name}")]
                color = style.CLAIM if arm == "claim" else style.CONTROL
                mark = style.MARKS["claim" if arm == "claim" else "control"]
                axes.plot(np.full(len(dots), index + shift), dots["value"], mark, color=color, markersize=3, alpha=0.5)
                axes.plot(index + shift, dots["value"].mean(), mark, color=color, markersize=7,
                          label=arm if index == 0 else "_")  # fmt: skip
            if case in by_column:
                axes.hlines(by_column[case], index - 0.35, index + 0.35, color=style.PRINTED, linewidth=1,
                            label="Table 2" if index == 0 else "_")  # fmt: skip
        axes.set(xticks=range(len(table)), title=f"n = {case}" if case.endswith("K") else case)
        axes.set_xticklabels([LINES[name][0] for name in table], rotation=20, fontsize=8)
    grid[0, 0].set_ylabel("Pearson correlation with W₁ᵀW₁")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8)
    return figure
