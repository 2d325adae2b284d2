"""Every printed equation of paper B's Appendix E after the lemmas, with (6): printed form, our form, networks.

(10), (17), (19), (21), (23)-(27) are identities of any matrices: residuals on small ones. (6), (20), (22), (28) hold
for free families: the traces of a sampled network, through its Ẇ and K, against the formula with the data's moments
and that network's own moments of R, on Gaussian data of growing size; the relative error. (10) as a prediction
takes R's moments from their limit, and (11) compares a mean of ratios with the ratio of means.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.data.polynomials import gaussian
from gramlab.streams import stream
from gramlab.theory import centered_nfa, gaussian_moments, moments, traces

SPECTRA: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of the covariance, by (k − ½)/d
    "isotropic": np.ones_like,
    "two levels": lambda t: np.where(t < 0.5, 1.0, 0.1),
    "smooth decay": lambda t: 1 / (1 + 9 * t**2),
}
# n : d : k in units of the size, spectrum, labels
CASES = (
    ((1, 1, 1), "isotropic", "normal"),
    ((1, 1, 1), "two levels", "signs"),
    ((1, 1, 1), "smooth decay", "ones"),
    ((2, 1, 1), "smooth decay", "normal"),
    ((1, 2, 1), "isotropic", "signs"),
    ((1, 1, 2), "two levels", "normal"),
)
DECAYS = (1, 2)  # of Appendix G, λ_k = 1/(1 + k^α), which have no limit shape: for the ratio alone
TOGETHER = 10  # networks on one data set for (11)
DEPENDENT = "control: R has the data's eigenvectors"


def measure(settings: Any) -> Iterator[dict]:
    """Rows: rmt/(equation), a residual (with both precisions) or a signed relative error (x is the size)."""
    for seed in range(settings.instances):
        yield from identities(seed)
        for size in settings.sizes:
            for number, case in enumerate(CASES):
                yield from one_network(number, case, size, seed)
            for decay in DECAYS:
                X, y, a, W = drawn((1, 1, 1), size, seed, f"decay {decay}", decay=float(decay), labels="normal")
                about = {"case": f"1:1:1, λ_k = 1/(1 + k^{decay}), normal labels", "seed": seed, "x": float(size)}
                yield from ratio(X, y, observed(X, y, a, W), gaussian_moments(size, size), about)
            yield from isotropic(size, seed)
            if size < settings.sizes[-1]:
                yield from means(size, seed)


def drawn(
    shape: tuple, size: int, seed: int, *name: str | int, **options: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X, y, a, W of one instance; a data seed of its own for every case, size and seed."""
    n, d, k = (int(part * size) for part in shape)
    own = int(stream("b_rmt", "data", size, seed, *name).integers(2**31))
    data = gaussian(n, d, seed=own, **options)
    return data.x_train, data.y_train, *network(k, d, size, seed, *name)


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


def printed(A: Tensor, B: Tensor, r: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """(20), (22) and (28) as they stand in the paper; in (28)'s last term tr[Ā]² is 0."""
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b = tr(A), tr(B)
    P, Q = A - a * eye, B - b * eye
    PQ = P @ Q
    pq, ppq, pqq, qq = tr(PQ), tr(P, PQ), tr(PQ, Q), tr(Q, Q)
    r1, r2, r3, r4 = r
    numerator = a**2 * b * r3 + 2 * a * r2 * r1 * pq + b * r1 * r2 * tr(P, P) + r1**3 * ppq
    nfm = tr(A, A) * r1**2 + a**2 * r2 - a**2 * r1**2
    agop = (
        r1**4 * tr(PQ, PQ) + 2 * r1**2 * (r2 - r1**2) * pq**2 + 2 * r1**2 * r2 * (b * ppq + a * pqq)
        + 4 * a * b * r3 * r1 * pq + a**2 * b**2 * r4 + a**2 * qq * r2**2 + tr(P) ** 2 * tr(B, B) * r2**2
    )  # fmt: skip
    return numerator, nfm, agop


def one_network(number: int, case: tuple, size: int, seed: int) -> Iterator[dict]:
    """(20), (22), (28) and the ratio on one data set and one network."""
    shape, spectrum, labels = case
    values = SPECTRA[spectrum]((np.arange(shape[1] * size) + 0.5) / (shape[1] * size))
    X, y, a, W = drawn(shape, size, seed, number, spectrum=values.tolist(), labels=labels)
    scaled = a[:, None] * W
    R, B, M = scaled.T @ scaled, X.T @ X, X.T @ (y * X)
    A, r, seen = M @ M, moments(R), observed(X, y, a, W)
    about = {"case": f"{':'.join(map(str, shape))}, {spectrum}, {labels}", "seed": seed, "x": float(size)}
    print_form, our_form = printed(A, B, r), traces(X, y, r)
    for equation, left, one, other in zip(("(20)", "(22)", "(28)"), seen, print_form, our_form, strict=True):
        yield {**about, "arm": "claim", "quantity": f"rmt/{equation}", "value": left / one - 1}
        yield {**about, "arm": "corrected", "quantity": f"rmt/{equation}", "value": left / other - 1}
    yield from ratio(X, y, seen, gaussian_moments(*(shape[at] * size for at in (1, 2))), about)
    if number == 0:
        vectors = torch.linalg.eigh(A).eigenvectors
        Q = vectors * torch.linalg.eigvalsh(R) @ vectors.T
        AQ, BQ = A @ Q, B @ Q
        seen = tr(AQ, AQ, BQ), tr(AQ, AQ), tr(AQ, BQ, AQ, BQ)
        for equation, left, other in zip(("(20)", "(22)", "(28)"), seen, our_form, strict=True):
            yield {**about, "arm": DEPENDENT, "quantity": f"rmt/{equation}", "value": left / other - 1}


def ratio(X: Tensor, y: Tensor, seen: tuple, r: tuple, about: dict) -> Iterator[dict]:
    """(10) as a prediction: the observed correlation less the predicted one, with the print's (28) and with ours."""
    M, B = X.T @ (y * X), X.T @ X
    correlation = seen[0] / (seen[1] * seen[2]) ** 0.5
    numerator, nfm, agop = printed(M @ M, B, r)
    predicted = {"claim": numerator / (nfm * agop) ** 0.5, "corrected": centered_nfa(X, y, r)}
    for arm, value in predicted.items():
        yield {**about, "arm": arm, "quantity": "rmt/(10), predicted", "value": correlation - value}


def isotropic(size: int, seed: int) -> Iterator[dict]:
    """(6): the numerator for XᵀX = 1."""
    X, y, a, W = drawn((2, 1, 1), size, seed, "isotropic", labels="normal")
    X = torch.linalg.qr(X).Q
    scaled = a[:, None] * W
    R, M = scaled.T @ scaled, X.T @ (y * X)
    A, (r1, r2, r3, _) = M @ M, moments(R)
    right = tr(A) ** 2 * r3 + r1 * r2 * (tr(A, A) - tr(A) ** 2)
    for arm in ("claim", "corrected"):
        yield {"case": "2:1:1, XᵀX = 1, normal", "seed": seed, "x": float(size), "arm": arm, "quantity": "rmt/(6)",
               "value": observed(X, y, a, W)[0] / right - 1}  # fmt: skip


def means(size: int, seed: int) -> Iterator[dict]:
    """(11): over networks on one data set, the mean of the ratios less the ratio of the means."""
    X, y, _, _ = drawn((1, 1, 1), size, seed, "means", labels="normal")
    seen = np.array([observed(X, y, *network(size, size, size, seed, "means", one)) for one in range(TOGETHER)])
    ratios, (numerator, nfm, agop) = seen[:, 0] / np.sqrt(seen[:, 1] * seen[:, 2]), seen.mean(0)
    for arm in ("claim", "corrected"):
        yield {"case": "1:1:1, isotropic, normal", "seed": seed, "x": float(size), "arm": arm, "quantity": "rmt/(11)",
               "value": float(ratios.mean() - numerator / (nfm * agop) ** 0.5)}  # fmt: skip


def identities(instance: int) -> Iterator[dict]:
    """Residuals of the equations that hold for any matrices, over (length of the words) x (norms of the factors)."""
    draw = stream("b_rmt", "identities", instance)
    n, d, k = (int(draw.integers(3, 9)) for _ in range(3))
    X, y = torch.from_numpy(draw.normal(size=(n, d))), torch.from_numpy(draw.normal(size=(n, 1)))
    P = torch.from_numpy(draw.normal(size=(k, 1)) * draw.normal(size=(k, d)))
    for dtype in (torch.float64, torch.float32):
        x, labels, p = X.to(dtype), y.to(dtype), P.to(dtype)
        B, M, R = x.T @ x, x.T @ (labels * x), p.T @ p
        A = M @ M
        kernel = x @ R @ x.T
        nfm = x.T @ (labels * (kernel @ (labels * x)))
        agop = x.T @ (labels * (kernel @ (kernel @ (labels * x))))
        norms = [float(torch.linalg.matrix_norm(one, 2)) for one in (M, B, R)]
        forms = expansions(A, B, R)
        left = {"(17)": tr(nfm, agop), "(21)": tr(nfm, nfm), "(23)": tr(agop, agop)}
        right = {"(17)": tr(A, R, A, R, B, R), "(21)": tr(A, R, A, R), "(23)": tr(A, R, B, R, A, R, B, R)}
        sizes = {"(17)": _scale(norms, 4, 1, 3), "(21)": _scale(norms, 4, 0, 2), "(23)": _scale(norms, 4, 2, 4)}
        for equation, sides in forms.items():
            left[equation], right[equation] = sides[:2]
            sizes[equation] = sizes["(17)" if equation.startswith("(19)") else "(23)"]
        cosine = float((nfm * agop).sum() / (nfm.norm() * agop.norm()))
        left["(10)"] = left["(10) corrected"] = cosine
        right["(10)"] = left["(17)"] * (left["(21)"] * left["(23)"]) ** 0.5
        right["(10) corrected"] = left["(17)"] / (left["(21)"] * left["(23)"]) ** 0.5
        sizes["(10)"] = sizes["(10) corrected"] = d * 10.0
        for equation, value in left.items():
            residual = abs(value - right[equation]) / sizes[equation]
            name = equation.removesuffix(" corrected")
            fixed = f"{name} corrected" in left
            arms = ["corrected"] if name != equation else (["claim"] if fixed else ["claim", "corrected"])
            for arm in arms:
                yield {"arm": arm, "case": f"{n}:{d}:{k}, {instance}", "seed": instance, "quantity": f"rmt/{name}",
                       "dtype": str(dtype).removeprefix("torch."), "value": residual}  # fmt: skip


def _scale(norms: list[float], *powers: int) -> float:
    """Of a trace's round-off: the word's length x its norms, those of M and B doubled for their centred parts."""
    return sum(powers) * prod((2 * norm) ** power for norm, power in zip(norms, powers, strict=True))


def expansions(A: Tensor, B: Tensor, R: Tensor) -> dict[str, tuple[float, float]]:
    """Both sides of (19) and (24)-(27), which take A and B apart into their means a, b and the rest P, Q."""
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b = tr(A), tr(B)
    P, Q = A - a * eye, B - b * eye
    three, four = tr(A, R, A, R, B, R), tr(A, R, B, R, A, R, B, R)
    inner = (
        tr(P, R, P, R, Q, R) + 2 * a * tr(P, R, Q, R, R) + b * tr(P, R, P, R, R)
        + a**2 * tr(Q, R, R, R) + 2 * a * b * tr(P, R, R, R)
    )  # fmt: skip
    return {
        "(19)": (three, inner + a**2 * b * tr(R) ** 3),
        "(19) corrected": (three, inner + a**2 * b * tr(R, R, R)),
        "(24)": (four, tr(P, R, B, R, A, R, B, R) + a * tr(R, R, B, R, A, R, B)),
        "(25)": (four, tr(P, R, Q, R, A, R, B, R) + b * tr(P, R, R, A, R, B, R) + a * b * tr(R, R, R, A, R, B)
                 + a * tr(R, R, Q, R, A, R, B)),
        "(26)": (four, tr(P, R, Q, R, P, R, B, R) + 2 * a * tr(P, R, Q, R, R, B, R) + b * tr(P, R, R, P, R, B, R)
                 + 2 * a * b * tr(R, R, R, P, R, B) + a**2 * b * tr(R, R, R, R, B) + a**2 * tr(R, R, Q, R, R, B)),
        "(27)": (four, tr(P, R, Q, R, P, R, Q, R) + 2 * b * tr(P, R, Q, R, P, R, R) + 2 * a * tr(P, R, Q, R, R, Q, R)
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
