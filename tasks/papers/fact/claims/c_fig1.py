"""FACT-RFM learns a parity of four bits in a phase transition: it generalises iterations after it has fitted.

The training set is fitted while test accuracy is still at chance. Later test accuracy rises to near 1, and most of the
trace of M lies on the parity's support.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "C.fig1"
KIND = "statistical"
TITLE = "The phase transition of FACT-RFM on a sparse parity"
PRINTED = "delayed generalisation at k = 4, d = 50, n = 25,000, Figure 1 (as curves)"
QUANTITIES = ("transition/accuracy", "transition/train accuracy", "transition/mass", "transition/feature")
FITTED, LEARNED = 0.99, 0.9  # the machine has fitted from this training accuracy, has learned from this test accuracy
RISE, DELAY, MASS = 0.25, 0.5, 0.5  # thresholds of the rule; a delay is a whole number of iterations
MARGINS = {
    "rise": f"test accuracy's rise from the first to the best iterate, minus {RISE:g}",
    "delay": f"iterations from training accuracy {FITTED} to test accuracy {LEARNED}, minus {DELAY:g}; -1 if never",
    "mass": f"the trace's share on the support at the best iterate, minus {MASS:g}",
}
LINES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "mass": (style.PRINTED, "-.")}
LABELS = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "mass": "mass on the support"}


def rule(rows: Rows) -> Finding:
    """By seed: test accuracy rises, at least one iteration after the fit; at its best most mass is on the support."""
    margins: dict[str, list[float]] = {name: [] for name in MARGINS}
    for seed in rows.by("seed").values():
        test, train, mass = (_curve(seed, name) for name in ("accuracy", "train accuracy", "mass"))
        margins["rise"].append(float(test.max() - test[0]) - RISE)
        learned = test.max() >= LEARNED
        margins["delay"].append(_first(test >= LEARNED) - _first(train >= FITTED) - DELAY if learned else -1.0)
        margins["mass"].append(float(mass[test.argmax()]) - MASS)
    return all_of(**{name: positive(np.array(values), MARGINS[name]) for name, values in margins.items()})


def _curve(rows: Rows, name: str) -> np.ndarray:
    line = rows.where(quantity=f"transition/{name}")
    return line.value[np.argsort(line.x)]


def _first(reached: np.ndarray) -> int:
    return int(reached.argmax()) if reached.any() else len(reached)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the claim's and the control's curves as in the paper, and one seed's features at the chosen iterate."""
    figure, grid = style.panels(claim, columns=3, height=3.3, width=9.0)
    for axes, arm in zip(grid[0], ["claim", *style.controls(rows)], strict=False):
        for name, (color, dashes) in LINES.items():
            line = rows[(rows["arm"] == arm) & (rows["quantity"] == f"transition/{name}")]
            style.band(axes, line, "x", color, linestyle=dashes, label=LABELS[name])
        axes.set(xlabel="iteration", ylim=(0, 1.02), title="FACT-RFM" if arm == "claim" else arm)
    features = rows[(rows["arm"] == "claim") & (rows["quantity"] == "transition/feature")]
    style.image(grid[0, 2], features, "M at the chosen iteration\n(first seed, support first)")
    lines, names = grid[0, 0].get_legend_handles_labels()
    title = f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7, title=title, title_fontsize=7)
    return figure
