"""The finite population on which paper C separates FACT from the neural feature ansatz."""

import itertools

import torch

from gramlab.data.checks import share
from gramlab.data.dataset import DataSet


def fact_population(p: float = 1e-5, tau: float = 0.02) -> DataSet:
    """Paper C, Theorem 3.4, D(p, τ): every point of {0, 1, 2}⁴ with its probability, y = τ x₁x₂ + x₃x₄.

    x is uniform on the 81 points with probability p and (1, 1, 0, 0), one of them, with 1 - p. So the population
    has 81 different points, (81, 4) with targets (81, 1), and ``weight_train`` (81,) is p/81 but for that one's
    1 - p + p/81. The defaults are Figure 4's.
    """
    share("fact_population", "p", p)
    share("fact_population", "tau", tau)
    x = torch.tensor(list(itertools.product((0, 1, 2), repeat=4)), dtype=torch.float64)
    y = (tau * x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3])[:, None]
    weight = torch.full((81,), p / 81, dtype=torch.float64)
    weight[(x == torch.tensor([1.0, 1.0, 0.0, 0.0])).all(1)] += 1 - p
    return DataSet("fact_population", x, y, x[:0], y[:0], about={"p": p, "tau": tau}, weight_train=weight)
