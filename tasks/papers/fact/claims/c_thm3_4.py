"""For any s > 0 and eps there are p, tau, lambda such that at the minimiser on D(p, tau) corr(AGOP^s, W^T W) < eps.

FACT equals W^T W there. As in the proof tau = eps^3, p = eps^8 and lambda = eps^32 p; the proof finds a correlation of
the order eps^min(2, 2s). (The network that the proof starts from represents f* with a_2 = a_3 = -tau/2 and
a_5 = a_6 = -1/2; the paper prints -tau and -1.)
"""

from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, below, never, order

ID = "C.thm3.4"
KIND = "exact"
TITLE = "Data that separate FACT from the neural feature ansatz"
PRINTED = "corr(AGOP^s, WᵀW) < ε for any s > 0; of the order ε^(2s) + ε² in the proof, Theorem 3.4"
QUANTITIES = ("thm3.4/correlation", "thm3.4/fact", "thm3.4/no minimum")
SETTINGS = ()  # the data, the rates and the ridges of this theorem are fixed in the experiment


def rule(rows: Rows) -> Finding:
    """At strict minima the correlation falls as eps^min(2, 2s); W^T W and FACT differ by at most 1e-9 at every eps."""
    correlations = rows.where(quantity="thm3.4/correlation").by("case")
    return all_of(
        **{case: order(case_rows, _power(case)) for (case,), case_rows in correlations.items()},
        fact=below(rows.where(quantity="thm3.4/fact"), 1e-9),
        minimum=never(rows.where(quantity="thm3.4/no minimum"), "point other than a strict minimum"),
    )


def _power(case: str) -> float:
    """The order of the correlation in eps, of a case such as "s = 0.5"."""
    return min(2.0, 2 * float(case.removeprefix("s = ")))


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlation with the proof's order eps^min(2, 2s), log-log; the control stays level."""
    rows = rows[(rows["quantity"] == "thm3.4/correlation") & (rows["x"] > 0)]
    figure, grid = style.panels(claim, height=3.6)
    axes = grid[0, 0]
    axes.set(xscale="log", yscale="log", xlabel="ε, with τ = ε³, p = ε⁸, λ = ε³²p",
             ylabel="cosine of AGOPˢ and WᵀW at the minimiser")  # fmt: skip
    cases = sorted(rows["case"].unique())
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        for arm in ["claim", *style.controls(rows)]:
            line = rows[(rows["case"] == case) & (rows["arm"] == arm)].sort_values("x")
            dashes, mark, label = ("-", "o", case) if arm == "claim" else (":", "X", f"{case}, {arm}")
            axes.plot(line["x"], line["value"], color=color, linestyle=dashes, linewidth=1.3, marker=mark,
                      markersize=3.5, label=label)  # fmt: skip
        claim_rows = rows[(rows["case"] == case) & (rows["arm"] == "claim")].sort_values("x")
        guide = claim_rows["value"].iloc[0] * (claim_rows["x"] / claim_rows["x"].iloc[0]) ** _power(case)
        axes.plot(claim_rows["x"], guide, color=style.GUIDE, linestyle="--", linewidth=0.8,
                  label="ε^min(2, 2s)" if case == cases[-1] else "_")  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
    return figure
