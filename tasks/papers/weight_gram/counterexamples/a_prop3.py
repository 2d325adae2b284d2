"""A.prop3: the mean reconstruction error is not sqrt(1 - T_0) up to normalization; the root mean square is."""

import numpy as np

z, x = np.array([-1.0, 0.0, 1.0]), np.array([1.0, -2.0, 1.0])  # both of mean 0
residual = x - (z @ x) / (z @ z) * z  # of the least-squares fit x ~ g z
linearity = 1 - residual @ residual / (x @ x)
by_linearity = np.sqrt(1 - linearity) * np.sqrt(np.mean(x**2))
mean, root_mean_square = np.mean(np.abs(residual)), np.sqrt(np.mean(residual**2))
print(f"sqrt(1 - T_0) (mean of x^2)^(1/2) = {by_linearity:.4f}")
print(f"mean of |residuals|, as printed:    {mean:.4f}")
print(f"root mean square of residuals:      {root_mean_square:.4f}")
assert abs(mean - by_linearity) > 0.05
assert abs(root_mean_square - by_linearity) < 1e-12
assert mean <= by_linearity
