"""Figures 3 and 4: NC1 and NC2 of Deep RFM by layer, before M^{1/2}, after it, and after the feature map Φ."""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import kendall
from tasks.papers.neural_collapse.claims.shared.deep_rfm import by_layer, cases_ending_with, reported

PLACES = {  # the paper draws them in green, orange and blue; these are the nearest colours that everyone can tell apart
    "data": ("data", style.OTHER, "-"),
    "agop": ("after M^{1/2}", style.CONTROL, "--"),
    "features": ("after M^{1/2} and Φ", style.CLAIM, "-."),
}


def layer_collapse(rows: Rows, features: str) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, M^{1/2} lowers NC1, and Φ does not.

    Kendall's tau alone does not show that NC1 falls layer by layer: it can be positive for a curve that falls steeply
    and then rises. So NC1 must also fall in most steps, and be lower in the last layer than in the first.
    """
    cases = cases_ending_with(rows, features)
    parts: dict[str, Finding] = {}
    first, last, shares = [], [], []  # of NC1 before M^{1/2}; one mean over seeds per case
    for case in cases:
        case_rows = rows.where(case=case)
        data, agop, mapped = (by_layer(case_rows, f"nc1/{place}") for place in PLACES)
        nc2 = by_layer(case_rows, "nc2/data")
        falling = (np.diff(data) < 0).mean(1)
        parts |= {
            f"{case}: NC1 with depth": positive(_fall(data), "fall of NC1 with the layer, as Kendall's tau"),
            f"{case}: NC1 layer by layer": positive(falling - 0.5, "share of steps in which NC1 falls - 1/2"),
            f"{case}: NC1 at last": positive(np.log(data[:, 0] / data[:, -1]), "log fall from first to last layer"),
            f"{case}: NC1 at the AGOP": positive(np.log(data / agop).mean(1), "mean log fall of NC1 at M^{1/2}"),
            f"{case}: NC1 at the features": positive(np.log(mapped / agop).mean(1), "mean log rise of NC1 at Φ"),
            f"{case}: NC2 with depth": positive(_fall(nc2), "fall of NC2 with the layer, as Kendall's tau"),
        }
        first.append(data[:, 0].mean())
        last.append(data[:, -1].mean())
        shares.append(falling.mean())
    measured = (
        f"NC1 at most {max(first):.2g} in the first layer and {max(last):.2g} in the last; "
        f"it falls in at least {100 * min(shares):.0f} % of the steps"
    )
    return reported(all_of(**parts), measured, rows, cases)


def _fall(series: np.ndarray) -> np.ndarray:
    """Kendall's tau of the fall with the layer, one a seed."""
    return np.array([-kendall(values) for values in series])


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw NC1 and NC2 in a row of panels for each data set; dotted is the control M = I."""
    rows = rows[rows["case"].str.endswith(claim.FEATURES)]
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=2, rows=len(cases), height=1.0 + 2.3 * len(cases), width=7.6)
    for case, panels in zip(cases, grid, strict=True):
        case_rows = rows[rows["case"] == case]
        panels[0].set_yscale("log")
        for axes, measure in zip(panels, ("nc1", "nc2"), strict=True):
            for place, (label, color, dashes) in PLACES.items():
                line = case_rows[(case_rows["arm"] == "claim") & (case_rows["quantity"] == f"{measure}/{place}")]
                style.band(axes, line, "x", color, linewidth=1.4, linestyle=dashes, label=label)
            for arm in style.controls(case_rows):
                line = case_rows[(case_rows["arm"] == arm) & (case_rows["quantity"] == f"{measure}/data")]
                style.band(axes, line, "x", style.GUIDE, linestyle=":", linewidth=1.4, label=f"{arm}, data")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set(xlabel="layer", ylabel=f"{measure.upper()}", title=case)
        panels[0].set(ylabel="NC1 = tr Σ_W / tr Σ_B")
        panels[1].set(ylim=(0, None), ylabel="NC2 = ‖H̄ᵀH̄ − Σ_ETF‖")
    legend = {label: line for axes in grid[:, 0] for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend([*legend.values()], [*legend], loc="outside lower left", ncols=4, fontsize=7)
    return figure
