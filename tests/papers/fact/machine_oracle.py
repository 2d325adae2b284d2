"""Kernel machines and their feature updates from the definitions: explicit sums over samples in numpy.

A kernel is (radial, g, g'), functions of the squared distance or the inner product under a symmetric M.
"""

import numpy as np


def gaussian(bandwidth):
    scale = 2 * bandwidth**2
    return True, lambda s: np.exp(-s / scale), lambda s: -np.exp(-s / scale) / scale


def laplace(bandwidth):
    def slope(s):
        r = np.sqrt(s)
        return np.divide(-np.exp(-r / bandwidth), 2 * bandwidth * r, out=np.zeros_like(r), where=r > 0)

    return True, lambda s: np.exp(-np.sqrt(s) / bandwidth), slope


QUADRATIC = (False, np.square, lambda t: 2 * t)


def pairs(kernel, a, b, M):
    """The squared distance or the inner product of each row of a with each row of b."""
    if not kernel[0]:
        return a @ M @ b.T
    differences = a[:, None] - b
    distances = (differences @ M * differences).sum(-1)
    return np.where((differences == 0).all(-1), 0.0, np.maximum(distances, 0.0))


def values(kernel, a, b, M):
    return kernel[1](pairs(kernel, a, b, M))


def gradients(kernel, x, alpha, M):
    """The Jacobian of f at every sample, (n, outputs, d)."""
    slopes = kernel[2](pairs(kernel, x, x, M))
    directions = 2 * (x[:, None] - x) @ M if kernel[0] else np.broadcast_to(x @ M, (len(x), *x.shape))
    return np.einsum("ij,jc,ijd->icd", slopes, alpha, directions, optimize=True)


def agop(kernel, x, alpha, M):
    J = gradients(kernel, x, alpha, M)
    return sum(j.T @ j for j in J) / len(x)


def fact(kernel, x, alpha, M):
    """sum_i J_i^T alpha_i x_i^T, which is -(1/(n lambda)) sum_i grad_x l_i x_i^T at the optimal dual weights."""
    return sum(np.outer(j.T @ a, sample) for j, a, sample in zip(gradients(kernel, x, alpha, M), alpha, x, strict=True))


def absolute_root(A):
    """The symmetric matrix with the eigenvectors of a symmetric A and the roots of its absolute eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh((A + A.T) / 2)
    return (vectors * np.sqrt(abs(eigenvalues))) @ vectors.T


def polar(A):
    """sqrt(A A^T)."""
    U, S, _ = np.linalg.svd(A)
    return (U * S) @ U.T


UPDATES = {
    "AGOP^(1/2)": lambda kernel, x, alpha, M: absolute_root(agop(kernel, x, alpha, M)),
    "AGOP": agop,
    "|FACT|": lambda kernel, x, alpha, M: polar(fact(kernel, x, alpha, M)),
    "|FACT M|^(1/2)": lambda kernel, x, alpha, M: absolute_root(fact(kernel, x, alpha, M) @ M),
}


def dual(kernel, x, y, M, ridge):
    return np.linalg.solve(values(kernel, x, x, M) + ridge * np.eye(len(x)), y)


def machines(update, kernel, x, y, ridge, count):
    """(M, alpha) of the first machines, from M = I."""
    M = np.eye(x.shape[1])
    path = []
    for _ in range(count):
        alpha = dual(kernel, x, y, M, ridge)
        path.append((M, alpha))
        M = UPDATES[update](kernel, x, alpha, M)
    return path


def left_out_errors(kernel, x, y, M, ridge):
    """y_i - f_i(x_i), where f_i is fitted anew without sample i."""
    errors = []
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        alpha = dual(kernel, x[others], y[others], M, ridge)
        errors.append(y[i] - values(kernel, x[i : i + 1], x[others], M)[0] @ alpha)
    return np.array(errors)
