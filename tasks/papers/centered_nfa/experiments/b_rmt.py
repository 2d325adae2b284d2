"""Every printed equation of paper B's Appendix E after the lemmas, with (6): printed form, our form, networks.

(10), (16)-(19), (21), (23)-(27) are identities of any matrices: residuals on small ones. (6), (20), (22), (28) hold
for free families: the traces of a sampled network, through its Ẇ and K, against the formula with the data's moments
and that network's own moments of R, on Gaussian data of growing size; the relative error. Since a small term can be
wrong unseen in these sums, each word that (19), (22), (27) leave to be factored is compared by itself, too: "terms".
(10) as a prediction takes R's moments from their limit, and (11) compares a mean of ratios with the ratio of means.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np
import torch
from torch import Tensor

from gramlab.streams import stream
from gramlab.theory import Traces, combined, data_moments, gaussian_moments, moments
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

SPECTRA: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {  # the covariance's eigenvalues λ_k, k = 1 … d
    "isotropic": lambda k, d: np.ones(d),
    "two levels": lambda k, d: np.where(k <= d / 2, 1.0, 0.1),
    "smooth decay": lambda k, d: 1 / (1 + 9 * (k / d) ** 2),
    "1/(1 + k)": lambda k, d: 1 / (1 + k),
    "1/(1 + k²)": lambda k, d: 1 / (1 + k**2),
}
DECAYS = ("1/(1 + k)", "1/(1 + k²)")  # of Appendix G; they have no limit shape, and serve the ratio alone
# n : d : k in units of the size, spectrum, labels
CASES = (
    ((1, 1, 1), "isotropic", "normal"),
    ((1, 1, 1), "two levels", "signs"),
    ((1, 1, 1), "smooth decay", "ones"),
    ((2, 1, 1), "smooth decay", "normal"),
    ((1, 2, 1), "isotropic", "signs"),
    ((1, 1, 2), "two levels", "normal"),
    ((1, 1, 1), "1/(1 + k)", "normal"),
    ((1, 1, 1), "1/(1 + k²)", "normal"),
)
TRACES = ("(20)", "(22)", "(28)")
ISOTROPIC = (((2, 1, 1), "normal"), ((3, 1, 2), "signs"))  # of (6)
MEANS = (CASES[0], CASES[1], CASES[3])  # of (11)
NETWORKS = 3  # on each data set: enough for a mean that is known better than its margin
TOGETHER = 10  # networks on one data set for (11)
DEPENDENT = "control: R has the data's eigenvectors"
STRANGE = "control: R of another network"
NARROW = "control: four hidden units at every size"


class Settings(Simulation):
    """Settings of this experiment."""

    sizes: list[Count]  # of the matrices


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: rmt/(equation), a residual (with both precisions) or a signed relative error (x is the size)."""
    for seed in range(settings.instances):
        yield from identities(seed)
        for size in settings.sizes:
            for case in CASES:
                yield from one_data_set(case, size, seed)
            for shape, labels in ISOTROPIC:
                yield from isotropic(shape, labels, size, seed)
            for case in MEANS if size < settings.sizes[-1] else ():
                yield from means(case, size, seed)


def drawn(case: tuple, size: int, *name: str | int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X, y, a, W of one instance. The covariance is diagonal: W has the same distribution in every basis."""
    shape, spectrum, labels = case
    n, d, k = (part * size for part in shape)
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
    """The three traces of (10) over d from Ẇ = JᵀYX and K = JᵀJ, J = ∂f/∂h (n, k), through S = ẆẆᵀ (k, k)."""
    J = X @ W.T * a
    step = J.T @ (y * X)
    S, K = step @ step.T, J.T @ J
    KS, d = K @ S, X.shape[1]
    return float((KS * S).sum()) / d, float(S.square().sum()) / d, float((KS * KS.T).sum()) / d


def printed(A: Tensor, B: Tensor) -> Callable[[Sequence[float]], tuple[float, float, float]]:
    """(20), (22) and (28) as they stand in the paper, of the moments of R; in (28)'s last term tr[Ā]² is 0."""
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b, aa, bb = tr(A), tr(B), tr(A, A), tr(B, B)
    P, Q = A - a * eye, B - b * eye
    PQ = P @ Q
    p, pp, qq, pq, ppq, pqq, pqpq = tr(P), tr(P, P), tr(Q, Q), tr(PQ), tr(P, PQ), tr(PQ, Q), tr(PQ, PQ)

    def equations(r: Sequence[float]) -> tuple[float, float, float]:
        r1, r2, r3, r4 = r
        return (
            a**2 * b * r3 + 2 * a * r2 * r1 * pq + b * r1 * r2 * pp + r1**3 * ppq,
            aa * r1**2 + a**2 * r2 - a**2 * r1**2,
            r1**4 * pqpq + 2 * r1**2 * (r2 - r1**2) * pq**2 + 2 * r1**2 * r2 * (b * ppq + a * pqq)
            + 4 * a * b * r3 * r1 * pq + a**2 * b**2 * r4 + a**2 * qq * r2**2 + p**2 * bb * r2**2,
        )  # fmt: skip

    return equations


def one_data_set(case: tuple, size: int, seed: int) -> Iterator[dict]:
    """(20), (22), (28) with the networks' own moments of R, and the ratio (10) with their limits."""
    shape, spectrum, labels = case
    X, y, *first = drawn(case, size, seed)
    B, M = X.T @ X, X.T @ (y * X)
    A, limit = M @ M, gaussian_moments(shape[1], shape[2])
    data, forms = data_moments(X, y), printed(A, B)
    about = {"case": f"{':'.join(map(str, shape))}, {spectrum}, {labels}", "seed": seed, "x": float(size)}
    for number in range(NETWORKS):
        a, W = first if not number else network(shape[2] * size, shape[1] * size, str(case), size, seed, number)
        scaled = a[:, None] * W
        R, seen = scaled.T @ scaled, observed(X, y, a, W)
        own = moments(R)
        if spectrum not in DECAYS and not number:
            yield from ({**about, **row} for row in factored(A, B, R, own))
        if spectrum not in DECAYS:
            for arm, predicted in (("claim", forms(own)), ("corrected", combined(data, own))):
                for equation, left, right in zip(TRACES, seen, predicted, strict=True):
                    yield {**about, "arm": arm, "quantity": f"rmt/{equation}", "value": left / right - 1}
        correlation = Traces(*seen).correlation
        for arm, predicted in (("claim", Traces(*forms(limit))), ("corrected", combined(data, limit))):
            yield {**about, "arm": arm, "quantity": "rmt/(10), predicted", "value": correlation - predicted.correlation}
    if case == CASES[0]:
        Q = turned(R, A)
        AQ, BQ = A @ Q, B @ Q
        dependent = tr(AQ, AQ, BQ), tr(AQ, AQ), tr(AQ, BQ, AQ, BQ)
        for equation, left, right in zip(TRACES, dependent, combined(data, own), strict=True):
            yield {**about, "arm": DEPENDENT, "quantity": f"rmt/{equation}", "value": left / right - 1}
        gap = Traces(*dependent).correlation - combined(data, limit).correlation
        yield {**about, "arm": DEPENDENT, "quantity": "rmt/(10), predicted", "value": gap}


def turned(R: Tensor, A: Tensor) -> Tensor:
    """R with the eigenvectors of A, the largest eigenvalues together."""
    vectors = torch.linalg.eigh(A).eigenvectors
    return vectors * torch.linalg.eigvalsh(R) @ vectors.T


def factored(A: Tensor, B: Tensor, R: Tensor, r: Sequence[float]) -> Iterator[dict]:
    """The relative error of what each word of (19), (22) and (27) becomes in (20), (22) and (28).

    For words that become 0 it is the word over its size: the trace of its power of R, with P and Q, the centred A and
    B, over the roots of tr[P²] and tr[Q²]. (28) as printed has tr[P]² = 0 in place of tr[P²].
    """
    r1, r2, r3, r4 = r
    eye = torch.eye(len(A), dtype=A.dtype)
    P, Q = A - tr(A) * eye, B - tr(B) * eye
    P, Q = P / tr(P, P) ** 0.5, Q / tr(Q, Q) ** 0.5
    PR, QR, RR = P @ R, Q @ R, R @ R
    PRR, QRR, PQ = PR @ R, QR @ R, P @ Q
    pq, ppq, pqq, pqpq = tr(PQ), tr(P, PQ), tr(PQ, Q), tr(PQ, PQ)
    words = {  # left and right side; and the size of those that become 0
        "(20)": {
            "ARARBR": (tr(PR, PR @ QR), r1**3 * ppq),
            "ARBRR": (tr(PR, QRR), r1 * r2 * pq),
            "ARARR": (tr(PR, PRR), r1 * r2),
            "ARRR": (tr(PRR, R), 0.0, r3),
            "BRRR": (tr(QRR, R), 0.0, r3),
        },
        "(22)": {"ARAR": (tr(PR, PR), r1**2), "ARR": (tr(PRR), 0.0, r2)},
        "(28)": {
            "ARBRARBR": (tr(PR @ QR, PR @ QR), r1**4 * pqpq + 2 * r1**2 * (r2 - r1**2) * pq**2),
            "ARBRARR": (tr(PR @ QR, PRR), r1**2 * r2 * ppq),
            "ARBRRBR": (tr(PR @ QRR, QR), r1**2 * r2 * pqq),
            "RRRARB": (tr(RR, R @ PR @ Q), r3 * r1 * pq),
            "RRRRA": (tr(RR, RR @ P), 0.0, r4),
            "RRRRB": (tr(RR, RR @ Q), 0.0, r4),
            "RRBRRB": (tr(RR @ Q, RR @ Q), r2**2),
            "RRARRA": (tr(RR @ P, RR @ P), r2**2),
        },
    }
    for equation, found in words.items():
        for word, (left, right, *size) in found.items():
            for arm in ("claim", "corrected"):
                wanted = 0.0 if (arm, word) == ("claim", "RRARRA") else right
                error = (left - wanted) / (right or size[0])
                yield {"arm": arm, "layer": word, "quantity": f"rmt/{equation}, terms", "value": error}


def isotropic(shape: tuple[int, int, int], labels: str, size: int, seed: int) -> Iterator[dict]:
    """(6): the numerator for XᵀX = 1."""
    X, y, a, W = drawn((shape, "isotropic", labels), size, seed, "XᵀX = 1")
    X = torch.linalg.qr(X).Q
    scaled = a[:, None] * W
    R, M = scaled.T @ scaled, X.T @ (y * X)
    A, (r1, r2, r3, _) = M @ M, moments(R)
    right = tr(A) ** 2 * r3 + r1 * r2 * (tr(A, A) - tr(A) ** 2)
    case = f"{':'.join(map(str, shape))}, XᵀX = 1, {labels}"
    for arm in ("claim", "corrected"):
        yield {"case": case, "seed": seed, "x": float(size), "arm": arm, "quantity": "rmt/(6)",
               "value": observed(X, y, a, W)[0] / right - 1}  # fmt: skip
    Q = turned(R, A)
    yield {"case": case, "seed": seed, "x": float(size), "arm": DEPENDENT, "quantity": "rmt/(6)",
           "value": tr(A @ Q, A @ Q @ Q) / right - 1}  # fmt: skip


def means(case: tuple, size: int, seed: int) -> Iterator[dict]:
    """(11): over networks on one data set, the mean of the ratios less the ratio of the means."""
    (shape, spectrum, labels), (_, d, k) = case, (part * size for part in case[0])
    X, y, _, _ = drawn(case, size, seed, "means")
    about = {"case": f"{':'.join(map(str, shape))}, {spectrum}, {labels}", "seed": seed, "x": float(size)}
    for arms, units in ((("claim", "corrected"), k), ((NARROW,), 4)):
        networks = (network(units, d, str(case), size, seed, "means", one) for one in range(TOGETHER))
        seen = np.array([observed(X, y, *one) for one in networks])
        ratios = seen[:, 0] / np.sqrt(seen[:, 1] * seen[:, 2])
        gap = float(ratios.mean()) - Traces(*seen.mean(0).tolist()).correlation
        yield from ({**about, "arm": arm, "quantity": "rmt/(11)", "value": gap} for arm in arms)


def identities(instance: int) -> Iterator[dict]:
    """Residuals of the equations that hold for any matrices, over (length of the words) x (norms of the factors)."""
    draw = stream("b_rmt", "identities", instance)
    n, d, k = (int(draw.integers(3, 9)) for _ in range(3))
    X, y, *drawn = (
        torch.from_numpy(draw.normal(size=shape)) for shape in ((n, d), (n, 1), k, (k, d), k, (k, d))
    )  # fmt: skip
    for dtype in (torch.float64, torch.float32):
        x, labels, outer, inner, *others = (one.to(dtype) for one in (X, y, *drawn))
        h = (x @ inner.T).requires_grad_()
        (J,) = torch.autograd.grad((0.5 * h.square() @ outer).sum(), h)
        B, M, kernel = x.T @ x, x.T @ (labels * x), J @ J.T
        nfm = x.T @ (labels * (kernel @ (labels * x)))
        agop = x.T @ (labels * (kernel @ (kernel @ (labels * x))))
        own = inner.T @ (outer.square()[:, None] * inner)
        norms = [float(torch.linalg.matrix_norm(one, 2)) for one in (M, B, own)]
        sizes = {"(17)": _scale(norms, 4, 1, 3), "(21)": _scale(norms, 4, 0, 2), "(23)": _scale(norms, 4, 2, 4)}
        left = {"(17)": tr(nfm, agop), "(21)": tr(nfm, nfm), "(23)": tr(agop, agop)}
        cosine = float((nfm * agop).sum() / (nfm.norm() * agop.norm()))
        strange = others[1].T @ (others[0].square()[:, None] * others[1])
        for control, R in ((False, own), (True, strange)):
            right = expansions(M @ M, B, R)
            below = (right["(21)"] * right["(23)"]) ** 0.5
            residuals = {
                "(16)": float((kernel - x @ R @ x.T).norm())
                / ((2 * d + k) * float(x.norm() * inner.norm() * outer.norm()) ** 2),
                "(10)": (cosine - right["(17)"] * below) / (10.0 * d),
                "(10) corrected": (cosine - right["(17)"] / below) / (10.0 * d),
            }
            for equation, value in right.items():
                of = max(one for one in left if one <= equation)  # the one of the three that it takes apart
                residuals[equation] = (left[of] - value) / sizes[of]
            for equation, residual in residuals.items():
                name = equation.removesuffix(" corrected")
                fixed = f"{name} corrected" in residuals
                if control:
                    arms = [] if fixed and name == equation else [STRANGE]
                else:
                    arms = ["corrected"] if name != equation else (["claim"] if fixed else ["claim", "corrected"])
                for arm in arms:
                    yield {"arm": arm, "case": f"{n}:{d}:{k}, {instance}", "seed": instance, "quantity": f"rmt/{name}",
                           "dtype": str(dtype).removeprefix("torch."), "value": abs(residual)}  # fmt: skip


def _scale(norms: list[float], *powers: int) -> float:
    """Of a trace's round-off: the word's length x its norms, those of M and B doubled for their centred parts."""
    return sum(powers) * prod((2 * norm) ** power for norm, power in zip(norms, powers, strict=True))


def expansions(A: Tensor, B: Tensor, R: Tensor) -> dict[str, float]:
    """Right sides of (17), (21), (23), and of (18), (19), (24)-(27), which take A, B apart into means a, b and P, Q."""
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b = tr(A), tr(B)
    P, Q = A - a * eye, B - b * eye
    inner = (
        tr(P, R, P, R, Q, R) + 2 * a * tr(P, R, Q, R, R) + b * tr(P, R, P, R, R)
        + a**2 * tr(Q, R, R, R) + 2 * a * b * tr(P, R, R, R)
    )  # fmt: skip
    return {
        "(17)": tr(A, R, A, R, B, R),
        "(21)": tr(A, R, A, R),
        "(23)": tr(A, R, B, R, A, R, B, R),
        "(18)": tr(P + a * eye, R, P + a * eye, R, Q + b * eye, R),
        "(19)": inner + a**2 * b * tr(R) ** 3,
        "(19) corrected": inner + a**2 * b * tr(R, R, R),
        "(24)": (tr(P, R, B, R, A, R, B, R) + a * tr(R, R, B, R, A, R, B)),
        "(25)": (tr(P, R, Q, R, A, R, B, R) + b * tr(P, R, R, A, R, B, R) + a * b * tr(R, R, R, A, R, B)
                 + a * tr(R, R, Q, R, A, R, B)),
        "(26)": (tr(P, R, Q, R, P, R, B, R) + 2 * a * tr(P, R, Q, R, R, B, R) + b * tr(P, R, R, P, R, B, R)
                 + 2 * a * b * tr(R, R, R, P, R, B) + a**2 * b * tr(R, R, R, R, B) + a**2 * tr(R, R, Q, R, R, B)),
        "(27)": (tr(P, R, Q, R, P, R, Q, R) + 2 * b * tr(P, R, Q, R, P, R, R) + 2 * a * tr(P, R, Q, R, R, Q, R)
                 + 4 * a * b * tr(R, R, R, P, R, Q) + 2 * a * b**2 * tr(R, R, R, R, P)
                 + 2 * a**2 * b * tr(R, R, R, R, Q) + a**2 * b**2 * tr(R, R, R, R) + a**2 * tr(R, R, Q, R, R, Q)
                 + b**2 * tr(R, R, P, R, R, P)),
    }  # fmt: skip


def tr(*factors: Tensor) -> float:
    """The trace of a product over the dimension."""
    *most, last = factors
    if not most:
        return float(last.trace()) / len(last)
    return float((reduce(torch.matmul, most) * last.T).sum()) / len(last)
