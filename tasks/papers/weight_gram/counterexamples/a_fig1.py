"""A.fig1: with the learning rate as the step no point of the Swiss roll moves visibly; with the authors' step all do.

The virtual update of a point is the step c times the gradient of the loss, a mean over 1,000 points, in this point.
"""

import numpy as np

t = np.linspace(1.5, 4.5, 1000) * np.pi
X, y = np.stack([t * np.cos(t), t * np.sin(t)], 1) / 10, (t - t.mean()) / t.std()
w, total = np.array([0.5, 0.5]), np.zeros((1000, 2))  # f(x) = w^T x
for _ in range(50):
    slopes = 2 / len(X) * (X @ w - y)
    total, w = total + np.outer(slopes, w), w - 0.05 * X.T @ slopes
small, large = (c * np.linalg.norm(total) / np.linalg.norm(X) for c in (0.05, 700.0))
print(f"the points move by {small:.1e} of their norm with c = 0.05, by {large:.1e} with c = 700")
assert small < 0.01 < 0.1 < large  # a hundredth is not visible, a tenth is
