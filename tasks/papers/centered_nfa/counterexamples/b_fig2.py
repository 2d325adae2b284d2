"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: at the printed variance 1/k the first steps overshoot, at 1/(3k) they do not.

Gradient descent is stable while rate times curvature is below 2. The curvature is the largest eigenvalue of
(2/n) J J^T, where J holds the gradients of the outputs with respect to all weights.
"""

import numpy as np

rng, n, d, k = np.random.default_rng(0), 256, 32, 256
X, W1, W2, a = (rng.normal(size=shape) / shape[-1] ** 0.5 for shape in ((n, d), (k, d), (k, k), (k,)))
h1 = np.maximum(d**0.5 * X @ W1.T, 0)
h2 = np.maximum(h1 @ W2.T, 0)
g2 = a * (h2 > 0)
g1 = (g2 @ W2) * (h1 > 0)
step = 0.05 * 2 / n * np.linalg.norm(h2 @ h2.T + (g2 @ g2.T) * (h1 @ h1.T) + d * (g1 @ g1.T) * (X @ X.T), 2)
print(f"rate x curvature: {step:.2f} as printed, {step / 9:.2f} at variance 1/(3k); stable below 2")
assert step > 2 > step / 9  # a ReLU network with three layers: the curvature grows with the square of the variance
