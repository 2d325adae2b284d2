"""With two hidden layers, the first-order term predicts the correlation of the centered NFA's derivatives.

For the quadratic activation the prediction is close, and closer for the wider network; for ReLU it is rougher. Both
correlations dip at intermediate data decays.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "B.fig6"
KIND = "statistical"
TITLE = "First-order prediction of the centered NFA with depth"
PRINTED = "close for the quadratic, roughly for ReLU; widths 128 and 1024, Figure 6"
QUANTITIES = ("fig6/predicted", "fig6/observed")
CASES = ("quadratic, low rank", "quadratic, high rank", "relu, low rank", "relu, high rank")
# a close prediction, as in B.fig3: root mean square error over decays and targets, and R², since the curves vary little
ERROR, R_SQUARED = 0.1, 0.8
DIP = 0.02  # noise alone puts the inner minimum of a curve a little below its ends


def rule(rows: Rows) -> Finding:
    """Per seed: errors by activation and width, correlation of predicted and observed for ReLU, depth of the dips.

    A dip is averaged over activations and targets; the numbers give each.
    """
    widths = sorted({int(layer) for layer in rows.where(quantity="fig6/observed").layer})
    narrow, wide = (str(width) for width in (widths[0], widths[-1]))
    quadratic, relu = ({k: _errors(rows, name, k) for k in (narrow, wide)} for name in ("quadratic", "relu"))
    seeds, cases = _seeds(rows), _cases(rows)
    dips = np.array(  # (predicted and observed, seeds, cases)
        [
            [[_dip(_curve(rows, case, quantity, layer, seed)) for case in cases] for seed in seeds]
            for quantity, layer in (("predicted", "0"), ("observed", wide))
        ]
    )
    names = [f"{side} dip, {case}" for side in ("predicted", "observed") for case in cases]
    dip_by_case = dict(zip(names, dips.mean(1).ravel().tolist(), strict=True))
    predicted_dip, observed_dip = dips.mean(2)
    finding = all_of(
        quadratic_close=positive(ERROR - quadratic[wide], f"{ERROR} minus the quadratic's error at width {wide}"),
        quadratic_explained=positive(
            _r_squared(rows, "quadratic", wide) - R_SQUARED, f"the quadratic's R² at width {wide} minus {R_SQUARED}"
        ),
        closer_when_wider=positive(
            quadratic[narrow] - quadratic[wide], f"the quadratic's error at width {narrow} minus that at width {wide}"
        ),
        relu_less=positive(relu[wide] - quadratic[wide], f"ReLU's error minus the quadratic's at width {wide}"),
        relu_rough=positive(
            _agreement(rows, "relu", wide), f"correlation of predicted and observed for ReLU at width {wide}"
        ),
        dip_predicted=positive(
            predicted_dip - DIP, f"smaller end of the predicted curve minus its inner minimum, minus {DIP}"
        ),
        dip_observed=positive(
            observed_dip - DIP, f"smaller end of the observed curve minus its inner minimum, minus {DIP}"
        ),
    )
    measured = (
        f"RMSE at width {wide}: quadratic {quadratic[wide].mean():.3f}, ReLU {relu[wide].mean():.3f}; "
        f"at {narrow}: {quadratic[narrow].mean():.3f}, {relu[narrow].mean():.3f}"
    )
    return replace(finding, numbers={**finding.numbers, **dip_by_case}, measured=measured)


def _seeds(rows: Rows) -> list[int]:
    return sorted(set(rows.seed.tolist()))


def _cases(rows: Rows) -> list[str]:
    return sorted(set(rows.case.tolist()))


def _curve(rows: Rows, case: str, quantity: str, width: str, seed: int) -> np.ndarray:
    """The correlation by rising decay; the layer column holds the width."""
    curve = rows.where(case=case, quantity=f"fig6/{quantity}", layer=width, seed=seed)
    return curve.value[np.argsort(curve.x)]


def _dip(curve: np.ndarray) -> float:
    return float(min(curve[0], curve[-1]) - curve[1:-1].min())


def _pairs(rows: Rows, activation: str, width: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Predicted and observed correlations of both targets, a pair of arrays for each seed."""
    cases = [case for case in _cases(rows) if case.startswith(activation)]

    def values(quantity: str, width: str, seed: int) -> np.ndarray:
        return np.concatenate([_curve(rows, case, quantity, width, seed) for case in cases])

    return [(values("predicted", "0", seed), values("observed", width, seed)) for seed in _seeds(rows)]


def _errors(rows: Rows, activation: str, width: str) -> np.ndarray:
    """Root mean square errors by seed."""
    pairs = _pairs(rows, activation, width)
    return np.array([np.sqrt(((predicted - observed) ** 2).mean()) for predicted, observed in pairs])


def _r_squared(rows: Rows, activation: str, width: str) -> np.ndarray:
    """R² about the observed mean, by seed."""
    pairs = _pairs(rows, activation, width)
    return np.array(
        [
            1 - ((observed - predicted) ** 2).sum() / max(((observed - observed.mean()) ** 2).sum(), 1e-12)
            for predicted, observed in pairs
        ]
    )


def _agreement(rows: Rows, activation: str, width: str) -> np.ndarray:
    """Pearson's correlation of predicted and observed values, by seed."""
    return np.array([np.corrcoef(*pair)[0, 1] for pair in _pairs(rows, activation, width)])


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's layout: dashed the narrow network, solid the wide one; the prediction in black."""
    figure, grid = style.panels(claim, columns=4, height=3.3, width=8.0)
    (control,) = style.controls(rows)
    for axes, case in zip(grid[0], CASES, strict=True):
        groups = dict(list(rows[rows["case"] == case].groupby(["arm", "quantity"])))
        observed = groups["claim", "fig6/observed"]
        with_residuals = groups["claim", "fig6/observed, residuals"]
        for width, dashes in zip(sorted(observed["layer"].unique(), key=int), ("--", "-"), strict=True):
            style.band(axes, observed[observed["layer"] == width], "x", style.CLAIM, linestyle=dashes,
                       label=f"observed, k = {width}")  # fmt: skip
            style.band(axes, with_residuals[with_residuals["layer"] == width], "x", style.OTHER, linestyle=dashes,
                       linewidth=0.8, label=f"with residuals, k = {width}")  # fmt: skip
        style.band(axes, groups["claim", "fig6/predicted"], "x", style.PRINTED, linestyle="-", label="predicted")
        style.band(axes, groups[control, "fig6/predicted"], "x", style.CONTROL, linestyle=":", label=control)
        axes.set(title=case, xlabel="data decay α", ylim=(0.65, 1.01))
    grid[0, 0].set_ylabel("correlation ρ(ẆᵀẆ, ẆᵀKẆ)")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
