"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: at the printed variance 1/k the first steps overshoot, at 1/(3k) they do not.

Gradient descent is stable while rate times curvature is below 2. The curvature is the largest eigenvalue of
(2/n) J J^T, where J holds the gradients of the outputs with respect to all weights.
"""

import numpy as np

n, d, k, rate = 256, 32, 256, 0.05


def rate_times_curvature(variance, seed):
    """Return rate times curvature at initialization, for weights of variance ``variance`` / fan-in."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    W1, W2, a = (rng.normal(size=shape) * (variance / shape[-1]) ** 0.5 for shape in ((k, d), (k, k), (k,)))
    h1 = np.maximum(X @ W1.T, 0)
    h2 = np.maximum(h1 @ W2.T, 0)
    g2 = a * (h2 > 0)
    g1 = (g2 @ W2) * (h1 > 0)
    kernel = h2 @ h2.T + (g2 @ g2.T) * (h1 @ h1.T) + (g1 @ g1.T) * (X @ X.T)
    return rate * 2 / n * np.linalg.eigvalsh(kernel)[-1]


printed, derived = (np.mean([rate_times_curvature(variance, seed) for seed in range(3)]) for variance in (1, 1 / 3))
print(f"rate x curvature at scale 1: {printed:.2f} as printed, {derived:.2f} at variance 1/(3k); stable below 2")
assert printed > 2 > derived
