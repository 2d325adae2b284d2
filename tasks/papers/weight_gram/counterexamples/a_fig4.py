"""A.fig4, A.fig9: the printed surrogate changes with the scale of a layer; divided by ||W H||^2 it does not.

Double a ReLU layer's weights and halve the next layer's: the network computes the same function of the same features.
"""

import numpy as np

rng = np.random.default_rng(0)
H, W, Y = rng.random((3, 8)), rng.normal(size=(4, 3)), rng.normal(size=8)
readout = rng.normal(size=4)


def surrogate(W):
    """Return Y^T H^T W^T W H Y and, for centred labels, the same over ||W H||^2."""
    return np.sum((W @ H @ Y) ** 2), np.sum((W @ H @ (Y - Y.mean())) ** 2) / np.sum((W @ H) ** 2)


(raw, bounded), (raw_doubled, bounded_doubled) = surrogate(W), surrogate(2 * W)
same = np.allclose(readout @ np.maximum(W @ H, 0), readout / 2 @ np.maximum(2 * W @ H, 0))
print(f"same outputs: {same}; printed surrogate {raw:.2f} -> {raw_doubled:.2f}")
print(f"divided by ||W H||^2: {bounded:.4f} -> {bounded_doubled:.4f}")
assert same
assert np.isclose(raw_doubled, 4 * raw)
assert np.isclose(bounded_doubled, bounded)
