"""A.prop1: an increasing activation with a flat point keeps a layer at rest, although the virtual step moves."""

import numpy as np

W, h, head, target, rate = 0.0, 1.0, 1.0, 1.0, 0.1
activations = {
    "z - sin z": (lambda z: z - np.sin(z), lambda z: 1 - np.cos(z)),  # strictly increasing, derivative 0 at 0
    "tanh z": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}
signs = {}
for name, (sigma, derivative) in activations.items():
    at_h = 2 * (head * sigma(W * h) - target) * head  # of the squared error, with respect to the layer's output
    updated = W - rate * at_h * derivative(W * h) * h
    actual, virtual = sigma(updated * h) - sigma(W * h), -rate * at_h
    signs[name] = np.sign(actual), np.sign(virtual)
    print(f"{name}: actual step {actual:+.3f}, virtual step {virtual:+.3f}")
assert signs["z - sin z"] == (0, 1)
assert signs["tanh z"] == (1, 1)
