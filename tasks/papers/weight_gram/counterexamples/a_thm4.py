"""A.thm4: f = |x_1| - |x_2| on samples of all four signs interpolates and obeys the ansatz, and its surrogate is 0."""

import numpy as np

W0 = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])  # f = (1, 1, -1, -1) relu(W0 x)
X = np.array([(i, j) for a, b in ((2.0, 1.0), (1.0, 2.0)) for i in (a, -a) for j in (b, -b)])
Y = np.maximum(X @ W0.T, 0) @ [1, 1, -1, -1]  # fitted exactly; their mean is 0
gradients = np.sign(X) * [1, -1]
psi = 8 * (np.abs(Y).sum() + 2 * 8 * 4 * 5**0.5 * 2.0) ** 2  # 8 samples of norm 5^(1/2), 4 regions, jumps of 2
surrogate, bound = np.sum((W0 @ X.T @ Y) ** 2), np.sum((W0 @ X.T) ** 2) * np.sum(Y**2) ** 2 / psi  # C_0 = ||W_0 H_0||^2
print(f"labels {np.unique(Y)}; surrogate {surrogate:g}; printed lower bound C_0 ||Y||^4 / Psi: {bound:.1e}")
assert np.allclose(W0.T @ W0, 2 * gradients.T @ gradients / len(X))  # the ansatz: W_0^T W_0 = 2 AGOP
assert surrogate == 0 < bound
