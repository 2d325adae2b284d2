"""At convergence of FACT-RFM on modular addition the two similarities of Proposition 5.1 are about proportional.

tau(x_i, M, x_j) against k'(x_i^T M x_j) over 1000 random pairs of samples, with the best line through the origin. An
untrained M is hardly worse: at M = I the pairs that share a number (k' = 2, tau about 0.07) stand apart from those that
share none (0, 0.002), and R^2 is 0.94 at p = 61. So a good fit is no sign of learned features, and this control stays.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, matches, positive

ID = "C.fig7"
KIND = "statistical"
TITLE = "The similarities of AGOP and FACT are proportional"
PRINTED = "R² = 0.987 of the line through the origin, 1000 pairs, mod 61, Figure 7 (R² as the ICLR version has it)"
QUANTITIES = ("modular/pair",)


def rule(rows: Rows) -> Finding:
    """By seeds: R^2 of the best line through the origin, about the mean of tau, above 0.9."""
    found = np.array([r_squared(one.x, one.value) for one in rows.by("seed").values()])
    judged = positive(found - 0.9, "R^2 of the proportional line - 0.9")
    numbers = {"mean R^2": float(found.mean())}
    if set(rows.scale) == {"paper"}:
        numbers["matches print"] = float(matches(found, 0.987, 0.001))
    return replace(judged, numbers=numbers)


def r_squared(x: np.ndarray, y: np.ndarray) -> float:
    """Of y = a x with the least-squares a."""
    return float(1 - ((y - (x @ y) / (x @ x) * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())
