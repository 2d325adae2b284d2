"""The finite population on which paper C separates FACT from the neural feature ansatz."""

import itertools

import torch

from gramlab.data.dataset import DataSet, checked


def fact_population(p: float = 1e-5, tau: float = 0.02) -> DataSet:
    """Paper C, Theorem 3.4, D(p, τ): the points of {0, 1, 2}⁴ with y = τ x₁x₂ + x₃x₄ and their probabilities.

    With probability p, x is uniform on the 81 points; otherwise it is (1, 1, 0, 0), one of them.

    Parameters
    ----------
    p, tau : float, optional
        In [0, 1]; by default those of Figure 4.

    Returns
    -------
    DataSet
        Inputs (81, 4) and targets (81, 1). ``weight_train`` (81,) is p/81, and 1 - p + p/81 at (1, 1, 0, 0). There
        are no test samples.

    Raises
    ------
    DataError
        If p or τ lies outside [0, 1].

    Examples
    --------
    >>> data = fact_population(p=0.5)
    >>> round(float(data.weight_train.max()), 4)
    0.5062
    """
    for name, value in (("p", p), ("tau", tau)):
        checked("fact_population").number(name, value, "a number from 0 to 1")
    x = torch.tensor(list(itertools.product((0, 1, 2), repeat=4)), dtype=torch.float64)
    y = (tau * x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3])[:, None]
    weight = torch.full((81,), p / 81, dtype=torch.float64)
    weight[(x == torch.tensor([1.0, 1.0, 0.0, 0.0])).all(1)] += 1 - p
    return DataSet("fact_population", x, y, x[:0], y[:0], metadata={"p": p, "tau": tau}, weight_train=weight)
