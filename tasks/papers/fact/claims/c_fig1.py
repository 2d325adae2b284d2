"""FACT-RFM learns a parity of four bits by a phase transition: it generalises iterations after it has fitted.

The training set is fitted while new samples are still guessed; then test accuracy rises to near 1, and the features'
mass comes to lie on the support.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "C.fig1"
KIND = "statistical"
TITLE = "The phase transition of FACT-RFM on a sparse parity"
PRINTED = "delayed generalisation at k = 4, d = 50, n = 25,000, Figure 1 (as curves)"
QUANTITIES = ("transition/accuracy", "transition/train accuracy", "transition/mass", "transition/feature")
FITTED, LEARNED = 0.99, 0.9  # accuracies on training and on new samples


def rule(rows: Rows) -> Finding:
    """By seeds: test accuracy rises by 1/4 at least, an iteration or more after the fit; mass above 1/2 at its best."""
    found: dict[str, list[float]] = {"rise": [], "delay": [], "mass": []}
    for one in rows.by("seed").values():
        test, train, mass = (
            line.value[np.argsort(line.x)]
            for line in (one.where(quantity=f"transition/{what}") for what in ("accuracy", "train accuracy", "mass"))
        )
        found["rise"].append(float(test.max() - test[0]) - 0.25)
        learned = test.max() >= LEARNED
        found["delay"].append(_first(test >= LEARNED) - _first(train >= FITTED) - 0.5 if learned else -1.0)
        found["mass"].append(float(mass[test.argmax()]) - 0.5)
    what = {
        "rise": "test accuracy's rise from the first iterate to the best - 1/4",
        "delay": f"iterates from a training accuracy of {FITTED} to a test accuracy of {LEARNED} (never: -1) - 1/2",
        "mass": "the trace's share on the support at the best iterate - 1/2",
    }
    return every(**{name: positive(np.array(values), what[name]) for name, values in found.items()})


def _first(reached: np.ndarray) -> int:
    return int(reached.argmax()) if reached.any() else len(reached)


LINES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "mass": (style.PRINTED, "-.")}
NAMES = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "mass": "mass on the support"}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the claim's and the control's curves as in the paper, and one seed's features at the chosen iterate."""
    figure, grid = style.panels(claim, columns=3, height=3.3, width=9.0)
    seeds = rows["seed"].nunique()
    for axes, arm in zip(grid[0], ["claim", *style.controls(rows)], strict=False):
        for what, (color, dashes) in LINES.items():
            one = rows[(rows["arm"] == arm) & (rows["quantity"] == f"transition/{what}")]
            style.band(axes, one, "x", color, linestyle=dashes, label=NAMES[what])
        axes.set(xlabel="iteration", ylim=(0, 1.02), title="FACT-RFM" if arm == "claim" else arm)
    one = rows[(rows["arm"] == "claim") & (rows["quantity"] == "transition/feature")]
    style.image(grid[0, 2], one, "M at the chosen iteration\n(first seed, support first)")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"mean and Student's 95 % interval over {seeds} seeds", title_fontsize=7)  # fmt: skip
    return figure
