"""A.fig10: without an intercept, Definition 2 calls inputs that are linear in the latents not linear at all."""

import numpy as np

z = np.array([-1.0, 0.0, 1.0])  # latents of mean 0
x = 5 + z  # inputs, a linear function of the latents


def linearity(z, x):
    """Return 1 - ||x - g z||^2 / ||x - mean||^2 of the least-squares fit without an intercept."""
    residual = x - (z @ x) / (z @ z) * z
    return 1 - residual @ residual / np.sum((x - x.mean()) ** 2)


printed, centred = linearity(z, x), linearity(z - z.mean(), x - x.mean())
print(f"Target Linearity of x = 5 + z: {printed:g} as printed, {centred:g} with an intercept")
assert printed < 0
assert abs(centred - 1) < 1e-12
