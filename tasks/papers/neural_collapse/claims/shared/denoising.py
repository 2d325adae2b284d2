"""Figures 2 and 7 to 9: what S V^T and the activation take from NC1 in each hidden layer, along training."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves, interval
from tasks.papers.neural_collapse.claims.shared.data_sets import on_each_data_set

# colours as in the paper: input blue, right singular structure green, complete layer red
PLACES = {"input": (style.CLAIM, "-", "Φ(X)"), "projected": (style.OTHER, "--", "S Vᵀ Φ(X)"),
          "output": (style.CONTROL, ":", "σ(U S Vᵀ Φ(X))")}  # fmt: skip


def denoising(rows: Rows, least_nfa: float, data_sets: tuple[str, ...] = ("",)) -> Finding:
    """At the end of training S V^T takes most of what the layers take from log NC1, and the NFA holds.

    The fall of log NC1 is summed over the hidden layers, for each seed; it must be positive, since otherwise there is
    no share of it. The NFA, averaged over layers, must be at least ``least_nfa``. Names of
    the data sets to judge begin with ``data_sets``.
    """
    return on_each_data_set(rows, lambda case_rows: _on_one(case_rows, least_nfa), data_sets)


def _on_one(rows: Rows, least_nfa: float) -> Finding:
    projection, activation, nfa = (
        curves(rows.where(quantity=quantity), "seed")[..., -1]
        for quantity in ("fall/projection", "fall/activation", "nfa/mean")
    )
    fall = projection + activation
    share = np.divide(projection, fall, out=np.zeros_like(fall), where=fall > 0)
    finding = all_of(
        fall=positive(fall, "fall of log NC1"),
        share=positive(share - 0.5, "S V^T's share of this fall - 1/2"),
        nfa=positive(np.arctanh(nfa) - np.arctanh(least_nfa), f"Fisher's z of the NFA - that of {least_nfa:g}"),
    )
    mean, low, high = interval(share)
    numbers = {"share of S V^T": mean, "its low": low, "its high": high, "NFA": float(nfa.mean())}
    measured = f"S Vᵀ's share {mean:.2f} ({low:.2f} to {high:.2f}), NFA {nfa.mean():.2f}"
    return replace(finding, numbers=finding.numbers | numbers, measured=measured)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row for each data set and a panel for each layer, as in the paper; pale the large initialisation."""
    rows = rows[rows["case"].str.startswith(getattr(claim, "DATA_SETS", ("",)))]
    cases, layers = rows["case"].unique(), sorted(rows.loc[rows["quantity"] == "nc1/input", "layer"].unique())
    height, points = 2.6 * len(cases) + 0.9, 12 // len(cases) + 4
    figure, grid = style.panels(claim, columns=len(layers), rows=len(cases), height=height, width=9.0)
    for panels, case in zip(grid, cases, strict=True):
        case_rows = rows[rows["case"] == case]
        small, large = case_rows[case_rows["arm"] == "claim"], case_rows[case_rows["arm"].str.contains("large")]
        nc1 = pd.concat([small, large]).query("quantity.str.startswith('nc1/')")
        means = nc1.groupby(["arm", "quantity", "layer", "x"])["value"].mean()
        for axes, layer in zip(panels, layers, strict=True):
            axes.set_yscale("log")
            for place, (color, dashes, label) in PLACES.items():
                small_line, large_line = (
                    style.thinned(arm[(arm["layer"] == layer) & (arm["quantity"] == f"nc1/{place}")], points)
                    for arm in (small, large)
                )
                style.band(axes, small_line, "x", color, linestyle=dashes, linewidth=1.4, label=label)
                log_mean = style.mean_and_band(large_line.assign(value=np.log(large_line["value"])), "x")
                axes.plot(log_mean["x"], np.exp(log_mean["mean"]), color=color, linestyle=dashes, linewidth=0.9,
                          alpha=0.5, label=f"{label}, large initialisation")  # fmt: skip
            axes.set(ylim=(0.7 * means.min(), 1.4 * means.max()))
            axes.minorticks_off()
            axes.xaxis.get_major_locator().set_params(nbins=3)
            axes.tick_params(labelleft=axes is panels[0], labelbottom=case == cases[-1])
        panels[0].set_ylabel(f"{case}\nS Vᵀ: {_share(small):.0%} of the fall\n(large init.: {_share(large):.0%})\n"
                             "tr Σ_W / tr Σ_B", fontsize=8)  # fmt: skip
    for axes, layer in zip(grid[0], layers, strict=True):
        axes.set_title(f"layer {layer}", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    title = f"geometric mean over {rows['seed'].nunique()} seeds; for the small initialisation Student's 95 % interval"
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=3, fontsize=7,
                  title_fontsize=7, title=title)  # fmt: skip
    return figure


def _share(rows: pd.DataFrame) -> float:
    """S V^T's share of the fall at the end of training, mean over seeds."""
    last = rows[rows["x"] == rows["x"].max()]
    falls = last.pivot_table(index="seed", columns="quantity", values="value")[["fall/projection", "fall/activation"]]
    return float((falls["fall/projection"] / falls.sum(axis=1)).mean())
