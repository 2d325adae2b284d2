"""Gaussian inputs, isotropic or with a prescribed spectrum in a random basis."""

import math
from collections.abc import Sequence

import numpy as np

from gramlab.data.dataset import DataError, checked
from gramlab.streams import stream


def covariance_eigenvalues(
    source: str, dimension: int, decay: float | None, spectrum: Sequence[float] | None
) -> np.ndarray | None:
    """Eigenvalues of a covariance: λ_k = 1/(1 + k^decay) for k = 1 … d, or a given spectrum.

    Paper B, Appendices C and G. The paper does not print where k begins. From 1, a decay of 0 or ∞ gives a multiple
    of a projector, as Appendix C asks.

    Parameters
    ----------
    source : str
        Data source, for error messages.
    dimension : int
        Number of eigenvalues d.
    decay : float or None
        Exponent of the decay.
    spectrum : sequence of d floats or None
        The eigenvalues themselves, instead of a decay.

    Returns
    -------
    ndarray of shape (d,), or None for the identity covariance, if neither is given

    Raises
    ------
    DataError
        If both are given, or one is out of range.

    Examples
    --------
    >>> covariance_eigenvalues("gaussian", 3, decay=1, spectrum=None)
    array([0.5       , 0.33333333, 0.25      ])
    """
    check = checked(source)
    check.integer("dimension", dimension)
    if decay is not None and spectrum is not None:
        raise DataError(f"{source}: decay and spectrum both give the eigenvalues; leave one of them out")
    if decay is not None:
        check.number("decay", decay, "a number of at least 0")
        with np.errstate(over="ignore"):  # 1/(1 + inf) = 0 is right
            return 1 / (1 + np.arange(1, dimension + 1, dtype=float) ** decay)
    if spectrum is None:
        return None
    if len(spectrum) != dimension or not all(math.isfinite(value) and value >= 0 for value in spectrum):
        raise DataError(f"{source}: spectrum must be {dimension} eigenvalues, none of them negative")
    return np.asarray(spectrum, float)


def covariance_eigenvectors(source: str, seed: int, dimension: int) -> np.ndarray:
    """Eigenvectors of a source's covariance, uniform on the orthogonal group.

    Parameters
    ----------
    source : str
        Data source; with the seed it names the random stream.
    seed : int
    dimension : int

    Returns
    -------
    ndarray of shape (d, d)
        Eigenvectors in columns.

    Examples
    --------
    >>> import numpy as np
    >>> Q = covariance_eigenvectors("gaussian", 0, 3)
    >>> bool(np.allclose(Q.T @ Q, np.eye(3)))
    True
    """
    Q, R = np.linalg.qr(stream(source, seed, "basis").normal(size=(dimension, dimension)))
    return Q * np.sign(np.diag(R))  # the signs that QR chooses are not uniform


def gaussian_inputs(
    source: str, samples: int, test_samples: int, dimension: int, decay: float | None,
    spectrum: Sequence[float] | None, seed: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Training and test inputs with mean 0 and covariance Q Λ Qᵀ; a larger set begins with the smaller one.

    Parameters
    ----------
    source : str
        Data source; with the seed it names the random streams.
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    decay, spectrum
        Eigenvalues Λ, see `covariance_eigenvalues`. The eigenvectors Q are `covariance_eigenvectors`.
    seed : int

    Returns
    -------
    train, test : ndarray of shape (n, d)

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> train, test = gaussian_inputs("gaussian", 5, 2, 3, decay=None, spectrum=None, seed=0)
    >>> train.shape, test.shape
    ((5, 3), (2, 3))
    """
    check = checked(source)
    check.integer("samples", samples)
    check.integer("test_samples", test_samples, minimum=0)
    eigenvalues = covariance_eigenvalues(source, dimension, decay, spectrum)
    inputs = []
    for part, n in (("train", samples), ("test", test_samples)):
        x = stream(source, seed, "data", part).normal(size=(n, dimension))
        if eigenvalues is not None:
            x = x * np.sqrt(eigenvalues) @ covariance_eigenvectors(source, seed, dimension).T
        inputs.append(x)
    return inputs[0], inputs[1]
