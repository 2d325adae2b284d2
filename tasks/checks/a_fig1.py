"""The virtual update X - gamma * (sum of grad_X L) progressively unrolls a Swiss roll along its target.

So the Target Linearity (R^2 of the linear regression of the target) of the virtually updated points rises with
training time.
"""

import numpy as np

from tasks.judge import Finding, Rows, every, positive

ID = "A.fig1"
KIND = "statistical"
TITLE = "The virtual update unrolls a Swiss roll"
PRINTED = "“progressively unrolls”, Figure 1"
QUANTITIES = ("target_linearity", "target_linearity, drawn")


def rule(rows: Rows) -> Finding:
    """Per seed: it ends higher than it began, and its least change from frame to frame is a rise."""
    series, drawn = (
        [one.value[np.argsort(one.step)] for one in rows.where(quantity=name).by("seed").values()]
        for name in QUANTITIES
    )
    found = every(
        rise=positive(np.array([one[-1] - one[0] for one in series]), "last frame minus first"),
        steady=positive(np.array([np.diff(one).min() for one in series]), "least rise between frames"),
    )
    for at, frame in ((0, "first"), (-1, "last")):
        found.numbers[f"T at the figure's magnification, {frame} frame"] = float(np.mean([one[at] for one in drawn]))
    return found
