"""C.lemD.2, C.thm3.4, C.fig4: the least norm of quadratic networks, and their minimisers on D(p, tau).

Figure 4 prints 10^6 Adam steps at rate 0.01, width 10, under it.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

import gramlab
from gramlab.streams import stream
from tasks.papers.fact.experiments.shared.quadratic import (
    Population,
    adam,
    construction,
    curvature,
    gradient,
    jacobian,
    minimiser,
    represented,
)
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

# Lemma D.2
LEAST = 3 * 2 ** (-2 / 3)  # the least a^2 + ||w||^2 for |a| ||w||^2 = 1, at a^2 = ||w||^2 / 2
STARTS, PENALTIES = 4, (1e-3, 1e-4, 1e-5)
KINDS = ("random", "psd", "two decades", "low rank", "eigenvalues 1 and -1")
ARMS = ("claim", "corrected", "control: fewer neurons than the rank")
# Figure 4
FIGURE_4 = {  # arm -> p, tau, lambda
    "claim": (1e-5, 0.02, 1e-5),
    "corrected": (1e-5, 0.02, 1e-7),
    "control: p and tau near 1": (0.9, 0.9, 1e-2),
}
SEEDS, WIDTH = 12, 10
EARLY = "control: after 100 steps"  # far from a critical point
NULLS = 40  # random matrices of W^T W's spectrum
# Theorem 3.4
EPSILONS = [2.0**-power for power in range(1, 11)]
POWERS = (0.25, 0.5, 1.0, 2.0)
AWAY = "control: 1 % from the minimiser"


class Settings(Simulation):
    """``instances`` counts the matrices Q of Lemma D.2."""

    steps: Count  # Adam steps of Figure 4

    def seeds(self) -> set[int]:
        """The seeds of Figure 4, the only statistical claim."""
        return {SEEDS}


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: lemd2/... by kind of Q and arm, fig4/... by arm and seed, thm3.4/... by power and epsilon (x)."""
    for instance in range(settings.instances):
        yield from lemma_d2(instance)
    for arm, (p, tau, decay) in FIGURE_4.items():
        yield from ({"arm": arm, **row} for row in figure_4(p, tau, decay, settings.steps))
    yield from ({"arm": EARLY, **row} for row in far_from_convergence(*FIGURE_4["corrected"], 100))
    for epsilon in EPSILONS:
        for arm, p, tau in (("claim", epsilon**8, epsilon**3),
                            ("control: p and tau near 1", 1 - epsilon**8, 1 - epsilon**3)):  # fmt: skip
            yield from ({"arm": arm, "x": epsilon, **row} for row in theorem_3_4(p, tau, epsilon**32))


# Lemma D.2 ------------------------------------------------------------------------------------------------------


def lemma_d2(instance: int) -> Iterator[dict]:
    """Rows on a random Q: lemd2/represented, /attained for the construction, /ratio, /search for other networks."""
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
    networks = {  # the lemma has many neurons, its control too few
        arm: list(_optimised(Q, rank - 1 if arm.startswith("control") else 2 * d, draw)) for arm in ARMS[1:]
    }
    networks["claim"] = networks["corrected"]
    for arm in ARMS:
        labels = {"arm": arm, "case": kind, "layer": str(instance)}
        factor = 2.0 if arm == "claim" else LEAST
        yield from _construction_rows({**labels, "seed": instance}, Q, rank - arm.startswith("control"), rank, factor)
        for step, theta in enumerate(networks[arm]):
            target = Q if arm.startswith("control") else represented(theta)  # too few neurons do not represent Q
            ratio = cost(target, factor) / float((theta**2).sum())
            yield {**labels, "dtype": "float64", "step": step, "quantity": "lemd2/ratio", "value": ratio}
        last = networks[arm][len(PENALTIES) :: len(PENALTIES) + 1]  # at the smallest penalty, for each start
        best = min(last, key=lambda theta: ((represented(theta) - Q) ** 2).sum() / PENALTIES[-1] + (theta**2).sum())
        missed = float(np.linalg.norm(represented(best) - Q) / np.linalg.norm(Q))
        distance = max(abs(np.square(best).sum() / cost(Q, factor, rank) - 1), missed)
        yield {**labels, "dtype": "float64", "quantity": "lemd2/search", "value": float(distance)}


def cost(Q: np.ndarray, factor: float, rank: int | None = None) -> float:
    """factor * sum_i sigma_i(Q)^(2/3) over the ``rank`` largest; the others are round-off, which the power enlarges."""
    return factor * float((np.linalg.svd(Q, compute_uv=False)[:rank] ** (2 / 3)).sum())


def _construction_rows(labels: dict, Q: np.ndarray, neurons: int, rank: int, factor: float) -> Iterator[dict]:
    for dtype in (np.float64, np.float32):
        target = Q.astype(dtype)
        theta = construction(target, neurons, printed=factor == 2)
        least = cost(target, factor, rank)
        errors = {
            "lemd2/represented": float(np.linalg.norm(represented(theta) - target) / np.linalg.norm(target)) / len(Q),
            "lemd2/attained": abs(float((theta**2).sum()) - least) / (len(Q) * least),
        }
        for quantity, value in errors.items():
            yield {**labels, "dtype": np.dtype(dtype).name, "quantity": quantity, "value": value}


def _optimised(Q: np.ndarray, neurons: int, draw: np.random.Generator) -> Iterator[np.ndarray]:
    """Each random start, followed by the minima of ||theta||^2 + ||M - Q||^2 / penalty for falling penalties."""
    for _ in range(STARTS):
        yield (theta := draw.normal(size=(neurons, len(Q) + 1)))
        for penalty in PENALTIES:
            scale = 2 / penalty

            def objective(flat: np.ndarray, scale: float = scale) -> tuple[float, np.ndarray]:
                theta = flat.reshape(neurons, -1)
                difference = represented(theta) - Q
                value = scale / 2 * float((difference**2).sum()) + float((flat**2).sum())
                return value, (gradient(theta, scale * difference) + 2 * theta).ravel()

            result = minimize(objective, theta.ravel(), jac=True, method="L-BFGS-B",
                              options={"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30})  # fmt: skip
            theta = result.x.reshape(neurons, -1)
            yield theta


# Figure 4 -------------------------------------------------------------------------------------------------------


def figure_4(p: float, tau: float, decay: float, steps: int) -> Iterator[dict]:
    """Rows by seed: cosines after Adam and at the minimiser, their nulls there, and the lowest seed's matrices."""
    population = Population(p, tau, decay)
    trained = adam(population.slope, _initial(), decay, steps)
    minimisers = [minimiser(population, theta) for theta in trained]
    values = [population.value(theta) for theta, _ in minimisers]
    for seed, (theta, distance) in enumerate(minimisers):
        labels = {"seed": seed, "dtype": "float64"}
        yield {**labels, "quantity": "fig4/excess", "value": values[seed] / min(values) - 1}
        yield {**labels, "quantity": "fig4/distance", "value": min(distance, 1.0)}
        for when, weights in (("adam", trained[seed]), ("minimiser", theta)):
            features = population.features(weights)
            for name in ("fact", "agop"):
                value = gramlab.cosine(features[name], features["gram"])
                yield {**labels, "quantity": f"fig4/{when}/{name}", "value": value}
        draw = stream("c_quadratic", "null", seed)
        random_grams = [gramlab.random_eigenvectors(features["gram"], draw) for _ in range(NULLS)]
        for name, quantity in (("fact", "fig4/null/fact"), ("agop", "null/fig4/minimiser/agop")):
            cosines = [gramlab.cosine(features[name], random_gram) for random_gram in random_grams]
            yield {**labels, "quantity": quantity, "value": float(np.quantile(cosines, 0.975))}
        if values[seed] == min(values):
            for name, matrix in features.items():
                for entry, number in enumerate(matrix.ravel()):
                    yield {**labels, "quantity": f"fig4/matrix/{name}", "x": float(entry), "value": float(number)}


def far_from_convergence(p: float, tau: float, decay: float, steps: int) -> Iterator[dict]:
    """FACT's cosine by seed after a few Adam steps, a control of Figure 4's claim on FACT at convergence."""
    population = Population(p, tau, decay)
    for seed, theta in enumerate(adam(population.slope, _initial(), decay, steps)):
        features = population.features(theta)
        value = gramlab.cosine(features["fact"], features["gram"])
        yield {"seed": seed, "dtype": "float64", "quantity": "fig4/minimiser/fact", "value": value}


def _initial() -> np.ndarray:
    """The networks of all seeds before training, (seeds, WIDTH, 5)."""
    networks = []
    for seed in range(SEEDS):
        draw = stream("c_quadratic", "figure 4", seed)
        networks.append(np.column_stack([draw.uniform(-1, 1, (WIDTH, 4)) / 2,  # torch's U(-1, 1) / sqrt(fan-in)
                                         draw.uniform(-1, 1, WIDTH) / WIDTH**0.5]))  # fmt: skip
    return np.stack(networks)


# Theorem 3.4 ----------------------------------------------------------------------------------------------------


def theorem_3_4(p: float, tau: float, ratio: float) -> Iterator[dict]:
    """Rows on the minimiser at lambda = ratio * p, by Newton's method on (theta, Y) with Y = G / lambda.

    theta + gradient(theta, Y) = 0 and M - Q = lambda T^-1 Y keep their digits however small lambda is; the loss does
    not. The method starts from Lemma D.2's network of Q, the limit lambda = 0.
    """
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = tau / 2
    Q[2, 3] = Q[3, 2] = 1 / 2
    i, j = np.triu_indices(4)
    units = np.zeros((10, 4, 4))
    units[range(10), i, j] = units[range(10), j, i] = np.where(i == j, 1, 0.5**0.5)
    basis = units.reshape(10, 16)  # orthonormal, of the symmetric matrices
    uniform, edge = Population(1.0, tau, ratio), np.outer([1, 1, 0, 0], [1, 1, 0, 0]).ravel() @ basis.T
    inverse = np.linalg.inv(basis @ uniform.T @ basis.T)
    inverse_edge = inverse @ edge  # T = p * uniform + 2 (1 - p) * edge edge^T, inverted by Sherman and Morrison
    rank_one = 2 * (1 - p) * np.outer(inverse_edge, inverse_edge) / (p + 2 * (1 - p) * edge @ inverse_edge)
    shift = ratio * (inverse - rank_one)

    theta = construction(Q, 4)
    y = np.linalg.lstsq(jacobian(theta).reshape(20, 16) @ basis.T, -theta.ravel(), rcond=None)[0]
    for _ in range(8):
        J, Y = jacobian(theta).reshape(20, 16) @ basis.T, (y @ basis).reshape(4, 4)
        system = np.block([[np.eye(20) + curvature(theta, Y), J], [J.T, -shift]])
        residual = np.concatenate([
            (theta + gradient(theta, Y)).ravel(), basis @ (represented(theta) - Q).ravel() - shift @ y,
        ])  # fmt: skip
        step = np.linalg.solve(system, -residual)
        theta, y = theta + step[:20].reshape(theta.shape), y + step[20:]
    # a strict minimum if and only if the system has as many negative eigenvalues as constraints
    yield {"quantity": "thm3.4/no minimum", "value": float(np.sum(np.linalg.eigvalsh(system) < 0) != len(basis))}
    population = Population(p, tau, ratio * p)
    features = population.features(theta)
    away = population.features(1.01 * theta)
    fact = -2 * represented(theta) @ (y @ basis).reshape(4, 4)  # -(2 / lambda) M G
    error = np.linalg.norm(fact - features["gram"]) / np.linalg.norm(features["gram"])
    yield {"case": f"p = {p:g}", "dtype": "float64", "quantity": "thm3.4/fact", "value": float(error)}
    error = np.linalg.norm(away["fact"] - away["gram"]) / np.linalg.norm(away["gram"])
    yield {"arm": AWAY, "case": f"p = {p:g}", "dtype": "float64", "quantity": "thm3.4/fact", "value": float(error)}
    for s in POWERS:
        power = gramlab.psd_power(features["agop"], s)
        value, (by_chance, _) = gramlab.cosine(power, features["gram"]), gramlab.cosine_null(power, features["gram"])
        labels = {"case": f"s = {s:g}", "dtype": "float64"}
        yield {**labels, "quantity": "thm3.4/correlation", "value": value}
        yield {**labels, "quantity": "null/thm3.4/correlation", "value": by_chance}
