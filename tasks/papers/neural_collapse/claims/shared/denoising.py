"""Figures 2 and 7 to 9: what S V^T and the activation take from NC1 in each hidden layer, along training."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Statement
from tasks.judging.statistics import curves
from tasks.papers.neural_collapse.claims.shared.data_sets import on_each_data_set

# colours as in the paper: input blue, right singular structure green, complete layer red
PLACES = {"input": (style.CLAIM, "-", "Φ(X)"), "projected": (style.OTHER, "--", "S Vᵀ Φ(X)"),
          "output": (style.CONTROL, ":", "σ(U S Vᵀ Φ(X))")}  # fmt: skip
Rule = Callable[[Rows], Finding]
MATH = (
    (
        r"\log\, \text{NC1}\left( X_l \right) - \log\, \text{NC1}\left( S V^\top X_l \right) > \log\, "
        r"\text{NC1}\left( S V^\top X_l \right) - \log\, \text{NC1}\left( \sigma(U S V^\top X_l) \right)"
    ),
    r"W_l = U S V^\top, \quad \text{summed over the five last hidden layers}",
)


def statements(figure: int, data_sets: tuple[str, ...] = ("",)) -> tuple[Statement, ...]:
    """The statements about the networks of a figure, on the data sets whose names begin with ``data_sets``."""

    def on_each(rule: Rule) -> Rule:
        return lambda rows: on_each_data_set(rows, rule, data_sets)

    return (
        Statement(
            name="S Vᵀ takes most of the fall",
            quote="We see that the ratio of within-class to between-class variability decreases mostly between steps "
            "(1) and (2), due to the application of the right singular structure.",
            place=f"Section 5; Figure {figure}",
            rule=on_each(mostly_projection),
            reads=("fall/projection", "fall/activation"),
            rows=20,
        ),
        Statement(  # the paper says it of Figure 2's own networks ("in this setting")
            name="the ReLU does not lower NC1",
            quote="while in this setting the ReLU does not directly reduce NC1",
            place="Section 5; Figure 2",
            rule=on_each(activation_raises_nc1),
            reads=("fall/activation",),
            kind="ours",
            rows=20,
        ),
    )


def mostly_projection(rows: Rows) -> Finding:
    """At the end of training log NC1 falls through the layers, and S V^T takes more of this fall than U and σ.

    A share of the fall would divide by a random number, which can be near 0.
    """
    projection, activation = at_the_end(rows, "fall/projection"), at_the_end(rows, "fall/activation")
    finding = all_of(
        fall=positive(projection + activation, "fall of log NC1 through the layers"),
        majority=positive(projection - activation, "S V^T's part of this fall - that of U and σ"),
    )
    measured = f"log NC1 falls by {projection.mean():.2f} at S Vᵀ, by {activation.mean():.2f} at U and σ"
    return replace(finding, measured=measured)


def activation_raises_nc1(rows: Rows) -> Finding:
    """At the end of training U and σ do not lower log NC1, summed over the layers."""
    return positive(-at_the_end(rows, "fall/activation"), "rise of log NC1 at U and σ")


def at_the_end(rows: Rows, quantity: str) -> np.ndarray:
    """A quantity after training, one number a seed."""
    return curves(rows.where(quantity=quantity), "seed")[..., -1]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row for each data set and a panel for each layer, as in the paper."""
    rows = rows[rows["case"].str.startswith(getattr(claim, "DATA_SETS", ("",)))]
    cases, layers = rows["case"].unique(), sorted(rows.loc[rows["quantity"] == "nc1/input", "layer"].unique())
    height, points = 2.6 * len(cases) + 0.9, 12 // len(cases) + 4
    figure, grid = style.panels(claim, columns=len(layers), rows=len(cases), height=height, width=9.0)
    for panels, case in zip(grid, cases, strict=True):
        case_rows = rows[(rows["case"] == case) & (rows["arm"] == "claim")]
        nc1 = case_rows[case_rows["quantity"].str.startswith("nc1/")]
        means = nc1.groupby(["quantity", "layer", "x"])["value"].mean()
        for axes, layer in zip(panels, layers, strict=True):
            axes.set_yscale("log")
            for place, (color, dashes, label) in PLACES.items():
                line = nc1[(nc1["layer"] == layer) & (nc1["quantity"] == f"nc1/{place}")]
                style.band(axes, style.thinned(line, points), "x", color, linestyle=dashes, linewidth=1.4, label=label)
            axes.set(ylim=(0.7 * means.min(), 1.4 * means.max()))
            axes.minorticks_off()
            axes.xaxis.get_major_locator().set_params(nbins=3)
            axes.tick_params(labelleft=axes is panels[0], labelbottom=case == cases[-1])
        falls = [f"{_fall(case_rows, part):.1f}" for part in ("projection", "activation")]
        words = f"log NC1 falls by {falls[0]} at S Vᵀ,\nby {falls[1]} at U and σ"
        panels[0].set_ylabel(f"{case}\n{words}\ntr Σ_W / tr Σ_B", fontsize=8)
    for axes, layer in zip(grid[0], layers, strict=True):
        axes.set_title(f"layer {layer}", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    title = f"geometric mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=3, fontsize=7,
                  title_fontsize=7, title=title)  # fmt: skip
    return figure


def _fall(rows: pd.DataFrame, part: str) -> float:
    """What a part of the layers takes from log NC1 at the end of training, mean over seeds."""
    last = rows[(rows["quantity"] == f"fall/{part}") & (rows["x"] == rows["x"].max())]
    return float(last["value"].mean())
