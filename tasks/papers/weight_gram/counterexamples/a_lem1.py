"""A.lem1: in a dead ReLU layer both sides are 0, so that the printed strict inequality fails and >= holds."""

import numpy as np

Y, W, c = np.array([1.0, -1.0]), np.array([[0.5]]), 1.0  # ||W|| = 0.5 < c


def sides(H):
    """Return the surrogates Y^T H^T H Y and c^-2 Y^T H^T W^T W H Y."""
    return float(np.sum((H @ Y) ** 2)), float(np.sum((W @ H @ Y) ** 2)) / c**2


dead, alive = np.maximum(np.array([[-1.0, -2.0]]), 0), np.maximum(np.array([[1.0, -2.0]]), 0)
for name, H in (("dead layer", dead), ("live layer", alive)):
    left, right = sides(H)
    print(f"{name}: S(G'_sigma) = {left:g}, S(G_id) / c^2 = {right:g}; printed: {left:g} > {right:g}")
assert not sides(dead)[0] > sides(dead)[1]
assert all(left >= right for left, right in (sides(dead), sides(alive)))
