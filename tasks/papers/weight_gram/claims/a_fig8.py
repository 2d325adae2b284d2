"""In the rich regime, the two narrowest widths, the best linear predictor y_OLS on the features moves towards y.

In the lazy regime, the widest, ||y - y_OLS|| stays near zero and only the network moves, towards y_OLS. The rich regime
ends closer to the target. Throughout, ||y - f|| <= ||f - y_OLS|| + ||y_OLS - y||.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, positive
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import (
    case_number,
    cases_by_number,
    interval_over_seeds,
    legend_below,
)

ID = "A.fig8"
KIND = "statistical"
TITLE = "Narrow networks chase a moving linear predictor, wide ones a fixed one"
PRINTED = "y_OLS shifts substantially at widths 32, 128; ‖y − y_OLS‖ flat near zero at 1024; Figure 8"
CORRECTION = (
    "The network's outputs are divided by the root of its width, as in the authors' code: with the printed standard "
    "parametrization a wider network takes larger steps, not smaller ones."
)
QUANTITIES = ("target/distance", "target/chase", "target/error", "target/triangle ratio")
SHARE = 0.1  # of ||y||: a larger shift is substantial, a smaller distance near zero; the threshold is ours
LINES = {
    "target/distance": (style.CLAIM, "‖y − y_OLS‖"),
    "target/chase": ("#e69f00", "‖ŷ − y_OLS‖"),
    "target/error": (style.OTHER, "‖y − ŷ‖"),
}


def rule(rows: Rows) -> Finding:
    """Per seed, relative to ||y||: a shift above a tenth is substantial, a distance below a tenth is near zero."""
    _, distance = by_number(rows.where(quantity="target/distance"))
    _, chase = by_number(rows.where(quantity="target/chase"))
    _, error = by_number(rows.where(quantity="target/error"))
    shift = (distance[:, :2, 0] - distance[:, :2, -1]).min(1)
    finding = all_of(
        narrow_target_moves=positive(
            shift - SHARE, f"fall of ||y - y_OLS|| at the two narrowest widths minus {SHARE:g}"
        ),
        wide_target_stays=positive(
            SHARE - distance[:, -1].max(1), f"{SHARE:g} minus largest ||y - y_OLS|| at the widest"
        ),
        wide_network_moves=positive(chase[:, -1, 0] - chase[:, -1, -1], "fall of ||f - y_OLS|| at the widest"),
        narrow_ends_closer=positive(error[:, -1, -1] - error[:, :2, -1].max(1), "final error, widest minus narrow"),
        triangle=bound(rows.where(quantity="target/triangle ratio")),
    )
    mean = distance.mean(0)
    narrowest, widest = (f"{width[0]:.2f} → {width[-1]:.2f}" for width in (mean[0], mean[-1]))
    return replace(finding, measured=f"‖y − y_OLS‖/‖y‖ {narrowest} (narrowest), {widest} (widest)")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each width as in the paper: corrected solid, printed dotted; controls at the narrowest width."""
    cases = cases_by_number(rows)
    figure, grid = style.panels(claim, columns=len(cases), height=3.4, width=7.6)
    for axes, case in zip(grid[0], cases, strict=True):
        panel = style.thinned(rows[rows["case"] == case])
        for arm, dashes, suffix in (("corrected", "-", ""), ("claim", ":", ", printed")):
            for quantity, (color, label) in LINES.items():
                line = panel[(panel["arm"] == arm) & (panel["quantity"] == quantity)]
                style.band(axes, line, "x", color, linestyle=dashes, label=label + suffix)
        if case == cases[0]:
            for arm, dashes in zip(style.controls(rows), ("--", "-.", ":"), strict=False):
                line = panel[(panel["arm"] == arm) & (panel["quantity"] == "target/distance")]
                style.band(axes, line, "x", style.CONTROL, linestyle=dashes, label=f"‖y − y_OLS‖, {arm}")
        axes.set(title=f"width {case_number(case):g}", xlabel="epoch", ylim=(0, 1.3))
    grid[0, 0].set_ylabel("distance / ‖y‖")
    legend_below(figure, [grid[0, 0]], 3, f"mean and {interval_over_seeds(rows)}")
    return figure
