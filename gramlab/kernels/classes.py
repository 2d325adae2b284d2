"""The classes of an RFM: their codes, and probabilities from fitted codes."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets


def classes_of(y: np.ndarray) -> np.ndarray:
    """Return the sorted classes.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.

    Returns
    -------
    ndarray of shape (classes,)

    Raises
    ------
    ValueError
        If the labels are no classes, or there is only one.

    Examples
    --------
    >>> classes_of(np.array([2, 0, 2]))
    array([0, 2])
    """
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        (label,) = classes.tolist()
        raise ValueError(f"RFM needs at least two classes; y holds only one class, {label!r}")
    return classes


def one_hot(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return a row for each label, with a 1 at its class.

    Parameters
    ----------
    y : ndarray of shape (n,)
    classes : ndarray of shape (classes,)

    Returns
    -------
    ndarray of shape (n, classes)

    Raises
    ------
    ValueError
        If the labels are no classes, or not among these.

    Examples
    --------
    >>> one_hot(np.array(["b", "a"]), np.array(["a", "b"]))
    array([[0., 1.],
           [1., 0.]])
    """
    check_classification_targets(y)
    if unknown := set(np.unique(y).tolist()) - set(classes.tolist()):
        raise ValueError(f"y_val holds classes that y lacks: {sorted(unknown)}")
    return (y[:, None] == classes).astype(np.float64)


def project_on_simplex(scores: np.ndarray) -> np.ndarray:
    """Return the nearest rows of non-negative numbers with sum 1 (Held, Wolfe and Crowder 1974).

    Parameters
    ----------
    scores : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> project_on_simplex(np.array([[0.8, 0.4, -0.3]])).round(3)
    array([[0.7, 0.3, 0. ]])
    """
    descending = -np.sort(-scores, axis=1)
    excess = (descending.cumsum(1) - 1) / np.arange(1, scores.shape[1] + 1)
    count = (descending > excess).sum(1)  # positive numbers of the projection
    return np.maximum(scores - np.take_along_axis(excess, count[:, None] - 1, 1), 0)
