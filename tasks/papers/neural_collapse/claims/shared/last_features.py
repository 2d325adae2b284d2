"""Figures 10 to 12: the collapse of the last features, the NFA of each layer, and the training loss."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statistics import curves
from tasks.papers.neural_collapse.claims.shared.data_sets import on_each_data_set

PRINTED_UNIT = 0.01  # unit of the last printed digit of the NFA
ROUND_OFF = 1e-9  # allowed in S_W/S_T + S_B/S_T = 1


def last_features(rows: Rows, nfa: float, deviation: float, printed_for: str = "") -> Finding:
    """The last features collapse while the loss falls, and the NFA holds at the end.

    ``nfa`` ± ``deviation`` is the printed mean over layers and seeds. The NFA, averaged over layers, must be at least
    ``nfa`` - ``deviation``, and larger than for random matrices with the same spectra. At the paper scale it is also
    tested for equality with ``nfa``, on the data set that ``nfa`` is ``printed_for``.
    """
    return on_each_data_set(rows, lambda case_rows: _on_one(case_rows, nfa, deviation, printed_for))


def _on_one(rows: Rows, printed: float, deviation: float, printed_for: str) -> Finding:
    within, between, loss = (
        curves(rows.where(quantity=quantity), "seed") for quantity in ("within", "between", "train_loss")
    )
    nfa = curves(rows.where(quantity="nfa"), "seed", "layer")
    null = curves(rows.where(quantity="nfa/null"), "seed")[..., -1]
    before, after = float(nfa[..., 0].mean()), nfa[..., -1]
    z, least = np.arctanh(after.mean(1)), printed - deviation
    error = float(np.abs(within + between - 1).max())
    finding = all_of(
        sum=Finding(error <= ROUND_OFF, error, f"S_W/S_T + S_B/S_T is 1 to {ROUND_OFF:g} at every epoch", "exact",
                    high=ROUND_OFF),
        collapse=positive(np.log(within[:, 0] / within[:, -1]), "fall of log S_W/S_T"),
        rise=positive(between[:, -1] - between[:, 0], "rise of S_B/S_T"),
        loss=positive(np.log(loss[:, 0] / loss[:, -1]), "fall of the log loss"),
        nfa=positive(z - np.arctanh(least), f"Fisher's z of the NFA - that of {least:g}"),
        null=positive(z - np.arctanh(null), "Fisher's z of the NFA - that of its null's 97.5 % quantile"),
    )  # fmt: skip
    numbers = {"S_W/S_T at the end": float(within[:, -1].mean()), "NFA before training": before}
    evidence, measured = finding.evidence, f"NFA {after.mean():.2f} ± {after.std(ddof=1):.2f} over layers and seeds"
    if set(rows.scale.tolist()) == {"paper"} and set(rows.case.tolist()) == {printed_for}:
        equality = equals(after.mean(1), printed, PRINTED_UNIT)
        numbers |= {"NFA, 90 % low": equality.low or 0.0, "NFA, 90 % high": equality.high or 0.0}
        evidence = "matches print" if equality.holds else evidence
        answers = {True: "equal to", False: "not equal to", None: "not decided whether equal to"}
        measured += f", {answers[equality.holds]} the print"
    measured += f"; before training {before:.2f}"
    return replace(finding, evidence=evidence, numbers=finding.numbers | numbers, measured=measured)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's three panels, a row for each data set; in orange the control with large initialisation."""
    cases = rows["case"].unique()
    figure, grid = style.panels(claim, columns=3, rows=len(cases), height=2.4 * len(cases) + 1.1, width=9.0)
    for panels, case in zip(grid, cases, strict=True):
        printed = (claim.NFA, claim.DEVIATION) if case.split(" (")[0] == claim.PRINTED_FOR else None
        _draw_one(panels, rows[rows["case"] == case], 21 // len(cases) + 4, printed)
        panels[0].set_ylabel(f"{case}\nshare of tr Σ_T, last layer")
        for axes in panels:
            axes.xaxis.get_major_locator().set_params(nbins=5)
            axes.tick_params(labelbottom=case == cases[-1])
            axes.minorticks_off()
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    legend: dict[str, Any] = {}
    for axes in (*grid[:, 0], *grid[:, 1]):
        handles, labels = axes.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    title = f"mean (left and right: geometric) and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend([*legend.values()], [*legend], loc="outside lower center", ncols=5, fontsize=7, title_fontsize=7,
                  title=title)  # fmt: skip
    return figure


def _draw_one(panels: Any, rows: pd.DataFrame, points: int, printed: tuple[float, float] | None) -> None:
    """Draw the traces, the NFA and the loss of one data set."""
    traces, nfa, loss = panels
    small = style.thinned(rows[rows["arm"] == "claim"], points)
    large = style.thinned(rows[rows["arm"].str.contains("large")], points)
    least = min(arm.loc[arm["quantity"] == "within", "value"].min() for arm in (small, large))
    for axes in (traces, loss):
        axes.set_yscale("log")
    for arm, size, color, dashes in ((small, "small", style.CLAIM, "-"), (large, "large", style.CONTROL, ":")):
        for quantity, label, mark in (("within", "Σ_W / Σ_T", None), ("between", "Σ_B / Σ_T", "s")):
            style.band(traces, arm[arm["quantity"] == quantity], "x", color, linestyle=dashes, marker=mark,
                       markersize=3, linewidth=1.2, label=f"{label}, {size} initialisation")  # fmt: skip
        style.band(loss, arm[arm["quantity"] == "train_loss"], "x", color, linestyle=dashes, linewidth=1.4)
    style.layers(nfa, small[small["quantity"] == "nfa"])
    style.band(nfa, large[large["quantity"] == "nfa/mean"], "x", style.CONTROL, linestyle=":", linewidth=1.4,
               label="mean, large initialisation")  # fmt: skip
    null = small.loc[small["quantity"] == "nfa/null", "value"].mean()
    nfa.axhline(null, color=style.GUIDE, linestyle="--", linewidth=1.2, label="97.5 % of random matrices, same spectra")
    if printed:
        mean, deviation = printed
        nfa.axhspan(mean - deviation, mean + deviation, color=style.PRINTED, alpha=0.06, linewidth=0)
        nfa.axhline(mean, color=style.PRINTED, linewidth=0.8, linestyle="-.", label=f"printed {mean} ± {deviation}")
    traces.set(ylim=(least / 2, 1.3))
    nfa.set(ylabel="Pearson of WᵀW and √AGOP", ylim=(0, 1.02))
    loss.set(ylabel="training loss")
