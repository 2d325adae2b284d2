"""Quadratic networks f(x) = a^T (W x)^2 = x^T M x with M = sum_i a_i w_i w_i^T, and their loss on D(p, tau).

A network's weights are the rows (w_i, a_i) of theta (m, d + 1). The loss on D(p, tau) is exact: a quadratic form in M.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from gramlab.data.population import fact_population

RATE, BETAS = 0.01, (0.9, 0.999)  # Adam's


def represented(theta: np.ndarray) -> np.ndarray:
    """M of weights (..., m, d + 1)."""
    W, a = theta[..., :-1], theta[..., -1:]
    return np.swapaxes(W, -1, -2) @ (a * W)


def gradient(theta: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The gradient in theta (..., m, d + 1) of a function of M that has the symmetric gradient G in M."""
    W, a = theta[..., :-1], theta[..., -1:]
    WG = W @ G
    return np.concatenate([2 * a * WG, (W * WG).sum(-1, keepdims=True)], -1)


def jacobian(theta: np.ndarray) -> np.ndarray:
    """The derivative of M in theta, (m, d + 1, d, d)."""
    m, d = len(theta), theta.shape[1] - 1
    W, a = theta[:, :d], theta[:, d:]
    J = np.zeros((m, d + 1, d, d))
    for k in range(d):
        J[:, k, k, :] += a * W
        J[:, k, :, k] += a * W
    J[:, d] = W[:, :, None] * W[:, None, :]
    return J


def curvature(theta: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The second derivative of <G, M> in theta at a fixed G: (m (d + 1), m (d + 1))."""
    m, d = len(theta), theta.shape[1] - 1
    H = np.zeros((m, d + 1, m, d + 1))
    for i, row in enumerate(theta):
        H[i, :d, i, :d] = 2 * row[d] * G
        H[i, :d, i, d] = H[i, d, i, :d] = 2 * G @ row[:d]
    return H.reshape(theta.size, theta.size)


def construction(Q: np.ndarray, rank: int, printed: bool = False) -> np.ndarray:
    """Lemma D.2's network of Q's ``rank`` largest eigenvalues l: a = sgn |l / 2|^(1/3), w = |2 l^2|^(1/6) v.

    As printed in the lemma's proof: a = sgn |l|^(1/3) and w = |l|^(1/3) v.
    """
    values, vectors = np.linalg.eigh(Q)
    largest = np.argsort(-np.abs(values))[:rank]
    size = np.cbrt(np.abs(values[largest]))
    two = np.array(1 if printed else 2, Q.dtype)
    W = vectors[:, largest].T * (size * two ** (1 / 6))[:, None]
    return np.column_stack([W, np.sign(values[largest]) * size / two ** (1 / 3)]).astype(Q.dtype)


@dataclass
class Population:
    """The regularised loss on the 81 points of D(p, tau): E (f - y)^2 = M:T:M / 2 - B:M + constant."""

    p: float
    tau: float
    decay: float

    def __post_init__(self) -> None:
        data = fact_population(self.p, self.tau)
        assert data.weight_train is not None
        self.x, self.y, self.weight = data.x_train.numpy(), data.y_train.numpy()[:, 0], data.weight_train.numpy()
        products = (self.x[:, :, None] * self.x[:, None, :]).reshape(len(self.x), -1)
        self.T = 2 * (products.T * self.weight) @ products
        self.B = 2 * (products.T * self.weight) @ self.y

    def slope(self, M: np.ndarray) -> np.ndarray:
        """G = E 2 (f - y) x x^T, the gradient in M (..., 4, 4)."""
        return (M.reshape(*M.shape[:-2], 16) @ self.T - self.B).reshape(M.shape)

    def value(self, theta: np.ndarray) -> float:
        """(L + (lambda / 2) ||theta||^2) / lambda."""
        f = np.einsum("ni,ij,nj->n", self.x, represented(theta), self.x)
        return float((self.weight * (f - self.y) ** 2).sum() / self.decay + (theta**2).sum() / 2)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """The Hessian of ``value``, (m (d + 1), m (d + 1))."""
        J = jacobian(theta).reshape(theta.size, -1)
        G = self.slope(represented(theta)) / self.decay
        return J @ self.T @ J.T / self.decay + curvature(theta, G) + np.eye(theta.size)

    def features(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """W^T W, FACT and AGOP of the first layer, from their definitions over the 81 points."""
        W, a = theta[:, :-1], theta[:, -1]
        z = self.x @ W.T
        input_gradients = 2 * (z * a) @ W  # of f at each point
        residual = (z**2) @ a - self.y
        fact = -np.einsum("n,ni,nj->ij", self.weight * 2 * residual, input_gradients, self.x) / self.decay
        agop = np.einsum("n,ni,nj->ij", self.weight, input_gradients, input_gradients)
        return {"gram": W.T @ W, "fact": fact, "agop": agop}


def adam(slope: Callable[[np.ndarray], np.ndarray], theta: np.ndarray, decay: float, steps: int) -> np.ndarray:
    """Weights (seeds, m, d + 1) after Adam's steps, all seeds at once; lambda is in the gradient as in torch's Adam."""
    theta, mean, square = theta.copy(), np.zeros_like(theta), np.zeros_like(theta)
    first, second = BETAS
    for step in range(1, steps + 1):
        g = gradient(theta, slope(represented(theta)))
        g += decay * theta
        mean += (1 - first) * (g - mean)
        square += (1 - second) * (g * g - square)
        theta -= RATE / (1 - first**step) * mean / (np.sqrt(square / (1 - second**step)) + 1e-8)
    return theta


def minimiser(population: Population, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """The minimum that Newton's method in a trust region reaches, and a bound on the relative distance to it.

    The bound is ||gradient|| / (lowest curvature ||theta||), infinite where the Hessian is not positive.
    """
    shape = theta.shape

    def value(flat: np.ndarray) -> float:
        return population.value(flat.reshape(shape))

    def slope(flat: np.ndarray) -> np.ndarray:
        theta = flat.reshape(shape)
        G = population.slope(represented(theta)) / population.decay
        return (gradient(theta, G) + theta).ravel()

    def hessian(flat: np.ndarray) -> np.ndarray:
        return population.hessian(flat.reshape(shape))

    flat = minimize(value, theta.ravel(), jac=slope, hess=hessian, method="trust-exact",
                    options={"maxiter": 500, "gtol": 1e-4}).x  # fmt: skip
    for _ in range(6):  # full Newton steps go on where round-off hides the value's decrease
        flat = flat - np.linalg.solve(hessian(flat), slope(flat))
    lowest = float(np.linalg.eigvalsh(hessian(flat))[0])
    distance = float(np.linalg.norm(slope(flat)) / np.linalg.norm(flat)) / lowest if lowest > 0 else np.inf
    return flat.reshape(shape), distance
