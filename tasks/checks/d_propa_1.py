"""E[sigma(Wx)^T sigma(Wy)] of random ReLU features in closed form, in r = x^T y of unit vectors; variance ~ 1/D.

The entries of W (D, d) are N(0, 2/D); the mean is ((1-r^2)^{3/2} + r^2 sqrt(1-r^2)) / pi + r/2
+ (r/pi) arctan(r / sqrt(1-r^2)), that is (sqrt(1-r^2) + r (pi - arccos r)) / pi. It is never below r, so that the
layer brings points nearer to each other, the less so the nearer they are; the text says that distances increase.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, exact, order

ID = "D.propA.1"
KIND = "exact"
TITLE = "Inner products after random ReLU features"
PRINTED = "closed form (5); variance ∝ 1/D, Proposition A.1"
QUANTITIES = ("propA1/residual", "propA1/mean", "propA1/away", "propA1/remainder")
AWAY = 4.0  # standard errors: about 1 in 200 among the 60 and more Monte Carlo means


def rule(rows: Rows) -> Finding:
    """Closed form against quadrature, against drawn W, and the variance's slope in 1/D."""
    mean = rows.where(quantity="propA1/mean")
    rules = {
        "quadrature": ("residual", exact),
        "Monte_Carlo": ("away", _near),
        "variance": ("remainder", lambda found: order(found, 1)),
    }
    parts = {part: (rows.where(quantity=f"propA1/{name}"), judged) for part, (name, judged) in rules.items()}
    found = every(**{part: judged(made) for part, (made, judged) in parts.items() if len(made)})
    if not len(mean):
        return found
    inside = mean.x < 1
    shrink = np.sqrt((1 - mean.value[inside]) / (1 - mean.x[inside]))
    measured = (
        f"every distance shrinks, to {shrink[mean.x[inside].argmin()]:.2f} of it at r = {mean.x.min():g} and to "
        f"{shrink[mean.x[inside].argmax()]:.4f} at r = {mean.x[inside].max():g}"
    )
    return replace(found, measured=measured)


def _near(rows: Rows) -> Finding:
    worst = float(np.abs(rows.value).max())
    return Finding(worst <= AWAY, worst, f"every mean within {AWAY:g} standard errors", "exact", high=AWAY)
