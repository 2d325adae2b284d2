"""Paper A's quantities straight from their definitions, in numpy and float64; no code of the project."""

import math
from math import erf

import numpy as np

ACTIVATIONS = {
    "gelu": lambda z: z * (1 + np.vectorize(erf)(z / math.sqrt(2))) / 2,
    "relu": lambda z: np.where(z > 0, z, 0.0),
}
SLOPES = {
    "gelu": lambda z: (1 + np.vectorize(erf)(z / math.sqrt(2))) / 2 + z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi),
    "relu": lambda z: (z > 0).astype(float),
}


def hidden_states(weights: dict, x: np.ndarray, activation: str) -> list[np.ndarray]:
    """The input of every linear layer of a multilayer perceptron, and its outputs at the end; rows are samples."""
    layers = sorted({int(name.split(".")[0]) for name in weights})
    states = [x]
    for layer in layers:
        z = np.stack([weights[f"{layer}.weight"] @ row for row in states[-1]]) + weights.get(f"{layer}.bias", 0.0)
        states.append(z if layer == layers[-1] else ACTIVATIONS[activation](z))
    return states


def input_jacobians(weights: dict, x: np.ndarray, activation: str) -> np.ndarray:
    """The Jacobian (outputs, inputs) of every sample, by the chain rule: (n, outputs, inputs)."""
    layers = sorted({int(name.split(".")[0]) for name in weights})
    jacobians = []
    for sample in x:
        h, jacobian = sample, np.eye(len(sample))
        for layer in layers:
            z = weights[f"{layer}.weight"] @ h + weights.get(f"{layer}.bias", 0.0)
            jacobian = weights[f"{layer}.weight"] @ jacobian
            if layer != layers[-1]:
                jacobian, h = SLOPES[activation](z)[:, None] * jacobian, ACTIVATIONS[activation](z)
        jacobians.append(jacobian)
    return np.stack(jacobians)


def one_hot(labels, classes: int) -> np.ndarray:
    """(n, classes)."""
    rows = np.zeros((len(labels), classes))
    for row, label in enumerate(labels):
        rows[row, int(label)] = 1
    return rows


def surrogate(H: np.ndarray, W: np.ndarray, Y: np.ndarray) -> float:
    """The trace of Y^T G Y, G_ij = <W h_i, W h_j>, as a double sum over samples."""
    Y = Y.reshape(len(Y), -1)
    outputs = [W @ h for h in H]
    return float(sum((outputs[i] @ outputs[j]) * (Y[i] @ Y[j]) for i in range(len(H)) for j in range(len(H))))


def linearity(H: np.ndarray, Y: np.ndarray, intercept: bool = False) -> float:
    """1 - |Y - Y_hat|^2 / |Y - mean Y|^2 by least squares on H, or on H and a column of ones."""
    Y = Y.reshape(len(Y), -1)
    design = np.column_stack([H, np.ones(len(H))]) if intercept else H
    fitted = design @ np.linalg.pinv(design, rcond=1e-12) @ Y
    return float(1 - ((Y - fitted) ** 2).sum() / ((Y - Y.mean(0)) ** 2).sum())


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """The correlation coefficient over all entries."""
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    return float((a * b).sum() / math.sqrt((a**2).sum() * (b**2).sum()))


def replaced_labels(labels, classes: int, probability: float, stream, *name) -> np.ndarray:
    """Labels, each replaced with this probability by a class drawn from the named random stream."""
    uniform = stream(*name, "which").uniform(size=len(labels))
    drawn = stream(*name, "label").integers(classes, size=len(labels))
    return np.array([new if u < probability else old for old, new, u in zip(labels, drawn, uniform, strict=True)])
