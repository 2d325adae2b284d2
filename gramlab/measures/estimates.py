"""Correlations of matrices that random cotangents estimate, without bias of the norm and with a standard error."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gramlab.measures.factored import FactoredLayer
from gramlab.measures.similarity import ratio
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    from gramlab.measures.results import LayerMeasures


class Estimate(NamedTuple):
    """A number with its standard error.

    Attributes
    ----------
    value : float
    standard_error : float
        0 for an exact number, infinite where too few draws give none.
    interval : (float, float)
        The 95 % interval of Student's t over the draws.

    Examples
    --------
    >>> Estimate(0.5, 0.0, (0.5, 0.5)).value
    0.5
    """

    value: float
    standard_error: float
    interval: tuple[float, float]


def correlation(layer: "LayerMeasures", first: str, second: str, centred: bool) -> Estimate:
    """Return the cosine, or Pearson's correlation, of two quantities of a layer, with its standard error.

    For independent unbiased estimates A_g of a matrix A, ⟨A_g, A_h⟩ with g ≠ h is an unbiased estimate of ‖A‖², where
    ‖A_g‖² is too large by the variance.

    Parameters
    ----------
    layer : LayerMeasures
    first, second : str
        Names of its quantities.
    centred : bool
        Whether to subtract the means of the entries.

    Returns
    -------
    Estimate

    Raises
    ------
    Undefined
        If a quantity is zero, or is estimated from a single draw.
    """
    by_draw = layer.by_draw()
    names = list(dict.fromkeys((first, second)))
    estimated = {name: _depends_on_draws(layer, name) for name in names}
    if not any(estimated.values()):
        plain = FactoredLayer(layer)
        value = plain.pearson(first, second) if centred else plain.cosine(first, second)
        return Estimate(value, 0.0, (value, value))
    draws = len(by_draw)
    if draws == 1:
        raise Undefined(
            f"layer {layer.name!r}: the norm of {second} needs two random cotangents; give outputs=2 or more"
        )
    products = FactoredLayer(layer, by_draw)
    table = {
        (a, b): products.inner_table(a, b, estimated[a], estimated[b], centred)
        for a, b in ((first, first), (second, second), (first, second))
    }
    everything = range(draws)
    value = _correlation(table, first, second, estimated, everything, layer.name)
    if draws < 3:
        return Estimate(value, math.inf, (-1.0, 1.0))
    left_out = [
        _correlation(table, first, second, estimated, [g for g in everything if g != out], layer.name)
        for out in everything
    ]
    error = math.sqrt((draws - 1) / draws * sum((T - sum(left_out) / draws) ** 2 for T in left_out))
    from scipy.stats import t

    half = float(t.ppf(0.975, draws - 1)) * error
    return Estimate(value, error, (max(-1.0, value - half), min(1.0, value + half)))


def _depends_on_draws(layer: "LayerMeasures", quantity: str) -> bool:
    from gramlab.measures.results import NEEDS

    return bool(NEEDS.get(quantity, frozenset()) & layer.draws.keys())


def _correlation(
    table: dict[tuple[str, str], np.ndarray],
    first: str,
    second: str,
    estimated: dict[str, bool],
    draws: Sequence[int],
    layer: str,
) -> float:
    def inner(a: str, b: str) -> float:
        values = table[a, b]
        if estimated[a] and estimated[b]:
            return float(np.mean([values[g, h] for g, h in permutations(draws, 2)]))
        if estimated[a] or estimated[b]:
            return float(np.mean([values[g, 0] if estimated[a] else values[0, g] for g in draws]))
        return float(values[0, 0])

    squares = inner(first, first), inner(second, second)
    if min(squares) <= 0.0:
        raise Undefined(f"layer {layer!r}: {first} or {second} is zero, or too few random cotangents estimate its norm")
    return ratio(*squares, inner(first, second))
