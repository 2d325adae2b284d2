"""A.bce: similarity within classes dominates, and y^T K g is negative all the same."""

import numpy as np

y, h = np.array([1.0, 0.0]), np.array([1.0, 0.9])  # a sample of each class, one feature: 1 * 1 >= 1 * 0.9
products = []
for predicted in ([0.9, 0.9], [0.4, 0.5]):  # the sum of 1 - p over class 1 is below that of p over class 0; above it
    products.append(y @ np.outer(h, h) @ (y - predicted))
    print(f"predictions {predicted}: y^T K g = {products[-1]:+.2f}, printed as positive")
H = np.array([[1, -0.5, -0.6], [0, 0.1, -10]])  # with negative features the condition on the sums is not enough
negative = np.array([1, 1, 0]) @ H.T @ H @ (np.array([1, 1, 0]) - [0.999, 0.001, 0.001])
print(f"negative features, sums 1 and 0.001: y^T K g = {negative:+.2f}")
assert max(products[0], negative) < 0 < products[1]
