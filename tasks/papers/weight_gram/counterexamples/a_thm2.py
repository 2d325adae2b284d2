"""A.thm2: with e_1 = ||Y|| as in the theorem's text, larger labels break the bound; with ||Y||^2 it holds."""

import numpy as np

H, W, Y, ridge = np.array([[1.0, 0.0]]), np.array([[1.0]]), np.array([10.0, 0.0]), 1.0  # ||W|| = c_0 = ||H|| = c_1 = 1
fit = H.T @ np.linalg.solve(H @ H.T + ridge * np.eye(1), H @ Y)
e0, surrogate = np.sum((Y - Y.mean()) ** 2), np.sum((W @ H @ Y) ** 2)
linearity = 1 - np.sum((Y - fit) ** 2) / e0
printed, derived = (1 - e1**2 * (2 * ridge + 1) ** 2 / (4 * ridge * e0 * surrogate) for e1 in (10.0, 10.0**2))
print(f"for ||Y|| = 10: T = {linearity:.2f} >= {printed:.3f} as printed, {derived:.2f} as corrected")
assert derived <= linearity < printed
