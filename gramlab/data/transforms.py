"""Changed data sets: random labels and standardised inputs."""

from dataclasses import replace

import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.streams import stream


def random_labels(labels: Tensor, classes: int, probability: float, *name: str | int) -> Tensor:
    """Replace each label, with some probability, by a uniformly random class (paper A, B.8 and Figure 12).

    A random label may equal the true one, so a share p (1 - 1/c) of the labels changes in expectation. The random
    streams do not depend on the probability: labels that are replaced at p are replaced by the same classes at every
    larger p.

    Parameters
    ----------
    labels : Tensor of shape (n,)
    classes : int
        Number of classes c.
    probability : float
        The p of the formula.
    *name : str or int
        Name of the random streams.

    Returns
    -------
    Tensor of shape (n,)

    Raises
    ------
    DataError
        If the probability lies outside [0, 1].

    Examples
    --------
    >>> import torch
    >>> random_labels(torch.zeros(5, dtype=torch.long), 10, 0.0, "example")
    tensor([0, 0, 0, 0, 0])
    """
    checked("random_labels").number("the probability", probability, "a number from 0 to 1")
    is_random = torch.from_numpy(stream(*name, "which").uniform(size=len(labels)) < probability)
    drawn = torch.from_numpy(stream(*name, "label").integers(classes, size=len(labels)))
    return torch.where(is_random.to(labels.device), drawn.to(labels), labels)


def with_random_labels(data: DataSet, probability: float, seed: int = 0) -> DataSet:
    """The data set with random training labels; its ``clean_train`` has the true ones.

    Parameters
    ----------
    data : DataSet
    probability : float
        See `random_labels`.
    seed : int, optional

    Returns
    -------
    DataSet

    Raises
    ------
    DataError
        If the data set is a regression, or the probability lies outside [0, 1].

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> data = with_random_labels(prepare("digits", ""), probability=0.5)
    >>> 0.4 < float(data.changed_train.float().mean()) < 0.5
    True
    """
    if not data.classes:
        raise DataError(f"{data.source}: random labels are drawn among classes, and a regression has none")
    labels = random_labels(data.y_train, data.classes, probability, data.source, seed, "random labels")
    metadata = {**data.metadata, "random_labels": probability}
    return replace(data, y_train=labels, clean_train=data.y_train, metadata=metadata)


def standardized(data: DataSet) -> DataSet:
    """The data set with inputs of mean 0 and variance 1 over the training samples.

    Test samples are shifted and scaled by the means and standard deviations of the training samples. An input that
    is constant over the training samples becomes 0.

    Parameters
    ----------
    data : DataSet

    Returns
    -------
    DataSet
        Inputs in float32.

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> data = standardized(prepare("digits", ""))
    >>> abs(float(data.x_train.mean())) < 1e-6
    True
    """
    x = data.scaled(data.x_train, torch.float32)
    mean, deviation = x.mean(0), x.std(0)
    scale = torch.where((x != x[0]).any(0), 1 / deviation, 0.0)
    x_train, x_test = ((data.scaled(part, torch.float32) - mean) * scale for part in (data.x_train, data.x_test))
    return replace(data, x_train=x_train, x_test=x_test, factor=1.0, metadata={**data.metadata, "standardized": True})
