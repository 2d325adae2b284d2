"""gramlab.DeepRFM is Algorithm 1: normalise, interpolate labels of +-1, AGOP, X -> Phi(M^{1/2} X), layer after layer.

Laplace and Gaussian kernels, ReLU features and the random Fourier features of the l1 kernel (Appendix C). M is the mean
over samples (Section 3.3), where the algorithm's listing has the sum: they differ by the scale of the data, which only
Fourier features see. Features are drawn; their inner products must be those of their kernel.
"""

from dataclasses import replace

import numpy as np

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, every, exact

ID = "D.alg1"
KIND = "exact"
TITLE = "Deep RFM is Algorithm 1"
PRINTED = "Algorithm 1, Appendix C"
QUANTITIES = ("alg1/agop", "alg1/projected", "alg1/features", "alg1/normalised", "alg1/dual", "alg1/away")
AWAY = 4.0  # standard errors: about 1 in 150 among 100 means


def rule(rows: Rows) -> Finding:
    """Each step of every layer to round-off, cases taken apart by layer; drawn features within 4 standard errors."""
    parts = {name.removeprefix("alg1/"): rows.where(quantity=name) for name in QUANTITIES}
    return every(**{part: (_near if part == "away" else _steps)(found) for part, found in parts.items() if len(found)})


def _steps(rows: Rows) -> Finding:
    return replace(
        exact(rows, cases=4), rule="in all four kinds every float64 residual <= 8 u, shrinking by 2^25 to 2^33"
    )


def _near(rows: Rows) -> Finding:
    worst = float(np.abs(rows.value).max())
    return Finding(worst <= AWAY, worst, f"every mean within {AWAY:g} standard errors", "exact", high=AWAY)
