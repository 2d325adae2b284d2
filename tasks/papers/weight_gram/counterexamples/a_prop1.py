"""A.prop1: an increasing activation with a flat point keeps a layer at rest, although the virtual step moves."""

import numpy as np

W, h, head, target, rate = 0.0, 1.0, 1.0, 1.0, 0.1
slopes = {"z - sin z": 1 - np.cos(W * h), "tanh z": 1 - np.tanh(W * h) ** 2}  # both increase strictly and are 0 at 0
at_h = 2 * (0.0 - target) * head  # slope of the squared error in the layer's output
for name, sigma in (("z - sin z", lambda z: z - np.sin(z)), ("tanh z", np.tanh)):
    actual, virtual = sigma((W - rate * at_h * slopes[name] * h) * h) - sigma(W * h), -rate * at_h
    print(f"{name}: actual step {actual:+.3f}, virtual step {virtual:+.3f}")
    assert np.sign(actual) == (0 if name == "z - sin z" else np.sign(virtual))
