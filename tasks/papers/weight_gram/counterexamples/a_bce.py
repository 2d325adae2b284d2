"""A.bce: similarity within classes dominates, and y^T K g is negative all the same."""

import numpy as np

y, h = np.array([1.0, 0.0]), np.array([1.0, 0.9])  # a sample of each class, one feature: 1 * 1 >= 1 * 0.9


def product(predicted):
    """Return y^T K g for these predicted probabilities, with K = h h^T and g = y - predicted."""
    return y @ np.outer(h, h) @ (y - predicted)


surely_1, balanced = np.array([0.9, 0.9]), np.array([0.4, 0.5])
print(f"predictions {surely_1}: y^T K g = {product(surely_1):+.2f}, printed as positive")
print(f"predictions {balanced}, where sum over S1 of (1 - p) >= sum over S0 of p: {product(balanced):+.2f}")
assert product(surely_1) < 0
assert 1 - balanced[0] >= balanced[1]
assert product(balanced) > 0
