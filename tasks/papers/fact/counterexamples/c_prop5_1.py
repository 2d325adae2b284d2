"""C.prop5.1: for the non-increasing k(t) = -t, one sample makes FACT M^T negative; for k = exp it is never negative."""

import numpy as np

rng = np.random.default_rng(0)


def fact_times_m(slope, X, alpha, M):
    """Return sum_ij k'(x_i^T M x_j) M x_i alpha_i alpha_j x_j^T M^T."""
    return M @ X.T @ (slope(X @ M @ X.T) * np.outer(alpha, alpha)) @ X @ M.T


product = fact_times_m(lambda t: -np.ones_like(t), np.ones((1, 1)), np.ones(1), np.eye(1))
lowest = min(np.linalg.eigvalsh(fact_times_m(np.exp, rng.normal(size=(5, 3)), rng.normal(size=5), np.eye(3)))[0]
             for _ in range(100))  # fmt: skip
print(f"FACT M^T for k(t) = -t, x = alpha = M = 1: {product.item():g}; for k = exp: eigenvalues from {lowest:.1e}")
assert product < 0
assert lowest > -1e-12
