"""Features of a network's layers from their definitions: one sample at a time, gradients by central differences.

Everything is numpy in float64. A network is a list of (W, b) with an activation between them; b may be None.
"""

import numpy as np


def identity(z):
    return z


def outputs_from(layers, first, h, activation):
    """The network's outputs (c,) where layer ``first`` gets the input h (d,)."""
    for index in range(first, len(layers)):
        W, b = layers[index]
        h = W @ h + (0 if b is None else b)
        if index < len(layers) - 1:
            h = activation(h)
    return h


def outputs_after(layers, index, z, activation):
    """The network's outputs (c,) where layer ``index`` has the output z (k,)."""
    return z if index == len(layers) - 1 else outputs_from(layers, index + 1, activation(z), activation)


def inputs_of(layers, index, x, activation):
    """The input h (d,) of a layer, for a sample x."""
    for W, b in layers[:index]:
        x = activation(W @ x + (0 if b is None else b))
    return x


def central(function, at, step=1e-5):
    """The Jacobian (outputs, inputs) of a function by central differences."""
    columns = []
    for coordinate in range(len(at)):
        shift = np.zeros(len(at))
        shift[coordinate] = step
        columns.append((function(at + shift) - function(at - shift)) / (2 * step))
    return np.array(columns).T.reshape(-1, len(at))


def mean_square_slope(f, target):
    """The gradient in f of (1/c) ||f - y||^2."""
    return 2 * (f - target) / len(f)


def layer_features(layers, index, x, targets, weight_decay, activation):
    """The Grams, FACT, AGOP and eNFA of a layer's input, and with "back_" those of its output.

    fact = -(1/(n lambda)) sum_i grad_h l_i h_i^T, back_fact = -(1/(n lambda)) sum_i z_i grad_z l_i^T with z = W h,
    agop = (1/n) sum_i J_i^T J_i, enfa = (1/n) sum_i grad l_i grad l_i^T. "slope" is the gradient of the loss in W.
    """
    W, b = layers[index]
    n = len(x)
    totals = dict.fromkeys(("fact", "agop", "enfa", "back_fact", "back_agop", "back_enfa", "slope"), 0.0)
    for sample, target in zip(x, targets, strict=True):
        h = inputs_of(layers, index, sample, activation)
        z = W @ h
        out = z + (0 if b is None else b)
        slope = mean_square_slope(outputs_from(layers, index, h, activation), target)
        J = central(lambda v: outputs_from(layers, index, v, activation), h)
        J_back = central(lambda v: outputs_after(layers, index, v, activation), out)
        g, g_back = J.T @ slope, J_back.T @ slope
        totals["fact"] += -np.outer(g, h) / (n * weight_decay)
        totals["back_fact"] += -np.outer(z, g_back) / (n * weight_decay)
        totals["slope"] += np.outer(g_back, h) / n
        totals["agop"] += J.T @ J / n
        totals["back_agop"] += J_back.T @ J_back / n
        totals["enfa"] += np.outer(g, g) / n
        totals["back_enfa"] += np.outer(g_back, g_back) / n
    return {**totals, "gram": W.T @ W, "back_gram": W @ W.T}


def power(A, exponent):
    """A positive semi-definite matrix to a power; eigenvalues that are round-off stay 0."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    nonzero = values > len(A) * 2.3e-16 * values.max()
    return sum(
        (
            value**exponent * np.outer(vector, vector)
            for value, vector in zip(values[nonzero], vectors.T[nonzero], strict=True)
        ),
        np.zeros_like(A),
    )


def entry_correlation(A, B):
    """Pearson's correlation of all entries."""
    return float(np.corrcoef(A.ravel(), B.ravel())[0, 1])


def entry_cosine(A, B):
    """The cosine of the angle between two matrices."""
    return float((A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum()))


def null_quantile(A, gram, random_matrices, correlation):
    """The 97.5 % quantile of A's correlation with matrices of the Gram's spectrum; ``random_matrices`` are normal."""
    values = np.linalg.eigvalsh(gram)
    values = values[values > len(gram) * 2.3e-16 * values[-1]]
    correlations = []
    for normal in random_matrices:
        Q = np.linalg.qr(normal)[0]
        correlations.append(correlation(A, sum(v * np.outer(q, q) for v, q in zip(values, Q.T, strict=True))))
    return float(np.quantile(correlations, 0.975))


def positive_eigenvalues(gram):
    """How many eigenvalues of a Gram matrix are not round-off."""
    values = np.linalg.eigvalsh(gram)
    return int((values > len(gram) * 2.3e-16 * values[-1]).sum())
