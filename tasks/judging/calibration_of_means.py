"""How often ``within_standard_errors`` refutes a true identity, and how small an error of an identity it finds.

The mean of a skewed product lies 4 standard errors below its expectation more often than a normal distribution says,
and 4 above it more rarely. So the simulated products are those of the claims' tables: of ReLU features at several
cosines of the two points, and of random Fourier features of the l1 kernel. Blocks of 100 products are drawn once. All
means come from these blocks, and the expectation of a mean is the mean of all blocks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramlab.streams import stream
from tasks.judging.monte_carlo import MOST, within_standard_errors
from tasks.judging.power import POWER
from tasks.judging.rows import Rows

BLOCK, BLOCKS = 100, 2**13  # products in a block; blocks of each kind of product
COSINES = (-0.7, -0.2, 0.0, 0.3, 0.8, 0.99, 0.9999, 1.0)  # of the two points in D.propA.1
FEATURES = tuple(2**power for power in range(3, 11))  # in a product of D.propA.1; in D.alg1 a product has one feature
OF_POINTS = tuple(np.linspace(-0.8, 0.8, 10).tolist())  # cosines of the normalised points in D.alg1, equally frequent
DISTANCES = (0.7, 1.1, 1.4, 1.7, 2.0)  # of its points in the l1 norm, times the scale of the Laplace kernel


@dataclass(frozen=True)
class Table:
    """A table that the rule judges: the kinds of its products, and its means."""

    name: str
    one_feature: bool  # in a product, as in D.alg1; else the numbers of D.propA.1
    each: int  # means of each kind
    size: int  # products in a mean


TABLES = (
    Table("Monte Carlo means, D.propA.1, quick", False, 1, 1000),
    Table("Monte Carlo means, D.propA.1, paper", False, 1, 10_000),
    Table("Monte Carlo means, D.alg1, quick", True, 5, 4000),
    Table("Monte Carlo means, D.alg1, paper", True, 20, 4000),
)


def rows(draws: int) -> Iterator[dict[str, Any]]:
    """A row of the calibration for each table that the rule judges."""
    kinds = {one: [_blocks(products) for products in _products(one)] for one in (False, True)}
    for table in TABLES:
        random = stream("calibration", table.name)
        distances, expectations = (
            np.concatenate(values)
            for values in zip(*(_means(random, *kind, table, draws) for kind in kinds[table.one_feature]), strict=True)
        )
        holds = [within_standard_errors(Rows({"value": distances[:, draw]})).holds for draw in range(draws)]
        error, share = _least_error(distances, expectations)
        yield {
            "rule": table.name, "number": len(distances), "units": "means", "draws": draws,
            "holds": holds.count(True) / draws, "fails": holds.count(False) / draws, "wrong": ["fails"],
            "power": [{"effect": f"every expectation wrong by {100 * error:.2g} %", "answer": "fails", "draws": draws,
                       "share": share}],
        }  # fmt: skip


def _products(one_feature: bool) -> Iterator[np.ndarray]:
    """Products of two points' random features, of each kind."""
    random = stream("calibration", "products", "one feature" if one_feature else "several features")
    shape = (BLOCKS * BLOCK, 1 if one_feature else FEATURES[0])
    for cosine in OF_POINTS if one_feature else COSINES:
        first, second = random.standard_normal((2, *shape), dtype=np.float32)
        second = np.float32(cosine) * first + np.float32(math.sqrt(1 - cosine**2)) * second
        products = (np.maximum(first, 0) * np.maximum(second, 0)).mean(1)
        yield products
        for _ in () if one_feature else FEATURES[1:]:  # twice as many features: the mean of two independent products
            products = (products + random.permutation(products)) / 2
            yield products
    for distance in 2 * DISTANCES if one_feature else ():  # as many means as of ReLU features
        # 2 cos(w x + b) cos(w y + b) = cos(w (x - y)) + cos(w (x + y) + 2 b), and w (x - y) is Cauchy
        phases = random.uniform(0, 2 * np.pi, size=shape[0])
        yield np.cos(distance * random.standard_cauchy(shape[0])) + np.cos(phases)


def _blocks(products: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The mean of all products, and of each block the sum and the sum of squares of the distances from it."""
    mean = float(products.mean(dtype=float))
    blocks = (products.astype(float) - mean).reshape(-1, BLOCK)
    return mean, blocks.sum(1), (blocks**2).sum(1)


def _means(
    random: np.random.Generator, expectation: float, sums: np.ndarray, squares: np.ndarray, table: Table, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means' distances from their expectation, and the expectation, both in standard errors: (means, draws) each."""
    distances, expectations = np.empty((2, table.each, draws))
    for index in range(table.each):
        chosen = random.integers(0, len(sums), size=(draws, table.size // BLOCK))
        mean = sums[chosen].sum(1) / table.size
        variance = (squares[chosen].sum(1) - table.size * mean**2) / (table.size - 1)
        error = np.sqrt(variance / table.size)
        distances[index], expectations[index] = mean / error, expectation / error
    return distances, expectations


def _least_error(distances: np.ndarray, expectations: np.ndarray) -> tuple[float, float]:
    """The least relative error of all expectations, up or down, that is found in 90 % of the draws; and the share."""
    needed = [((MOST + sign * distances) / expectations).min(0) for sign in (1, -1)]  # too large, too small
    least = max(float(np.quantile(of_sign, POWER)) for of_sign in needed)
    digit = 10.0 ** (math.floor(math.log10(least)) - 1)
    error = math.ceil(least / digit) * digit
    return error, min(float((of_sign <= error).mean()) for of_sign in needed)
