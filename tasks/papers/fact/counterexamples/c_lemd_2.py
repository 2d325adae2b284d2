"""C.lemD.2: for Q = 1 the printed network a = w = 1 costs 2; the least cost of a w^2 = 1 is 3 / 2^(2/3) = 1.89."""

import numpy as np

a = np.linspace(0.05, 5, 100_000)  # w^2 = 1 / a
cost = a**2 + 1 / a
best = a[cost.argmin()]
print("printed network a = w = 1: cost 2.0000")
print(f"best network a = {best:.4f}, w = {best**-0.5:.4f}: cost {cost.min():.4f}; 3 / 2^(2/3) = {3 / 2 ** (2 / 3):.4f}")
assert cost.min() < 2
assert abs(cost.min() - 3 / 2 ** (2 / 3)) < 1e-6
assert abs(best - 0.5 ** (1 / 3)) < 1e-3
