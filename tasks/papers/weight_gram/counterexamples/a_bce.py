"""A.bce: similarity within classes dominates, and y^T K g is negative all the same."""

import numpy as np

y, h = np.array([1.0, 0.0]), np.array([1.0, 0.9])  # a sample of each class, one feature: 1 * 1 >= 1 * 0.9
products = []
for predicted in ([0.9, 0.9], [0.4, 0.5]):  # the sum of 1 - p over class 1 is below that of p over class 0; above it
    products.append(y @ np.outer(h, h) @ (y - predicted))
    print(f"predictions {predicted}: y^T K g = {products[-1]:+.2f}, printed as positive")
assert products[0] < 0 < products[1]
