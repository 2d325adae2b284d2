"""Correlations of matrices that random cotangents estimate, without bias of the norm and with a standard error."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gramlab.measures.factored import FactoredLayer
from gramlab.measures.similarity import null_of_parts
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    from gramlab.measures.results import LayerMeasures


class Estimate(NamedTuple):
    """A number with its standard error.

    Attributes
    ----------
    value : float
    standard_error : float
        0 for an exact number, infinite where fewer than 3 groups of draws give none.
    interval : (float, float)
        The 95 % interval of Student's t over the groups of draws.

    Examples
    --------
    >>> Estimate(0.5, 0.0, (0.5, 0.5)).value
    0.5
    """

    value: float
    standard_error: float
    interval: tuple[float, float]


# (first, second) -> the inner products of their draws, a single one for an exact quantity
Tables = dict[tuple[str, str], np.ndarray]


def correlation(layer: "LayerMeasures", first: str, second: str, centred: bool, diagonal: bool = False) -> Estimate:
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
    diagonal : bool, default False
        Whether to compare only the diagonals.

    Returns
    -------
    Estimate

    Raises
    ------
    Undefined
        If a quantity is zero, or is estimated from a single draw.
    """
    estimated = _estimated(layer, first, second)
    if not any(estimated.values()):
        exact_layer = FactoredLayer(layer)
        value = exact_layer.pearson(first, second, diagonal=diagonal) if centred else exact_layer.cosine(first, second)
        return Estimate(value, 0.0, (value, value))
    products = _layer_by_draw(layer, second)
    draws = len(products.draws)
    table = {
        (a, b): products.inner_table(a, b, estimated[a], estimated[b], centred, diagonal)
        for a, b in ((first, first), (second, second), (first, second))
    }
    all_draws = range(draws)
    # near 1 a debiased cosine may exceed it: the interval is that of the number before it is brought into [-1, 1]
    value = _correlation(table, first, second, estimated, all_draws, layer.name)
    if draws < 3:
        return Estimate(_clamped(value), math.inf, (-1.0, 1.0))
    without_one = [
        _correlation(table, first, second, estimated, [g for g in all_draws if g != excluded], layer.name)
        for excluded in all_draws
    ]
    error = math.sqrt((draws - 1) / draws * sum((T - sum(without_one) / draws) ** 2 for T in without_one))
    from scipy.stats import t

    half_width = float(t.ppf(0.975, draws - 1)) * error
    return Estimate(_clamped(value), error, (_clamped(value - half_width), _clamped(value + half_width)))


def null(layer: "LayerMeasures", first: str, second: str) -> tuple[float, float]:
    """Return mean and standard deviation of the cosine for random eigenvectors, as ``FactoredLayer.cosine_null``.

    Norms, and products of traces, come from separate draws, as in ``correlation``: each of them is then unbiased.

    Parameters
    ----------
    layer : LayerMeasures
    first, second : str
        Names of its quantities; the first is symmetric.

    Returns
    -------
    mean : float
    deviation : float
        0 where the draws do not tell a matrix from a multiple of the identity.

    Raises
    ------
    Undefined
        If a quantity is zero, is estimated from too few draws, or is that of a grouped convolution.
    """
    estimated = _estimated(layer, first, second)
    products = FactoredLayer(layer)
    if products.groups > 1 or not any(estimated.values()):
        return products.cosine_null(first, second)
    products = _layer_by_draw(layer, second)
    draws, d = range(len(products.draws)), products.side(first, second)
    traces = {name: products.traces(name, estimated[name]) for name in (first, second)}
    squares, spreads = [], []
    for name in (first, second):
        is_estimated = estimated[name]
        square = _mean(
            products.inner_table(name, name, is_estimated, is_estimated, False), is_estimated, is_estimated, draws
        )
        symmetric_square = square
        # only the symmetric part of the second matrix counts; an estimated matrix is symmetric
        if name == second and not is_estimated:
            symmetric_square = (square + products.transposed_inner(name)) / 2
        trace_square = _mean(np.outer(traces[name], traces[name]), is_estimated, is_estimated, draws)
        squares.append(square)
        spreads.append(max(symmetric_square - trace_square / d, 0.0))
    if min(squares) <= 0.0:
        raise _norm_is_undefined(layer.name, first, second)
    norms, traceless = (math.prod(map(math.sqrt, values)) for values in (squares, spreads))
    multiples = _mean(np.outer(traces[first], traces[second]), estimated[first], estimated[second], draws) / d
    return null_of_parts(d, multiples, traceless, norms)


def _estimated(layer: "LayerMeasures", *names: str) -> dict[str, bool]:
    """Whether each of the quantities depends on the draws."""
    from gramlab.measures.results import NEEDS

    return {name: bool(NEEDS.get(name, frozenset()) & layer.group_means.keys()) for name in names}


def _layer_by_draw(layer: "LayerMeasures", second: str) -> FactoredLayer:
    """The products of the layer's separate draws. Raises Undefined if there is only one."""
    groups = layer.by_cotangent_group()
    if len(groups) == 1:
        raise Undefined(
            f"layer {layer.name!r}: the norm of {second} needs two random cotangents; give outputs=2 or more"
        )
    return FactoredLayer(layer, groups)


def _norm_is_undefined(layer: str, first: str, second: str) -> Undefined:
    return Undefined(f"layer {layer!r}: {first} or {second} is zero, or too few random cotangents estimate its norm")


def _mean(table: np.ndarray, first: bool, second: bool, draws: Sequence[int]) -> float:
    """The mean of products over pairs of separate draws; an exact matrix has a single row or column."""
    if first and second:
        return float(np.mean([table[g, h] for g, h in permutations(draws, 2)]))
    if first or second:
        return float(np.mean([table[g, 0] if first else table[0, g] for g in draws]))
    return float(table[0, 0])


def _correlation(
    table: Tables, first: str, second: str, estimated: dict[str, bool], draws: Sequence[int], layer: str
) -> float:
    def inner(a: str, b: str) -> float:
        return _mean(table[a, b], estimated[a], estimated[b], draws)

    squares = inner(first, first), inner(second, second)
    if min(squares) <= 0.0:
        raise _norm_is_undefined(layer, first, second)
    return inner(first, second) / math.sqrt(squares[0]) / math.sqrt(squares[1])


def _clamped(value: float) -> float:
    return max(-1.0, min(1.0, value))
