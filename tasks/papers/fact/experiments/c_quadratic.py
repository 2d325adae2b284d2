"""C.lemD.2, C.thm3.4, C.fig4: networks f(x) = a^T (W x)^2, which represent x^T M x with M = sum_i a_i w_i w_i^T.

A network's weights are rows (w_i, a_i) of theta (m, d + 1). The loss over D(p, tau) is exact: a quadratic form in M.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

import gramlab
from gramlab.data.population import fact_population
from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

LEAST = 3 * 2 ** (-2 / 3)  # the least a^2 + ||w||^2 for |a| ||w||^2 = 1, at a^2 = ||w||^2 / 2
STARTS, PENALTIES = 4, (1e-3, 1e-4, 1e-5)
KINDS = ("random", "psd", "two decades", "low rank", "eigenvalues 1 and -1")
ARMS = ("claim", "corrected", "control: fewer neurons than the rank")

FIGURE_4 = {  # arm -> p, tau, lambda
    "claim": (1e-5, 0.02, 1e-5),
    "corrected": (1e-5, 0.02, 1e-7),
    "control: p and tau near 1": (0.9, 0.9, 1e-2),
}
SEEDS, WIDTH, RATE, BETAS = 12, 10, 0.01, (0.9, 0.999)
NULLS = 40  # random matrices of W^T W's spectrum
EPSILONS = [2.0**-power for power in range(1, 11)]
POWERS = (0.25, 0.5, 1.0, 2.0)


class Settings(Simulation):
    """Settings of this experiment."""

    steps: Count


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: lemd2/... by kind of Q and arm, fig4/... by arm and seed, thm3.4/... by power and epsilon (x)."""
    for instance in range(settings.instances):
        yield from _lemma(instance)
    for arm, (p, tau, decay) in FIGURE_4.items():
        yield from ({"arm": arm, **row} for row in _figure_4(p, tau, decay, settings.steps))
    for epsilon in EPSILONS:
        for arm, p, tau in (("claim", epsilon**8, epsilon**3),
                            ("control: p and tau near 1", 1 - epsilon**8, 1 - epsilon**3)):  # fmt: skip
            yield from ({"arm": arm, "x": epsilon, **row} for row in _sweep(p, tau, epsilon**32))


# Lemma D.2 ------------------------------------------------------------------------------------------------------


def represented(theta: np.ndarray) -> np.ndarray:
    """M = sum_i a_i w_i w_i^T of weights (..., m, d + 1)."""
    W, a = theta[..., :-1], theta[..., -1:]
    return np.swapaxes(W, -1, -2) @ (a * W)


def cost(Q: np.ndarray, factor: float, rank: int | None = None) -> float:
    """factor * sum_i sigma_i(Q)^(2/3), of the ``rank`` largest: round-off^(2/3) of the others would show."""
    return factor * float((np.linalg.svd(Q, compute_uv=False)[:rank] ** (2 / 3)).sum())


def construction(Q: np.ndarray, rank: int, printed: bool = False) -> np.ndarray:
    """Weights on ``rank`` neurons from Q's eigenvectors: a = sgn |l / 2|^(1/3), w = |2 l^2|^(1/6) v.

    printed: a = sgn |l|^(1/3) and w = |l|^(1/3) v, as in the lemma's proof.
    """
    values, vectors = np.linalg.eigh(Q)
    at = np.argsort(-np.abs(values))[:rank]
    size = np.cbrt(np.abs(values[at]))
    two = np.array(1 if printed else 2, Q.dtype)
    rows = vectors[:, at].T * (size * two ** (1 / 6))[:, None]
    return np.column_stack([rows, np.sign(values[at]) * size / two ** (1 / 3)]).astype(Q.dtype)


def _lemma(instance: int) -> Iterator[dict]:
    draw, kind = stream("c_quadratic", "lemma", instance), KINDS[instance % len(KINDS)]
    d = int(draw.integers(3, 7))
    values = {
        "random": draw.normal(size=d),
        "psd": draw.uniform(0.2, 1, d),
        "two decades": 10 ** draw.uniform(-2, 0, d) * draw.choice([-1, 1], d),
        "low rank": np.append(draw.normal(size=d - 1), 0.0),
        "eigenvalues 1 and -1": draw.choice([-1.0, 1.0], d),
    }[kind]
    rank = int(np.count_nonzero(values))
    V = np.linalg.qr(draw.normal(size=(d, d)))[0]
    Q = (V * values) @ V.T
    Q = (Q + Q.T) / 2
    networks = {  # of many neurons for the lemma, of too few for its control
        arm: list(_search(Q, rank - 1 if arm.startswith("control") else 2 * d, draw)) for arm in ARMS[1:]
    }
    networks["claim"] = networks["corrected"]
    for arm in ARMS:
        about = {"arm": arm, "case": kind, "layer": str(instance)}
        factor = 2.0 if arm == "claim" else LEAST
        yield from _built({**about, "seed": instance}, Q, rank - arm.startswith("control"), rank, factor)
        costs = [cost(represented(theta), factor) / float((theta**2).sum()) for theta in networks[arm]]
        yield from ({**about, "dtype": "float64", "quantity": "lemd2/ratio", "value": value} for value in costs)
        ends = networks[arm][len(PENALTIES) :: len(PENALTIES) + 1]
        best = min(ends, key=lambda theta: ((represented(theta) - Q) ** 2).sum() / PENALTIES[-1] + (theta**2).sum())
        missed = float(np.linalg.norm(represented(best) - Q) / np.linalg.norm(Q))
        off = max(abs(np.square(best).sum() / cost(Q, factor, rank) - 1), missed)
        yield {**about, "dtype": "float64", "quantity": "lemd2/search", "value": float(off)}


def _built(about: dict, Q: np.ndarray, neurons: int, rank: int, factor: float) -> Iterator[dict]:
    for dtype in (np.float64, np.float32):
        wanted = Q.astype(dtype)
        theta = construction(wanted, neurons, printed=factor == 2)
        least = cost(wanted, factor, rank)
        off = {
            "lemd2/represented": float(np.linalg.norm(represented(theta) - wanted) / np.linalg.norm(wanted)) / len(Q),
            "lemd2/attained": abs(float((theta**2).sum()) - least) / (len(Q) * least),
        }
        for quantity, value in off.items():
            yield {**about, "dtype": np.dtype(dtype).name, "quantity": quantity, "value": value}


def _search(Q: np.ndarray, neurons: int, draw: np.random.Generator) -> Iterator[np.ndarray]:
    """From each random network: it, and those of least ||theta||^2 + ||M - Q||^2 / penalty, penalties falling."""
    for _ in range(STARTS):
        yield (theta := draw.normal(size=(neurons, len(Q) + 1)))
        for penalty in PENALTIES:
            scale = 2 / penalty

            def objective(flat: np.ndarray, scale: float = scale) -> tuple[float, np.ndarray]:
                theta = flat.reshape(neurons, -1)
                off = represented(theta) - Q
                return scale / 2 * float((off**2).sum()) + float((flat**2).sum()), (
                    gradient(theta, scale * off) + 2 * theta
                ).ravel()

            found = minimize(objective, theta.ravel(), jac=True, method="L-BFGS-B",
                             options={"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30})  # fmt: skip
            theta = found.x.reshape(neurons, -1)
            yield theta


def gradient(theta: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Of a function of M with the symmetric gradient G, with respect to theta (..., m, d + 1)."""
    W, a = theta[..., :-1], theta[..., -1:]
    WG = W @ G
    return np.concatenate([2 * a * WG, (W * WG).sum(-1, keepdims=True)], -1)


def jacobian(theta: np.ndarray) -> np.ndarray:
    """Of M with respect to theta, (m, d + 1, d, d)."""
    m, d = len(theta), theta.shape[1] - 1
    W, a = theta[:, :d], theta[:, d:]
    J = np.zeros((m, d + 1, d, d))
    for k in range(d):
        J[:, k, k, :] += a * W
        J[:, k, :, k] += a * W
    J[:, d] = W[:, :, None] * W[:, None, :]
    return J


def curvature(theta: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Second derivative of <G, M> with respect to theta, G held fixed: (m (d + 1), m (d + 1))."""
    m, d = len(theta), theta.shape[1] - 1
    H = np.zeros((m, d + 1, m, d + 1))
    for i, row in enumerate(theta):
        H[i, :d, i, :d] = 2 * row[d] * G
        H[i, :d, i, d] = H[i, d, i, :d] = 2 * G @ row[:d]
    return H.reshape(theta.size, theta.size)


# Theorem 3.4 ----------------------------------------------------------------------------------------------------


@dataclass
class Population:
    """The regularised loss on D(p, tau): E (f - y)^2 = M:T:M / 2 - B:M + ..., over its 81 points."""

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
        """G = E 2 (f - y) x x^T, the gradient with respect to M (..., 4, 4)."""
        return (M.reshape(*M.shape[:-2], 16) @ self.T - self.B).reshape(M.shape)

    def value(self, theta: np.ndarray) -> float:
        """L + (lambda / 2) ||theta||^2, over lambda."""
        f = np.einsum("ni,ij,nj->n", self.x, represented(theta), self.x)
        return float((self.weight * (f - self.y) ** 2).sum() / self.decay + (theta**2).sum() / 2)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Of ``value``, (m (d + 1), m (d + 1))."""
        J = jacobian(theta).reshape(theta.size, -1)
        G = self.slope(represented(theta)) / self.decay
        return J @ self.T @ J.T / self.decay + curvature(theta, G) + np.eye(theta.size)

    def features(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """W^T W, FACT and AGOP of the first layer, from their definitions over the 81 points."""
        W, a = theta[:, :-1], theta[:, -1]
        z = self.x @ W.T
        at_x = 2 * (z * a) @ W  # gradient of f with respect to x at each point
        residual = (z**2) @ a - self.y
        fact = -np.einsum("n,ni,nj->ij", self.weight * 2 * residual, at_x, self.x) / self.decay
        return {"gram": W.T @ W, "fact": fact, "agop": np.einsum("n,ni,nj->ij", self.weight, at_x, at_x)}


def adam(slope: Callable[[np.ndarray], np.ndarray], theta: np.ndarray, decay: float, steps: int) -> np.ndarray:
    """Adam's steps on weights (seeds, m, d + 1), all seeds at once, with lambda in the gradient as in torch's Adam."""
    theta, mean, square = theta.copy(), np.zeros_like(theta), np.zeros_like(theta)
    first, second = BETAS
    for step in range(1, steps + 1):
        g = gradient(theta, slope(represented(theta)))
        g += decay * theta
        mean += (1 - first) * (g - mean)
        square += (1 - second) * (g * g - square)
        theta -= RATE / (1 - first**step) * mean / (np.sqrt(square / (1 - second**step)) + 1e-8)
    return theta


def finish(population: Population, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """The minimiser that Newton's method in a trust region reaches, and how far away it can be, ||gradient|| / lowest
    curvature over ||theta||; infinite where the Hessian is not positive."""
    shape = theta.shape

    def slope(flat: np.ndarray) -> np.ndarray:
        theta = flat.reshape(shape)
        G = population.slope(represented(theta)) / population.decay
        return (gradient(theta, G) + theta).ravel()

    def value(flat: np.ndarray) -> float:
        return population.value(flat.reshape(shape))

    def hessian(flat: np.ndarray) -> np.ndarray:
        return population.hessian(flat.reshape(shape))

    flat = minimize(value, theta.ravel(), jac=slope, hess=hessian, method="trust-exact",
                    options={"maxiter": 500, "gtol": 1e-4}).x  # fmt: skip
    for _ in range(6):  # whole Newton steps, past where round-off hides the value's decrease
        flat = flat - np.linalg.solve(hessian(flat), slope(flat))
    curvature = float(np.linalg.eigvalsh(hessian(flat))[0])
    distance = float(np.linalg.norm(slope(flat)) / np.linalg.norm(flat)) / curvature if curvature > 0 else np.inf
    return flat.reshape(shape), distance


def _figure_4(p: float, tau: float, decay: float, steps: int) -> Iterator[dict]:
    population = Population(p, tau, decay)
    initial = []
    for seed in range(SEEDS):
        draw = stream("c_quadratic", "figure 4", seed)
        initial.append(np.column_stack([draw.uniform(-1, 1, (WIDTH, 4)) / 2,  # torch's U(-1, 1) / sqrt(fan-in)
                                        draw.uniform(-1, 1, WIDTH) / WIDTH**0.5]))  # fmt: skip
    trained = adam(population.slope, np.stack(initial), decay, steps)
    finished = [finish(population, theta) for theta in trained]
    values = [population.value(theta) for theta, _ in finished]
    for seed, (theta, distance) in enumerate(finished):
        about = {"seed": seed, "dtype": "float64"}
        yield {**about, "quantity": "fig4/excess", "value": values[seed] / min(values) - 1}
        yield {**about, "quantity": "fig4/distance", "value": min(distance, 1.0)}
        for when, weights in (("adam", trained[seed]), ("minimiser", theta)):
            found = population.features(weights)
            for name in ("fact", "agop"):
                value = gramlab.cosine(found[name], found["gram"])
                yield {**about, "quantity": f"fig4/{when}/{name}", "value": value}
            if when == "minimiser":
                fact, gram = (torch.from_numpy(found[name]) for name in ("fact", "gram"))
                draw = stream("c_quadratic", "null", seed)
                null = [gramlab.cosine(fact, gramlab.random_eigenvectors(gram, draw)) for _ in range(NULLS)]
                yield {**about, "quantity": "fig4/null/fact", "value": float(np.quantile(null, 0.975))}
            if when == "minimiser" and values[seed] == min(values):
                for name, matrix in found.items():
                    for entry, number in enumerate(matrix.ravel()):
                        yield {**about, "quantity": f"fig4/matrix/{name}", "x": float(entry), "value": float(number)}


def _sweep(p: float, tau: float, ratio: float) -> Iterator[dict]:
    """The minimiser at lambda = ratio * p, by Newton's method on (theta, Y) with Y = G / lambda.

    theta + gradient(theta, Y) = 0 and M - Q = lambda T^-1 Y hold their digits however small lambda is, where the loss
    itself does not. It starts from Lemma D.2's network of Q, the limit lambda = 0.
    """
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = tau / 2
    Q[2, 3] = Q[3, 2] = 1 / 2
    i, j = np.triu_indices(4)
    units = np.zeros((10, 4, 4))
    units[range(10), i, j] = units[range(10), j, i] = np.where(i == j, 1, 0.5**0.5)
    basis = units.reshape(10, 16)  # of symmetric matrices, orthonormal
    uniform, edge = Population(1.0, tau, ratio), np.outer([1, 1, 0, 0], [1, 1, 0, 0]).ravel() @ basis.T
    inverse = np.linalg.inv(basis @ uniform.T @ basis.T)
    at = inverse @ edge  # T = p * uniform + 2 (1 - p) * edge edge^T, inverted by Sherman and Morrison
    shift = ratio * (inverse - 2 * (1 - p) * np.outer(at, at) / (p + 2 * (1 - p) * edge @ at))

    theta = construction(Q, 4)
    y = np.linalg.lstsq(jacobian(theta).reshape(20, 16) @ basis.T, -theta.ravel(), rcond=None)[0]
    for _ in range(8):
        J, Y = jacobian(theta).reshape(20, 16) @ basis.T, (y @ basis).reshape(4, 4)
        system = np.block([[np.eye(20) + curvature(theta, Y), J], [J.T, -shift]])
        off = np.concatenate([
            (theta + gradient(theta, Y)).ravel(), basis @ (represented(theta) - Q).ravel() - shift @ y,
        ])  # fmt: skip
        step = np.linalg.solve(system, -off)
        theta, y = theta + step[:20].reshape(theta.shape), y + step[20:]
    # a strict minimum if and only if the system has as many negative eigenvalues as constraints
    yield {"quantity": "thm3.4/no minimum", "value": float(np.sum(np.linalg.eigvalsh(system) < 0) != len(basis))}
    found = Population(p, tau, ratio * p).features(theta)
    fact = -2 * represented(theta) @ (y @ basis).reshape(4, 4)  # -(2 / lambda) M G
    error = np.linalg.norm(fact - found["gram"]) / np.linalg.norm(found["gram"])
    yield {"case": f"p = {p:g}", "dtype": "float64", "quantity": "thm3.4/fact", "value": float(error)}
    for s in POWERS:
        value = gramlab.cosine(gramlab.psd_power(found["agop"], s), found["gram"])
        yield {"case": f"s = {s:g}", "dtype": "float64", "quantity": "thm3.4/correlation", "value": value}
