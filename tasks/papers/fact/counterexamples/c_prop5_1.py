"""C.prop5.1: for the falling kernel 1/t on positive numbers FACT M^T is negative; for k = exp it never is (M = I)."""

import numpy as np


def fact_times_m(slope, X, alpha):
    """Return sum_ij k'(x_i^T x_j) x_i alpha_i alpha_j x_j^T."""
    return X.T @ (slope(X @ X.T) * np.outer(alpha, alpha)) @ X


x, y, rng = np.array([[0.5], [1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 0.5, 2.0]), np.random.default_rng(0)
alpha = np.linalg.solve(1 / (x @ x.T) + 0.1 * np.eye(4), y)  # the kernel matrix is an outer product, so it is psd
product = fact_times_m(lambda t: -1 / t**2, x, alpha).item()
least = np.linalg.eigvalsh(fact_times_m(np.exp, rng.normal(size=(5, 3)), rng.normal(size=5)))[0]
print(f"FACT M^T for the kernel 1/t on four numbers: {product:.3g}; for k = exp its least eigenvalue: {least:.1e}")
assert product < -0.1
assert least > -1e-12
