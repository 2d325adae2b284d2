"""A.thm2: with e_1 = ||Y|| as in the theorem's text, larger labels break the bound; with ||Y||^2 it holds."""

import numpy as np

H, W, ridge = np.array([[1.0, 0.0]]), np.array([[1.0]]), 1.0  # c_0 = ||W|| = 1, c_1 = ||H|| = 1
for scale in (1.0, 10.0):
    Y = scale * np.array([1.0, 0.0])
    fit = H.T @ np.linalg.solve(H @ H.T + ridge * np.eye(1), H @ Y)
    e0 = np.sum((Y - Y.mean()) ** 2)
    linearity, surrogate = 1 - np.sum((Y - fit) ** 2) / e0, np.sum((W @ H @ Y) ** 2)
    printed, derived = (1 - e1**2 * (2 * ridge + 1) ** 2 / (4 * ridge * e0) / surrogate
                        for e1 in (np.linalg.norm(Y), np.linalg.norm(Y) ** 2))  # fmt: skip
    print(f"labels times {scale:g}: T = {linearity:.2f} >= {printed:+.3f} printed, {derived:+.2f} corrected")
    assert linearity >= derived
assert linearity < printed
