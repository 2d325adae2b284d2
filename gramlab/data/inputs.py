"""Gaussian inputs: isotropic, or with a prescribed spectrum in a random basis."""

import math
from collections.abc import Sequence

import numpy as np

from gramlab.data.checks import whole
from gramlab.data.dataset import DataError
from gramlab.streams import stream


def eigenvalues(
    source: str, dimension: int, decay: float | None, spectrum: Sequence[float] | None
) -> np.ndarray | None:
    """The covariance's eigenvalues (d,): λ_k = 1/(1 + k^decay), k = 1 … d, or those of ``spectrum``; None for I.

    Paper B, Appendices C and G. It does not say where k begins; from 1, a decay of 0 or ∞ gives a multiple of a
    projector, as Appendix C wants it.
    """
    whole(source, "dimension", dimension)
    if decay is not None and spectrum is not None:
        raise DataError(f"{source}: decay and spectrum both give the eigenvalues; leave one of them out")
    if decay is not None:
        if not (isinstance(decay, int | float) and math.isfinite(decay) and decay >= 0):
            raise DataError(f"{source}: decay must be a number of at least 0, not {decay!r}")
        with np.errstate(over="ignore"):  # 1/(1 + inf) is the 0 that is meant
            return 1 / (1 + np.arange(1, dimension + 1, dtype=float) ** decay)
    if spectrum is None:
        return None
    if len(spectrum) != dimension or not all(math.isfinite(value) and value >= 0 for value in spectrum):
        raise DataError(f"{source}: spectrum must be {dimension} eigenvalues, none of them negative")
    return np.asarray(spectrum, float)


def basis(source: str, seed: int, dimension: int) -> np.ndarray:
    """The eigenvectors (d, d), in columns, of this source's covariance: uniform on the orthogonal group."""
    made, triangle = np.linalg.qr(stream(source, seed, "basis").normal(size=(dimension, dimension)))
    return made * np.sign(np.diag(triangle))  # without the signs, QR's choice of them would not be uniform


def gaussian_inputs(
    source: str, samples: int, test_samples: int, dimension: int, decay: float | None,
    spectrum: Sequence[float] | None, seed: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Training and test inputs (n, d) with mean 0 and covariance Q Λ Qᵀ; more samples begin with the same ones."""
    whole(source, "samples", samples)
    whole(source, "test_samples", test_samples, 0)
    values = eigenvalues(source, dimension, decay, spectrum)
    parts = []
    for part, n in (("train", samples), ("test", test_samples)):
        x = stream(source, seed, "data", part).normal(size=(n, dimension))
        parts.append(x if values is None else x * np.sqrt(values) @ basis(source, seed, dimension).T)
    return parts[0], parts[1]
