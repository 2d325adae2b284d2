"""A.fig8: in the standard parametrization a wider network takes larger steps; divided by the root of its width, not.

||grad f||^2 for f = a^T relu(W x) is how far f moves in a gradient step of unit rate and unit residual. The entries of
a have the variance 1 / width in both, as in the standard parametrization.
"""

import numpy as np

rng, x, steps = np.random.default_rng(0), np.ones(10), []
for width in (32, 1024):
    W, a = rng.normal(size=(50, width, 10)) / 10**0.5, rng.normal(size=(50, width)) / width**0.5
    hidden = np.sum(np.maximum(W @ x, 0) ** 2, 1)  # of the gradient in the readout
    inner = np.sum((a * (W @ x > 0)) ** 2, 1) * (x @ x)  # of the gradient in W; 50 draws
    steps.append((np.mean(hidden + inner), np.mean(hidden + inner) / width))  # f, and f / root of the width
    print("width {}: step of f {:.1f} as printed, {:.2f} divided by the root of the width".format(width, *steps[-1]))
assert steps[1][0] > 5 * steps[0][0]
assert steps[1][1] < 2 * steps[0][1]
