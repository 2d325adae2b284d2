"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: at the printed variance 1/k the first steps overshoot, at 1/(3k) they do not.

Gradient descent is stable while rate times curvature is below 2. The curvature is the largest eigenvalue of
(2/n) J J^T, where J holds the gradients of the outputs with respect to all weights.
"""

import numpy as np

rng, n, d, k, steps = np.random.default_rng(0), 256, 32, 256, []
X, W1, W2, a = (rng.normal(size=shape) for shape in ((n, d), (k, d), (k, k), (k,)))
for variance in (1.0, 1 / 3):  # of the weights, over fan-in
    V1, V2, b = (weight * (variance / weight.shape[-1]) ** 0.5 for weight in (W1, W2, a))
    h1 = np.maximum(X @ V1.T, 0)
    h2 = np.maximum(h1 @ V2.T, 0)
    g2 = b * (h2 > 0)
    g1 = (g2 @ V2) * (h1 > 0)
    steps.append(0.05 * 2 / n * np.linalg.norm(h2 @ h2.T + (g2 @ g2.T) * (h1 @ h1.T) + (g1 @ g1.T) * (X @ X.T), 2))
print(f"rate x curvature: {steps[0]:.2f} as printed, {steps[1]:.2f} at variance 1/(3k); stable below 2")
assert steps[0] > 2 > steps[1]
