"""A.lem1: in a dead ReLU layer both sides are 0, so that the printed strict inequality fails and >= holds."""

import numpy as np

Y, W, c = np.array([1.0, -1.0]), 0.5, 1.0  # ||W|| < c
for name, inputs in (("live layer", [1.0, -2.0]), ("dead layer", [-1.0, -2.0])):
    H = np.maximum(inputs, 0)
    left, right = (H @ Y) ** 2, (W * H @ Y) ** 2 / c**2
    print(f"{name}: S(G'_sigma) = {left:g}, S(G_id) / c^2 = {right:g}; printed: {left:g} > {right:g}")
    assert left >= right
assert not left > right
