"""A network of dense layers, forward and backward, by hand."""

import math

import numpy as np


def relu(z):
    return np.where(z > 0, z, 0.0)


def unit_step(z):
    return (z > 0).astype(float)


FUNCTIONS = {  # the activation and its derivative
    "relu": (relu, unit_step), "relu^2": (lambda z: relu(z) ** 2, lambda z: 2 * relu(z)), "tanh": (
        np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "gelu": (lambda z: z * cdf(z), lambda z: cdf(z) + z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)),
    "cos 3z": (lambda z: np.cos(3 * z), lambda z: -3 * np.sin(3 * z)),
}  # fmt: skip


def cdf(z):
    return (1 + np.vectorize(math.erf)(z / math.sqrt(2))) / 2


def states(weights, biases, x, activation):
    """Inputs of all layers, their pre-activations, and the outputs (n, outputs)."""
    inputs, products = [x], []
    for layer, (W, b) in enumerate(zip(weights, biases, strict=True)):
        products.append(inputs[-1] @ W.T + b)
        if layer < len(weights) - 1:
            inputs.append(FUNCTIONS[activation][0](products[-1]))
    return inputs, products


def backward(weights, inputs, products, slope, activation):
    """Gradients of the weights, of the biases and of every layer's input, from those of the outputs (n, outputs)."""
    of_weights, of_biases, of_inputs = [], [], []
    for layer in reversed(range(len(weights))):
        if layer < len(weights) - 1:
            slope = slope * FUNCTIONS[activation][1](products[layer])
        of_weights.insert(0, slope.T @ inputs[layer])
        of_biases.insert(0, slope.sum(0))
        slope = slope @ weights[layer]
        of_inputs.insert(0, slope)
    return of_weights, of_biases, of_inputs
