"""Polynomials of Gaussian inputs, with the closed forms that papers A and B print."""

from collections.abc import Sequence

import numpy as np
import torch

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.data.inputs import gaussian_inputs
from gramlab.streams import stream


def chain_monomial_of(x: np.ndarray, rank: int) -> np.ndarray:
    """The chain monomial, ``y(x) = sum_{k=1}^r x_{k mod r} x_{(k+1) mod r}`` (paper B, eq. 1).

    Parameters
    ----------
    x : ndarray of shape (n, d)
    rank : int
        The r of the formula. For r = 2, y = 2 x_0 x_1.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> chain_monomial_of(np.array([[1.0, 2.0, 3.0, 9.0]]), rank=3)
    array([11.])
    """
    return (x[:, :rank] * np.roll(x[:, :rank], -1, axis=1)).sum(1)


def chain_monomial_egop(covariance: np.ndarray, rank: int) -> np.ndarray:
    """Expected gradient outer product of the chain monomial, ``E[∇y ∇yᵀ] = A Σ A`` (paper B, eq. 2).

    The gradient is ∇y = A x, where A counts how often two coordinates are neighbours on the cycle of length `rank`;
    on a cycle of length 2 they are neighbours twice.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
        Covariance Σ of inputs with mean 0.
    rank : int

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> chain_monomial_egop(np.eye(3), rank=2)
    array([[4., 0., 0.],
           [0., 4., 0.],
           [0., 0., 0.]])
    """
    A = np.zeros_like(covariance)
    for k in range(rank):
        neighbour = (k + 1) % rank
        A[k, neighbour] += 1
        A[neighbour, k] += 1
    return A @ covariance @ A


def staircase_of(x: np.ndarray, degree: int) -> np.ndarray:
    """The staircase polynomial, ``y(x) = x_1 + x_1 x_2 + … + x_1 x_2 ⋯ x_degree`` (paper A, B.4).

    Parameters
    ----------
    x : ndarray of shape (n, d)
    degree : int

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> staircase_of(np.array([[2.0, 3.0, 5.0]]), degree=3)
    array([38.])
    """
    return np.cumprod(x[:, :degree], axis=1).sum(1)


def high_rank_matrix(seed: int, dimension: int) -> np.ndarray:
    """The matrix Q of `high_rank_polynomial`, to compare with its closed forms.

    Parameters
    ----------
    seed, dimension : int

    Returns
    -------
    ndarray of shape (d, d)
        Independent standard normal entries.

    Examples
    --------
    >>> high_rank_matrix(seed=0, dimension=3).shape
    (3, 3)
    """
    return stream("high_rank_polynomial", seed, "target").normal(size=(dimension, dimension))


def chain_monomial(
    samples: int, dimension: int, rank: int, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = True, seed: int = 0,
) -> DataSet:  # fmt: skip
    """The chain monomial (paper B, eq. 1) of Gaussian inputs.

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    rank : int
        From 2 to d, see `chain_monomial_of`.
    decay, spectrum : optional
        Eigenvalues of the inputs' covariance, see `gramlab.data.inputs.covariance_eigenvalues`.
    unit_labels : bool, optional
        Scale the labels such that the training labels have standard deviation 1 (paper B, Appendix H).
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, 1); ``metadata`` has the ``label_scale``.

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> data = chain_monomial(samples=100, dimension=5, rank=3)
    >>> round(float(data.y_train.std(correction=0)), 6)
    1.0
    """
    check = checked("chain_monomial")
    check.integer("rank", rank, 2, check.integer("dimension", dimension))
    x = gaussian_inputs("chain_monomial", samples, test_samples, dimension, decay, spectrum, seed)
    return _data_set("chain_monomial", x, [chain_monomial_of(part, rank) for part in x], unit_labels)


def high_rank_polynomial(
    samples: int, dimension: int, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = True, seed: int = 0,
) -> DataSet:  # fmt: skip
    """A polynomial of full rank, ``y(x) = sum_i (Qx)_i^2`` with standard normal Q (paper B, Appendix H).

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    decay, spectrum : optional
        Eigenvalues of the inputs' covariance, see `gramlab.data.inputs.covariance_eigenvalues`.
    unit_labels : bool, optional
        Scale the labels such that the training labels have standard deviation 1.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, 1); ``metadata`` has the ``label_scale``.

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> high_rank_polynomial(samples=7, dimension=3, test_samples=2).y_test.shape
    torch.Size([2, 1])
    """
    source = "high_rank_polynomial"
    x = gaussian_inputs(source, samples, test_samples, dimension, decay, spectrum, seed)
    Q = high_rank_matrix(seed, dimension)
    return _data_set(source, x, [((part @ Q.T) ** 2).sum(1) for part in x], unit_labels)


def staircase(
    samples: int, dimension: int, degree: int = 4, test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, unit_labels: bool = False, seed: int = 0,
) -> DataSet:  # fmt: skip
    """The staircase polynomial (paper A, B.4) of Gaussian inputs.

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    degree : int, optional
        From 1 to d, see `staircase_of`.
    decay, spectrum : optional
        Eigenvalues of the inputs' covariance, see `gramlab.data.inputs.covariance_eigenvalues`.
    unit_labels : bool, optional
        Scale the labels such that the training labels have standard deviation 1.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, 1); ``metadata`` has the ``label_scale``.

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> data = staircase(samples=6, dimension=4, degree=1)
    >>> bool((data.y_train[:, 0] == data.x_train[:, 0]).all())
    True
    """
    check = checked("staircase")
    check.integer("degree", degree, 1, check.integer("dimension", dimension))
    x = gaussian_inputs("staircase", samples, test_samples, dimension, decay, spectrum, seed)
    return _data_set("staircase", x, [staircase_of(part, degree) for part in x], unit_labels)


def gaussian(
    samples: int, dimension: int, labels: str = "normal", test_samples: int = 0, decay: float | None = None,
    spectrum: Sequence[float] | None = None, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Gaussian inputs with labels that do not depend on them, for paper B's equations 6 to 28.

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    labels : {"normal", "signs", "ones"}, optional
        Standard normal numbers, their signs ±1, or 1 for every sample.
    decay, spectrum : optional
        Eigenvalues of the inputs' covariance, see `gramlab.data.inputs.covariance_eigenvalues`.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, 1).

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> gaussian(samples=3, dimension=2, labels="ones").y_train.flatten().tolist()
    [1.0, 1.0, 1.0]
    """
    checked("gaussian").choice("labels", labels, ("normal", "signs", "ones"))
    x = gaussian_inputs("gaussian", samples, test_samples, dimension, decay, spectrum, seed)
    y = []
    for part, inputs in zip(("train", "test"), x, strict=True):
        drawn = stream("gaussian", seed, "labels", part).normal(size=len(inputs))
        y.append({"normal": drawn, "signs": np.where(drawn < 0, -1.0, 1.0), "ones": np.ones(len(inputs))}[labels])
    return _data_set("gaussian", x, y, unit_labels=False)


def _data_set(source: str, x: tuple[np.ndarray, np.ndarray], y: list[np.ndarray], unit_labels: bool) -> DataSet:
    """A data set of training and test inputs and labels, all labels divided by the training labels' deviation."""
    scale = float(y[0].std()) if unit_labels else 1.0
    if not scale > 0:
        raise DataError(f"{source}: {len(y[0])} equal labels have no standard deviation to scale to 1")
    y_train, y_test = (torch.from_numpy(part / scale)[:, None] for part in y)
    metadata = {"label_scale": 1 / scale}
    return DataSet(source, torch.from_numpy(x[0]), y_train, torch.from_numpy(x[1]), y_test, metadata=metadata)
