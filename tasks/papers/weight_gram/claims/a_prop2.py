"""Under Neural Collapse (NC1, NC2) G_id = Y Y^T, and S_cls(G_id) is the maximum under the constraint on ||G_id||_F.

The features are centred, readout and bias are trained by least squares on the centred one-hot labels Y, and
S_cls(G) = tr(Y^T G Y) with the same labels. Centred features that form a simplex have classes of equal size. Networks
trained towards collapse only come close to it: their surrogate approaches the maximum as NC1 falls; with shuffled
labels, the control, it does not.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import UNIT, Finding, all_of, exact, positive
from tasks.judging.statistics import interval

ID = "A.prop2"
KIND = "exact"
TITLE = "Neural Collapse attains the surrogate's maximum"
PRINTED = "G_id = YYᵀ and 𝒮_cls(G_id) maximal under ‖G_id‖_F ≤ c, Proposition 2"
QUANTITIES = ("prop2/gram", "prop2/residual", "prop2/without NC2", "prop2/gap", "prop2/nc1", "prop2/nc2")
GAP = 0.01  # to the maximum, relative: a trained network has to end below; the threshold is ours


def rule(rows: Rows) -> Finding:
    """Both to round-off, on simplices of two to seven classes of any scale; and along training, the gap to the maximum.

    What NC1 alone gives, without NC2, is reported.
    """
    constructed = {"gram": rows.where(quantity="prop2/gram"), "maximum": rows.where(quantity="prop2/residual")}
    has_trained = len(rows.where(quantity="prop2/gap")) > 0
    # a control breaks either the construction or the training, and has no rows of the other
    parts = {name: exact(residuals) for name, residuals in constructed.items() if len(residuals) or not has_trained}
    finding = all_of(**parts, **(_trained(rows) if has_trained else {}))
    if "gram" in parts and has_trained:
        means = {name: [float(seeds.mean()) for seeds in _first_and_last(rows, f"prop2/{name}")]
                 for name in ("gap", "nc1", "nc2")}  # fmt: skip
        numbers = {f"trained, {name} {time}": mean for name, first_and_last in means.items()
                   for time, mean in zip(("at first", "at the end"), first_and_last, strict=True)}  # fmt: skip
        measured = "residuals {:.2g} u, {:.2g} u; trained: {:.2g} → {:.2g} below the maximum, NC1 {:.2g} → {:.2g}"
        worst = (parts["gram"].statistic, parts["maximum"].statistic)
        measured = measured.format(*worst, *means["gap"], *means["nc1"])
        finding = replace(finding, numbers={**finding.numbers, **numbers}, measured=measured)
    without_nc2 = rows.where(quantity="prop2/without NC2", dtype="float64")
    if not len(without_nc2):
        return finding
    worst_residual = float(without_nc2.value.max() / UNIT["float64"])
    name = "G_id = YYᵀ under NC1 alone, means in general position"
    return replace(finding, numbers={**finding.numbers, name: worst_residual})


def _trained(rows: Rows) -> dict[str, Finding]:
    """The relative gap to the maximum falls with NC1 along training, and ends below GAP."""
    gap, nc1 = (rows.where(quantity=name).by("seed") for name in ("prop2/gap", "prop2/nc1"))
    logs = [[np.log(series.value[np.argsort(series.x)]) for series in (gap[seed], nc1[seed])] for seed in gap]
    z = np.array([np.arctanh(np.corrcoef(*seed)[0, 1]) for seed in logs])
    _, final_gap = _first_and_last(rows, "prop2/gap")
    mean, low, high = interval(final_gap)
    rule = f"gap to the maximum at the end of training, mean over {len(final_gap)} seeds, Student's t at 95 % below "
    holds = True if high < GAP else False if low > GAP else None
    return {"along_training": positive(z, "Fisher's z of log gap and log NC1 over training"),
            "end": Finding(holds, mean, f"{rule}{GAP:g}", "direction", low, high)}  # fmt: skip


def _first_and_last(rows: Rows, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Each seed's value before training and at its end."""
    seeds = rows.where(quantity=quantity).by("seed").values()
    first, last = ([seed.value[place(seed.x)] for seed in seeds] for place in (np.argmin, np.argmax))
    return np.array(first), np.array(last)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the residuals by arm and precision; beside them the gap against NC1, where training goes to the left."""
    figure, grid = style.panels(claim, columns=2, height=3.8, width=7.8)
    _draw_residuals(grid[0, 0], rows)
    _draw_training(grid[0, 1], rows[rows["case"] == "trained"])
    return figure


def _draw_residuals(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[rows["quantity"].isin(["prop2/gram", "prop2/residual"]) & (rows["value"] > 0)]
    rows = rows.assign(kind=rows["case"].str.rsplit(",", n=1).str[0])
    worst = rows.groupby(["arm", "kind", "quantity", "dtype"], as_index=False)["value"].max()
    arms = ["claim", *style.controls(worst)]
    sns.stripplot(worst, x="value", y="arm", hue="dtype", order=arms, palette=[style.OTHER, style.CLAIM], ax=axes,
                  dodge=True, jitter=0.15, size=4, alpha=0.6, log_scale=True)  # fmt: skip
    axes.axvline(8 * UNIT["float64"], color=style.PRINTED, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(arms)), [arm.replace(": ", ":\n") for arm in arms], fontsize=8)
    axes.set(xlabel="constructed features: worst residual by kind\n(dashed: 8 u, float64)", ylabel="")
    axes.legend(title="", fontsize=7)


def _draw_training(axes: Axes, rows: pd.DataFrame) -> None:
    controls = [(arm, style.CONTROL, marker) for arm, marker in zip(style.controls(rows), "vX", strict=True)]
    for arm, color, marker in (*controls, ("claim", style.CLAIM, "o")):
        for index, (_, seed) in enumerate(rows[rows["arm"] == arm].groupby("seed")):
            course = seed.pivot(index="step", columns="quantity", values="value").sort_index()[::3]
            axes.plot(course["prop2/nc1"], course["prop2/gap"], color=color, linewidth=0.8, alpha=0.8, marker=marker,
                      markersize=2, label="_" if index else arm)  # fmt: skip
    axes.axhline(GAP, color=style.PRINTED, linestyle="--", linewidth=1, label="required at the end")
    axes.set(xscale="log", yscale="log", xlabel="trained networks: NC1 = tr S_W / tr S_B\n(training goes to the left)",
             ylabel="1 − surrogate / its maximum")  # fmt: skip
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(0, 0.75))
    axes.minorticks_off()
