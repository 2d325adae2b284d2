"""D.thm4.4: for a class of one sample, k = 1: the objective's least value is -1 / (1 + mu), and not +1 / (1 + mu)."""

import numpy as np

mu = 0.7
A = np.linspace(-2, 2, 400_001)
objective = A * (1 + mu) * A - 2 * A  # tr A (k^2 + mu k) A^T - 2 tr A k Y^T with k = Y = 1
value = 1 / (1 + mu)  # C n n / (n + mu) for C = n = 1
print(f"least value {objective.min():+.4f} at A = {A[objective.argmin()]:.4f}; objective at A = 0: 0")
print(f"printed {value:+.4f}, corrected {-value:+.4f}")
assert abs(objective.min() + value) < 1e-6
assert objective.min() < 0 < value
