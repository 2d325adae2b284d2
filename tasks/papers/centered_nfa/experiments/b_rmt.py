"""Every printed equation of paper B's Appendix E after the lemmas, and (6), in the printed form and as derived.

(10), (16)–(19), (21) and (23)–(27) are identities of any matrices; their rows are residuals on small matrices. (6),
(20), (22) and (28) hold for free families. Their formulas take moments of the data and of a sampled network's R, and
are compared with the traces of this network, from its Ẇ and K. The data are Gaussian and of growing size. A wrong small
term could hide in these sums, so each word that (19), (22) and (27) leave to be factored is also compared by itself
("terms"). (10) as a prediction takes the limit of R's moments. (11) compares a mean of ratios with the ratio of the
means.
"""

from collections.abc import Callable, Iterator
from math import prod

import numpy as np
import torch
from torch import Tensor

from gramlab.streams import stream
from gramlab.theory import Traces, combined, data_moments, gaussian_moments, moments
from tasks.papers.centered_nfa.experiments.shared.appendix_e import derivatives, expansions, printed, tr, word_errors
from tasks.papers.centered_nfa.experiments.shared.eigenvectors import with_eigenvalues_of
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are seeds."""

    sizes: list[Count]  # n, d and k are small multiples of each


Shape = tuple[int, int, int]  # n, d, k in units of the size
SPECTRA: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {  # the covariance's eigenvalues λ_k, k = 1 … d
    "isotropic": lambda k, d: np.ones(d),
    "two levels": lambda k, d: np.where(k <= d / 2, 1.0, 0.1),
    "smooth decay": lambda k, d: 1 / (1 + 9 * (k / d) ** 2),
    "1/(1 + k)": lambda k, d: 1 / (1 + k),
    "1/(1 + k²)": lambda k, d: 1 / (1 + k**2),
}
DECAYS = ("1/(1 + k)", "1/(1 + k²)")  # of Appendix G; without a limit as d grows, so they serve the ratio alone
CASES: tuple[tuple[Shape, str, str], ...] = (  # shape, spectrum, labels
    ((1, 1, 1), "isotropic", "normal"),
    ((1, 1, 1), "two levels", "signs"),
    ((1, 1, 1), "smooth decay", "ones"),
    ((2, 1, 1), "smooth decay", "normal"),
    ((1, 2, 1), "isotropic", "signs"),
    ((1, 1, 2), "two levels", "normal"),
    ((1, 1, 1), "1/(1 + k)", "normal"),
    ((1, 1, 1), "1/(1 + k²)", "normal"),
)
FREE_EQUATIONS = ("(20)", "(22)", "(28)")
EQUATION_6 = (((2, 1, 1), "normal"), ((3, 1, 2), "signs"))  # shape, labels
EQUATION_11 = (CASES[0], CASES[1], CASES[3])
NETWORKS = 3  # on each data set, so that the mean's interval is smaller than the margin
NETWORKS_11 = 10  # on each data set, for (11)
MATRICES = 5  # drawn by each seed for the identities
DEPENDENT = "control: R has the data's eigenvectors"
OTHER_NETWORK = "control: R of another network"
NARROW = "control: four hidden units at every size"


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: rmt/(equation), a residual (with both precisions) or a signed relative error (x is the size)."""
    for seed in range(settings.instances):
        for number in range(MATRICES):
            yield from identities(number, seed)
        for size in settings.sizes:
            for case in CASES:
                yield from free_equations(case, size, seed)
            for shape, labels in EQUATION_6:
                yield from equation_6(shape, labels, size, seed)
            for case in EQUATION_11 if size < settings.sizes[-1] else ():
                yield from equation_11(case, size, seed)


def sample(case: tuple[Shape, str, str], size: int, *name: str | int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X, y, a, W of one instance. The covariance is diagonal, since W has the same distribution in every basis."""
    shape, spectrum, labels = case
    n, d, k = (factor * size for factor in shape)
    draw = stream("b_rmt", "data", str(case), size, *name)
    X = torch.from_numpy(draw.normal(size=(n, d)) * np.sqrt(SPECTRA[spectrum](np.arange(1.0, d + 1), d)))
    y = torch.from_numpy(draw.normal(size=(n, 1)))
    y = {"normal": y, "signs": y.sign(), "ones": torch.ones_like(y)}[labels]
    return X, y, *network(k, d, str(case), size, *name)


def network(k: int, d: int, *name: str | int) -> tuple[Tensor, Tensor]:
    """a ~ N(0, 1) (k,) and W ~ N(0, 1/k) (k, d)."""
    draw = stream("b_rmt", "network", *name)
    return torch.from_numpy(draw.normal(size=k)), torch.from_numpy(draw.normal(size=(k, d))) / k**0.5


def observed(X: Tensor, y: Tensor, a: Tensor, W: Tensor) -> tuple[float, float, float]:
    """The three traces of (10) over d, through S = ẆẆᵀ and KS."""
    (S, KS), d = derivatives(X, y, a, W), X.shape[1]
    return float((KS * S).sum()) / d, float(S.square().sum()) / d, float((KS * KS.T).sum()) / d


def row_labels(shape: Shape, spectrum: str, labels: str, size: int, seed: int) -> dict:
    """The columns that all rows on one data set share."""
    return {"case": f"{':'.join(map(str, shape))}, {spectrum}, {labels}", "seed": seed, "x": float(size)}


def free_equations(case: tuple[Shape, str, str], size: int, seed: int) -> Iterator[dict]:
    """Rows of (20), (22), (28) with the networks' own moments of R, and of the ratio (10) with their limits.

    The step column numbers the networks on a data set.
    """
    (_, d, k), spectrum, _ = case
    X, y, *first = sample(case, size, seed)
    B, M = X.T @ X, X.T @ (y * X)
    A, limit = M @ M, gaussian_moments(d, k)
    data, as_printed = data_moments(X, y), printed(A, B)
    columns = row_labels(*case, size, seed)
    for number in range(NETWORKS):
        a, W = network(k * size, d * size, str(case), size, seed, number) if number else first
        aW = a[:, None] * W
        R, traces = aW.T @ aW, observed(X, y, a, W)
        r = moments(R)
        if spectrum not in DECAYS and number == 0:
            yield from ({**columns, **row} for row in word_errors(A, B, R, r))
        if spectrum not in DECAYS:
            for arm, predicted in (("claim", as_printed(r)), ("corrected", combined(data, r))):
                for equation, left, right in zip(FREE_EQUATIONS, traces, predicted, strict=True):
                    row = {"step": number, "arm": arm, "quantity": f"rmt/{equation}", "value": left / right - 1}
                    yield {**columns, **row}
        for arm, prediction in (("claim", Traces(*as_printed(limit))), ("corrected", combined(data, limit))):
            error = Traces(*traces).correlation - prediction.correlation
            yield {**columns, "step": number, "arm": arm, "quantity": "rmt/(10), predicted", "value": error}
    if case == CASES[0]:
        columns["arm"] = DEPENDENT
        R = with_eigenvalues_of(R, A)
        AR, BR = A @ R, B @ R
        dependent = tr(AR, AR, BR), tr(AR, AR), tr(AR, BR, AR, BR)
        for equation, left, right in zip(FREE_EQUATIONS, dependent, combined(data, r), strict=True):
            yield {**columns, "quantity": f"rmt/{equation}", "value": left / right - 1}
        error = Traces(*dependent).correlation - combined(data, limit).correlation
        yield {**columns, "quantity": "rmt/(10), predicted", "value": error}


def equation_6(shape: Shape, labels: str, size: int, seed: int) -> Iterator[dict]:
    """Rows of (6): the numerator for XᵀX = 1."""
    X, y, a, W = sample((shape, "isotropic", labels), size, seed, "XᵀX = 1")
    X = torch.linalg.qr(X).Q
    aW = a[:, None] * W
    R, M = aW.T @ aW, X.T @ (y * X)
    A, (r1, r2, r3, _) = M @ M, moments(R)
    right = tr(A) ** 2 * r3 + r1 * r2 * (tr(A, A) - tr(A) ** 2)
    columns = {**row_labels(shape, "XᵀX = 1", labels, size, seed), "quantity": "rmt/(6)"}
    for arm in ("claim", "corrected"):
        yield {**columns, "arm": arm, "value": observed(X, y, a, W)[0] / right - 1}
    R = with_eigenvalues_of(R, A)
    yield {**columns, "arm": DEPENDENT, "value": tr(A @ R, A @ R @ R) / right - 1}


def equation_11(case: tuple[Shape, str, str], size: int, seed: int) -> Iterator[dict]:
    """Rows of (11): over networks on one data set, the mean of the ratios minus the ratio of the means."""
    _, d, k = (factor * size for factor in case[0])
    X, y, _, _ = sample(case, size, seed, "means")
    columns = {**row_labels(*case, size, seed), "quantity": "rmt/(11)"}
    for arms, width in ((("claim", "corrected"), k), ((NARROW,), 4)):
        networks = (network(width, d, str(case), size, seed, "means", number) for number in range(NETWORKS_11))
        traces = np.array([observed(X, y, a, W) for a, W in networks])
        ratios = traces[:, 0] / np.sqrt(traces[:, 1] * traces[:, 2])
        error = float(ratios.mean()) - Traces(*traces.mean(0).tolist()).correlation
        yield from ({**columns, "arm": arm, "value": error} for arm in arms)


def identities(number: int, seed: int) -> Iterator[dict]:
    """Rows of the equations that hold for any matrices: residuals over (length of the words) x (norms of the factors).

    An equation with a corrected form has rows of the printed form in the arm ``claim`` alone.
    """
    draw = stream("b_rmt", "identities", number, seed)
    n, d, k = (int(draw.integers(3, 9)) for _ in range(3))
    matrices = [torch.from_numpy(draw.normal(size=shape)) for shape in ((n, d), (n, 1), k, (k, d), k, (k, d))]
    for dtype in (torch.float64, torch.float32):
        X, y, a, W, other_a, other_W = (matrix.to(dtype) for matrix in matrices)
        h = (X @ W.T).requires_grad_()
        (J,) = torch.autograd.grad((0.5 * h.square() @ a).sum(), h)
        B, M, kernel = X.T @ X, X.T @ (y * X), J @ J.T
        nfm = X.T @ (y * (kernel @ (y * X)))
        agop = X.T @ (y * (kernel @ (kernel @ (y * X))))
        left = {"(17)": tr(nfm, agop), "(21)": tr(nfm, nfm), "(23)": tr(agop, agop)}
        correlation = float((nfm * agop).sum() / (nfm.norm() * agop.norm()))
        same_network, other = W.T @ (a.square()[:, None] * W), other_W.T @ (other_a.square()[:, None] * other_W)
        norms = [float(torch.linalg.matrix_norm(matrix, 2)) for matrix in (M, B, same_network)]
        scales = {"(17)": _scale(norms, 4, 1, 3), "(21)": _scale(norms, 4, 0, 2), "(23)": _scale(norms, 4, 2, 4)}
        for R in (same_network, other):
            right = expansions(M @ M, B, R)
            denominator = (right["(21)"] * right["(23)"]) ** 0.5
            residuals = {
                "(16)": float((kernel - X @ R @ X.T).norm())
                / ((2 * d + k) * float(X.norm() * W.norm() * a.norm()) ** 2),
                "(10)": (correlation - right["(17)"] * denominator) / (10.0 * d),
                "(10) corrected": (correlation - right["(17)"] / denominator) / (10.0 * d),
            }
            for equation, value in right.items():
                expanded = max(name for name in left if name <= equation)  # the trace that the equation expands
                residuals[equation] = (left[expanded] - value) / scales[expanded]
            for equation, residual in residuals.items():
                name = equation.removesuffix(" corrected")
                if name != equation:
                    arms = ["corrected"]
                elif f"{name} corrected" in residuals:
                    arms = ["claim"]
                else:
                    arms = ["claim", "corrected"]
                if R is other:
                    arms = [OTHER_NETWORK] if "corrected" in arms else []
                for arm in arms:
                    yield {"arm": arm, "case": f"matrices {number}", "seed": seed, "quantity": f"rmt/{name}",
                           "dtype": str(dtype).removeprefix("torch."), "value": abs(residual)}  # fmt: skip


def _scale(norms: list[float], *powers: int) -> float:
    """Scale of a trace's round-off: the word's length times its norms; M's and B's are doubled for centered parts."""
    return sum(powers) * prod((2 * norm) ** power for norm, power in zip(norms, powers, strict=True))
