"""A.prop1: an increasing activation with a flat point keeps a layer at rest, although the virtual step moves."""

from collections.abc import Callable

import numpy as np

W, h, head, target, rate = 0.0, 1.0, 1.0, 1.0, 0.1
activations: dict[str, tuple[Callable, Callable]] = {
    "z - sin z": (lambda z: z - np.sin(z), lambda z: 1 - np.cos(z)),  # strictly increasing, derivative 0 at 0
    "tanh z": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}
signs = {}
for name, (sigma, derivative) in activations.items():
    output = float(sigma(W * h))
    at_h = 2 * (head * output - target) * head  # of the squared error, with respect to the layer's output
    updated = W - rate * at_h * float(derivative(W * h)) * h
    actual, virtual = float(sigma(updated * h)) - output, -rate * at_h
    signs[name] = np.sign(actual), np.sign(virtual)
    print(f"{name}: actual step {actual:+.3f}, virtual step {virtual:+.3f}")
assert signs["z - sin z"] == (0, 1)
assert signs["tanh z"] == (1, 1)
