"""A.fig8: in the standard parametrization a wider network takes larger steps; divided by the root of its width, not."""

import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=10)


def step(width, divide):
    """Return ||grad f||^2 for f = a^T relu(W x): how far f moves in a gradient step of unit rate and unit residual."""
    W, a = rng.normal(size=(width, 10)) / 10**0.5, rng.normal(size=width) / width**0.5
    h, active = np.maximum(W @ x, 0), W @ x > 0
    if divide:  # outputs divided by the root of the width, weights of variance 1
        a, scale = a * width**0.5, width**-0.5
    else:
        scale = 1.0
    return scale**2 * (h @ h + np.sum((a * active) ** 2) * (x @ x))


for divide, name in ((False, "as printed"), (True, "divided by the root of the width")):
    narrow, wide = (np.mean([step(width, divide) for _ in range(50)]) for width in (32, 1024))
    print(f"{name}: step of f {narrow:.1f} at width 32, {wide:.1f} at width 1024")
    assert (wide > 5 * narrow) != divide
