"""Polynomials of Gaussian inputs, with the closed forms that papers A and B print."""

from collections.abc import Sequence

import numpy as np
import torch

from gramlab.data.checks import among, whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.data.inputs import gaussian_inputs
from gramlab.streams import stream


def chain_monomial_of(x: np.ndarray, rank: int) -> np.ndarray:
    """Paper B, eq. (1): y(x) = Σ_{k=1}^r x_{k mod r} x_{(k+1) mod r}, (n, d) -> (n,). For r = 2 it is 2 x_0 x_1."""
    return (x[:, :rank] * np.roll(x[:, :rank], -1, axis=1)).sum(1)


def chain_monomial_egop(covariance: np.ndarray, rank: int) -> np.ndarray:
    """Paper B, eq. (2), of its eq. (1): E[∇y ∇yᵀ] = A Σ A, (d, d), for inputs of mean 0 and this covariance Σ (d, d).

    ∇y = A x, where A counts how often two coordinates are neighbours on the cycle of length ``rank`` (2: twice).
    """
    A = np.zeros_like(covariance)
    for k in range(rank):
        after = (k + 1) % rank
        A[k, after] += 1
        A[after, k] += 1
    return A @ covariance @ A


def staircase_of(x: np.ndarray, degree: int) -> np.ndarray:
    """Paper A, B.4: y(x) = x₁ + x₁x₂ + … + x₁x₂⋯x_degree, (n, d) -> (n,)."""
    return np.cumprod(x[:, :degree], axis=1).sum(1)


def chain_monomial(
    samples: int, dimension: int, rank: int, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = True, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Paper B, eq. (1), on Gaussian inputs; labels scaled to standard deviation 1 as in its Appendix H."""
    _fits("chain_monomial", "rank", rank, dimension, least=2)
    x = gaussian_inputs("chain_monomial", samples, test_samples, dimension, decay, spectrum, seed)
    y = [chain_monomial_of(part, rank) for part in x]
    return _made("chain_monomial", x, y, unit_labels)


def high_rank_polynomial(
    samples: int, dimension: int, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = True, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Paper B, Appendix H: y(x) = Σ_i (Qx)_i² with Q (d, d) standard normal; labels of standard deviation 1."""
    source = "high_rank_polynomial"
    x = gaussian_inputs(source, samples, test_samples, dimension, decay, spectrum, seed)
    Q = high_rank_matrix(seed, dimension)
    return _made(source, x, [((part @ Q.T) ** 2).sum(1) for part in x], unit_labels)


def high_rank_matrix(seed: int, dimension: int) -> np.ndarray:
    """The Q (d, d) of ``high_rank_polynomial``, for whoever checks against its closed forms."""
    return stream("high_rank_polynomial", seed, "target").normal(size=(dimension, dimension))


def staircase(
    samples: int, dimension: int, degree: int = 4, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = False, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Paper A, B.4: x₁ + x₁x₂ + x₁x₂x₃ + x₁x₂x₃x₄ on Gaussian inputs, labels as they are."""
    _fits("staircase", "degree", degree, dimension)
    x = gaussian_inputs("staircase", samples, test_samples, dimension, decay, spectrum, seed)
    return _made("staircase", x, [staircase_of(part, degree) for part in x], unit_labels)


def gaussian(
    samples: int, dimension: int, labels: str = "normal", test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Gaussian inputs whose labels, normal, signs ±1 or all 1, don't depend on them; for paper B's (6)-(28)."""
    among("gaussian", "labels", labels, ("normal", "signs", "ones"))
    x = gaussian_inputs("gaussian", samples, test_samples, dimension, decay, spectrum, seed)
    y = []
    for part, inputs in zip(("train", "test"), x, strict=True):
        drawn = stream("gaussian", seed, "labels", part).normal(size=len(inputs))
        y.append({"normal": drawn, "signs": np.where(drawn < 0, -1.0, 1.0), "ones": np.ones(len(inputs))}[labels])
    return _made("gaussian", x, y, unit=False)


def _fits(source: str, name: str, value: int, dimension: int, least: int = 1) -> None:
    if whole(source, name, value, least) > whole(source, "dimension", dimension):
        raise DataError(f"{source}: {name} {value} is more than the dimension {dimension}")


def _made(source: str, x: tuple[np.ndarray, np.ndarray], y: list[np.ndarray], unit: bool) -> DataSet:
    # the training labels' own standard deviation, with 1/n; the test labels are on the same scale
    scale = float(y[0].std()) if unit else 1.0
    if not scale > 0:
        raise DataError(f"{source}: {len(y[0])} equal labels have no standard deviation to scale to 1")
    train, test = (torch.from_numpy(part / scale)[:, None] for part in y)
    about = {"label_scale": 1 / scale}
    return DataSet(source, torch.from_numpy(x[0]), train, torch.from_numpy(x[1]), test, about=about)
