"""Under Neural Collapse (NC1, NC2) G_id = Y Y^T, and S_cls(G_id) is the most that the norm ||G_id||_F allows.

For centred features, readout and bias trained by least squares on the centred one-hot labels Y, and S_cls(G) =
tr(Y^T G Y) with these same labels. Features that are centred and form a simplex have classes of equal size. Networks
that are trained towards collapse come to it only nearly: there the surrogate nears the maximum as NC1 falls, which that
of shuffled labels, the control there, does not.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import UNIT, Finding, Rows, every, exact, interval, positive

ID = "A.prop2"
KIND = "exact"
TITLE = "Neural Collapse attains the surrogate's maximum"
PRINTED = "G_id = YYᵀ and 𝒮_cls(G_id) maximal under ‖G_id‖_F ≤ c, Proposition 2"
QUANTITIES = ("prop2/gram", "prop2/residual", "prop2/without NC2", "prop2/gap", "prop2/nc1", "prop2/nc2")
NEAR = 0.01  # of the maximum: how near a trained network has to come


def rule(rows: Rows) -> Finding:
    """Both to round-off, on simplices of two to seven classes of any scale; NC1 alone is reported beside them."""
    constructed = {"gram": rows.where(quantity="prop2/gram"), "maximum": rows.where(quantity="prop2/residual")}
    trained = len(rows.where(quantity="prop2/gap")) > 0
    # a control breaks one of the two, and has no rows of the other
    parts = {name: exact(one) for name, one in constructed.items() if len(one) or not trained}
    found = every(**parts, **(_trained(rows) if trained else {}))
    if "gram" in parts and trained:
        ends = {name: [float(one.mean()) for one in _ends(rows, f"prop2/{name}")] for name in ("gap", "nc1", "nc2")}
        numbers = {f"trained, {name} {when}": value for name, values in ends.items()
                   for when, value in zip(("at first", "at the end"), values, strict=True)}  # fmt: skip
        measured = "residuals {:.2g} u, {:.2g} u; trained: {:.2g} → {:.2g} below the maximum, NC1 {:.2g} → {:.2g}"
        worst = (parts["gram"].statistic, parts["maximum"].statistic, *ends["gap"], *ends["nc1"])
        found = replace(found, numbers={**found.numbers, **numbers}, measured=measured.format(*worst))
    general = rows.where(quantity="prop2/without NC2", dtype="float64")
    if not len(general):
        return found
    alone = float(general.value.max() / UNIT["float64"])
    return replace(found, numbers={**found.numbers, "G_id = YYᵀ under NC1 alone, means in general position": alone})


def _trained(rows: Rows) -> dict[str, Finding]:
    """The relative gap to the maximum falls with NC1 along training, and ends below NEAR."""
    gap, nc1 = (rows.where(quantity=name).by("seed") for name in ("prop2/gap", "prop2/nc1"))
    series = [[np.log(one.value[np.argsort(one.x)]) for one in (gap[seed], nc1[seed])] for seed in gap]
    together = np.array([np.arctanh(np.corrcoef(*both)[0, 1]) for both in series])
    _, end = _ends(rows, "prop2/gap")
    mean, low, high = interval(end)
    rule = f"gap to the maximum at the end of training, mean over {len(end)} seeds, Student's t at 95 % below {NEAR:g}"
    holds = True if high < NEAR else False if low > NEAR else None
    return {"along_training": positive(together, "Fisher's z of log gap and log NC1 over training"),
            "end": Finding(holds, mean, rule, "direction", low, high)}  # fmt: skip


def _ends(rows: Rows, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Each seed's value before training and at its end."""
    seeds = rows.where(quantity=quantity).by("seed").values()
    first, last = ([one.value[pick(one.x)] for one in seeds] for pick in (np.argmin, np.argmax))
    return np.array(first), np.array(last)


EXACT = ["prop2/gram", "prop2/residual"]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the residuals by arm and precision; beside them gap and NC1 along training, from right to left."""
    figure, grid = style.panels(claim, columns=2, height=3.8, width=7.8)
    left, right = grid[0]
    exact = rows[rows["quantity"].isin(EXACT) & (rows["value"] > 0)]
    exact = exact.assign(kind=exact["case"].str.rsplit(",", n=1).str[0])
    worst = exact.groupby(["arm", "kind", "quantity", "dtype"], as_index=False)["value"].max()
    arms = ["claim", *style.controls(worst)]
    sns.stripplot(worst, x="value", y="arm", hue="dtype", order=arms, palette=[style.OTHER, style.CLAIM], ax=left,
                  dodge=True, jitter=0.15, size=4, alpha=0.6, log_scale=True)  # fmt: skip
    left.axvline(8 * 2.0**-53, color=style.PRINTED, linestyle="--", linewidth=1)
    left.set_yticks(range(len(arms)), [arm.replace(": ", ":\n") for arm in arms], fontsize=8)
    left.set(xlabel="constructed features: worst residual by kind\n(dashed: 8 u, float64)", ylabel="")
    left.legend(title="", fontsize=7)
    trained = rows[rows["case"] == "trained"]
    broken = [(arm, style.CONTROL, marker) for arm, marker in zip(style.controls(trained), "vX", strict=True)]
    for arm, color, marker in (*broken, ("claim", style.CLAIM, "o")):
        label = arm
        for _, one in trained[trained["arm"] == arm].groupby("seed"):
            course = one.pivot(index="step", columns="quantity", values="value").sort_index()[::3]
            right.plot(course["prop2/nc1"], course["prop2/gap"], color=color, linewidth=0.8, alpha=0.8, marker=marker,
                       markersize=2, label=label)  # fmt: skip
            label = "_"
    right.axhline(NEAR, color=style.PRINTED, linestyle="--", linewidth=1, label="asked for at the end")
    right.set(xscale="log", yscale="log", xlabel="trained networks: NC1 = tr S_W / tr S_B\n(training goes to the left)",
              ylabel="1 − surrogate / its maximum")  # fmt: skip
    right.legend(fontsize=7, loc="center left", bbox_to_anchor=(0, 0.75))
    right.minorticks_off()
    return figure
