"""With two hidden layers, the first-order term predicts the centered NFA's derivatives: for the quadratic activation
closely, the closer the wider the network; for ReLU roughly, to a lesser extent. Both dip at intermediate data decays.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "B.fig6"
KIND = "statistical"
TITLE = "First-order prediction of the centered NFA with depth"
PRINTED = "close for the quadratic, roughly for ReLU; widths 128 and 1024, Figure 6"
QUANTITIES = ("fig6/predicted", "fig6/observed")
ERROR = 0.1  # of a close prediction, root mean square over decays and targets
SHARE = 0.8  # and its R², for the curves do not vary much; both as in B.fig3
DIP = 0.02  # below the ends of a curve, which by chance alone is below them somewhere


def rule(rows: Rows) -> Finding:
    """Per seed: errors of the two activations and widths, correlation of the ReLU curves, depth of the dips.

    The dip is a mean over activations and targets; that of each stands in the numbers.
    """
    widths = sorted({int(layer) for layer in rows.where(quantity="fig6/observed").layer})
    narrow, wide = (str(width) for width in (widths[0], widths[-1]))
    quadratic, relu = ({k: _errors(rows, name, k) for k in (narrow, wide)} for name in ("quadratic", "relu"))
    dips = np.array(
        [
            [_dip(_curve(rows, name, quantity, layer, seed)) for name in _cases(rows)]
            for quantity, layer in (("predicted", "0"), ("observed", wide))
            for seed in _seeds(rows)
        ]
    )
    dips = dips.reshape(2, len(_seeds(rows)), -1)
    each = dict(zip([f"{side} dip, {name}" for side in ("predicted", "observed") for name in _cases(rows)],
                    dips.mean(1).ravel().tolist(), strict=True))  # fmt: skip
    dips = dips.mean(2)
    found = every(
        quadratic_close=positive(ERROR - quadratic[wide], f"{ERROR} less the quadratic's error at width {wide}"),
        quadratic_explained=positive(_shares(rows, "quadratic", wide) - SHARE, f"its R² there less {SHARE}"),
        closer_when_wider=positive(quadratic[narrow] - quadratic[wide], f"its error at width {narrow} less that"),
        relu_less=positive(relu[wide] - quadratic[wide], "ReLU's error less the quadratic's"),
        relu_rough=positive(_agreement(rows, "relu", wide), "correlation of predicted and observed for ReLU"),
        dip_predicted=positive(
            dips[0] - DIP, f"the smaller end of the predicted curve less its inner minimum, less {DIP}"
        ),
        dip_observed=positive(dips[1] - DIP, "the same of the observed curve"),
    )
    return replace(
        found,
        numbers={**found.numbers, **each},
        measured=f"RMSE at width {wide}: quadratic {quadratic[wide].mean():.3f}, "
        f"ReLU {relu[wide].mean():.3f}; at {narrow}: {quadratic[narrow].mean():.3f}, {relu[narrow].mean():.3f}",
    )


def _seeds(rows: Rows) -> list[int]:
    return sorted(set(rows.seed.tolist()))


def _cases(rows: Rows) -> list[str]:
    return sorted(set(rows.case.tolist()))


def _curve(rows: Rows, case: str, quantity: str, layer: str, seed: int) -> np.ndarray:
    one = rows.where(case=case, quantity=f"fig6/{quantity}", layer=layer, seed=seed)
    return one.value[np.argsort(one.x)]


def _pairs(rows: Rows, activation: str, width: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    names = [name for name in _cases(rows) if name.startswith(activation)]
    sides = (
        [_curve(rows, name, *which, seed) for name in names] for which in (("predicted", "0"), ("observed", width))
    )
    predicted, observed = (np.concatenate(side) for side in sides)
    return predicted, observed


def _errors(rows: Rows, activation: str, width: str) -> np.ndarray:
    gaps = [np.subtract(*_pairs(rows, activation, width, seed)) for seed in _seeds(rows)]
    return np.array([np.sqrt((gap**2).mean()) for gap in gaps])


def _shares(rows: Rows, activation: str, width: str) -> np.ndarray:
    pairs = [_pairs(rows, activation, width, seed) for seed in _seeds(rows)]
    return np.array(
        [1 - ((seen - guess) ** 2).sum() / max(((seen - seen.mean()) ** 2).sum(), 1e-12) for guess, seen in pairs]
    )


def _agreement(rows: Rows, activation: str, width: str) -> np.ndarray:
    return np.array([np.corrcoef(*_pairs(rows, activation, width, seed))[0, 1] for seed in _seeds(rows)])


def _dip(curve: np.ndarray) -> float:
    return float(min(curve[0], curve[-1]) - curve[1:-1].min())


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's layout: dashed the narrow network, solid the wide one; the prediction in black."""
    cases = ["quadratic, low rank", "quadratic, high rank", "relu, low rank", "relu, high rank"]
    figure, grid = style.panels(claim, columns=4, height=3.3, width=8.0)
    (control,) = style.controls(rows)
    for axes, case in zip(grid[0], cases, strict=True):
        found = rows[rows["case"] == case]
        claim_rows = found[found["arm"] == "claim"]
        seen = claim_rows[claim_rows["quantity"] == "fig6/observed"]
        for width, dashes in zip(sorted(seen["layer"].unique(), key=int), ("--", "-"), strict=True):
            style.band(
                axes, seen[seen["layer"] == width], "x", style.CLAIM, linestyle=dashes, label=f"observed, k = {width}"
            )
            other = claim_rows[(claim_rows["quantity"] == "fig6/observed, residuals") & (claim_rows["layer"] == width)]
            style.band(
                axes, other, "x", style.OTHER, linestyle=dashes, linewidth=0.8, label=f"with residuals, k = {width}"
            )
        for arm, color, dashes, label in (
            ("claim", style.PRINTED, "-", "predicted"),
            (control, style.CONTROL, ":", control),
        ):
            one = found[(found["arm"] == arm) & (found["quantity"] == "fig6/predicted")]
            style.band(axes, one, "x", color, linestyle=dashes, label=label)
        axes.set(title=case, xlabel="data decay α", ylim=(0.65, 1.01))
    grid[0, 0].set_ylabel("correlation ρ(ẆᵀẆ, ẆᵀKẆ)")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
