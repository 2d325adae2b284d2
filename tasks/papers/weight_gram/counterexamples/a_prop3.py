"""A.prop3: the mean reconstruction error is not sqrt(1 - T_0) up to normalization; the root mean square is."""

import numpy as np

z, x = np.array([-1.0, 0.0, 1.0]), np.array([1.0, -2.0, 1.0])  # both of mean 0
residual = x - (z @ x) / (z @ z) * z  # of the least-squares fit x ~ g z
by_linearity = np.sqrt(residual @ residual / (x @ x) * np.mean(x**2))  # the first quotient is 1 - T_0
mean, root_mean_square = np.mean(np.abs(residual)), np.sqrt(np.mean(residual**2))
print(f"sqrt(1 - T_0) (mean of x^2)^(1/2) = {by_linearity:.4f}")
print(f"residuals: mean {mean:.4f}, as printed; root mean square {root_mean_square:.4f}")
assert mean < by_linearity - 0.05
assert abs(root_mean_square - by_linearity) < 1e-12
