"""A.fig4, A.fig9: the printed surrogate changes with the scale of a layer; divided by ||W H||^2 it does not.

Double a ReLU layer's weight and halve the next layer's: the network computes the same function of the same features.
"""

import numpy as np

H, Y = np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 3.0])  # one feature of three samples, and their labels
raw, bounded = [], []
for w, readout in ((1.0, 1.0), (2.0, 0.5)):
    raw.append((w * H @ Y) ** 2)
    bounded.append((w * H @ (Y - Y.mean())) ** 2 / np.sum((w * H) ** 2))
    print(f"w = {w:g}: outputs {readout * np.maximum(w * H, 0)}, surrogate {raw[-1]:g}, divided {bounded[-1]:.4f}")
assert raw[1] == 4 * raw[0]
assert np.isclose(bounded[1], bounded[0])
