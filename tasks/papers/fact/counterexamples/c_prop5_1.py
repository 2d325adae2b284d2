"""C.prop5.1: for the non-increasing kernels 1/t (positive numbers) FACT M^T is negative; for k = exp it never is."""

import numpy as np

rng = np.random.default_rng(0)


def fact_times_m(slope, X, alpha, M):
    """Return sum_ij k'(x_i^T M x_j) M x_i alpha_i alpha_j x_j^T M^T."""
    return M @ X.T @ (slope(X @ M @ X.T) * np.outer(alpha, alpha)) @ X @ M.T


x, y, ridge = np.array([[0.5], [1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 0.5, 2.0]), 0.1
K = 1 / (x @ x.T)  # positive semi-definite: an outer product
alpha = np.linalg.solve(K + ridge * np.eye(4), y)
product = fact_times_m(lambda t: -1 / t**2, x, alpha, np.eye(1))
lowest = min(np.linalg.eigvalsh(fact_times_m(np.exp, rng.normal(size=(5, 3)), rng.normal(size=5), np.eye(3)))[0]
             for _ in range(100))  # fmt: skip
print(f"FACT M^T for the kernel 1/t on four numbers: {product.item():.3g}; for k = exp: eigenvalues from {lowest:.1e}")
assert np.linalg.eigvalsh(K)[0] > -1e-12
assert product < -1e-3
assert np.isclose(product.item(), -((alpha / x[:, 0]).sum() ** 2))
assert lowest > -1e-12
