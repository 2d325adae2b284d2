"""The virtual update X - gamma * (sum of grad_X L) progressively unrolls a Swiss roll along its target.

So the Target Linearity (R^2 of the linear regression of the target) of the virtually updated points rises with
training time.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, kendall, positive

ID = "A.fig1"
KIND = "statistical"
TITLE = "The virtual update unrolls a Swiss roll"
PRINTED = "“progressively unrolls”, Figure 1"
CORRECTION = (
    "The step is 700 times the summed gradients of the mean loss, as in the authors' figure script, not the printed "
    "0.05; and the regression has an intercept, which Definition 2 leaves out. As printed Target Linearity rises too, "
    "by itself significantly, but by less than 0.001: no point moves visibly, and the rise does not survive Holm's "
    "correction over the paper's claims."
)
QUANTITIES = ("target_linearity",)


def rule(rows: Rows) -> Finding:
    """Per seed: it ends higher than it began, and Kendall's rank correlation with time is positive."""
    series = np.array([one.value[np.argsort(one.step)] for one in rows.by("seed").values()])
    found = every(
        rise=positive(series[:, -1] - series[:, 0], "last frame minus first"),
        trend=positive(np.array([kendall(one) for one in series]), "Kendall's tau of linearity and frame"),
    )
    first, last = (float(series[:, frame].mean()) for frame in (0, -1))
    return replace(found, measured=f"Target Linearity {first:.4f} → {last:.4f}")
