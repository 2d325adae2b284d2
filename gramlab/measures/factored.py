"""Correlations of a layer's d × d matrices through k × k products, without the d × d matrices.

Every matrix on a layer's input side is AᵀB with factors A and B of shape (k, d), like W itself. Hence

    ⟨AᵀB, CᵀD⟩ = ⟨ACᵀ, BDᵀ⟩,    Σ entries = (A 1)ᵀ(B 1),    tr AᵀB = Σ A∘B.

Where k < d this is less work than the matrices: for a convolution of 64 channels and 3 × 3 kernels d is 9 k. A factor
is K V with a sum K (k, k), or V alone, where V is W, W − W₀, W₀ or the gradient. Products of several sums share V Vᵀ.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gramlab.measures.similarity import cosine, cosine_null, divided_by_peaks, null_of_traces, pearson, ratio
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    from gramlab.measures.results import LayerMeasures

# if centring leaves a smaller share of ‖·‖², too many digits cancel: use the d × d matrices
_CANCELLED = 1e-3
# the same if ‖AᵀB‖² is a smaller share of the product of its factors' norms
_SMALL = 1e-6


class FactoredLayer:
    """The correlations of one layer's matrices, each product computed once.

    Parameters
    ----------
    layer : LayerMeasures
    draws : sequence of LayerMeasures, default ()
        The layer with separate estimates of its sums; "agop@2" is the AGOP of estimate 2.
    """

    def __init__(self, layer: "LayerMeasures", draws: Sequence["LayerMeasures"] = ()) -> None:
        self.layer, self.draws = layer, draws
        self.narrow = layer.weight.shape[-2] < layer.weight.shape[-1]
        self._factors: dict[str, tuple[str, str]] = {}
        self._tensors: dict[str, tuple[Tensor | None, str]] = {}  # factor -> K, or None, and the name of V
        self._bases: dict[str, Tensor] = {}
        self._base_products: dict[tuple[str, str], Tensor] = {}
        self._products: dict[tuple[str, str], Tensor] = {}

    def cosine(self, first: str, second: str) -> float:
        """Return ``gramlab.cosine`` of two of the layer's matrices, by the names of ``LayerMeasures``."""
        if not self._has_factors(first, second):
            return cosine(*self._matrices(first, second))
        squares = self._inner(first, first), self._inner(second, second)
        if not self._are_exact((first, second), squares):
            return cosine(*self._matrices(first, second))
        return ratio(squares[0], squares[1], self._inner(first, second))

    def pearson(self, first: str, second: str, *, diagonal: bool = False) -> float:
        """Return ``gramlab.pearson`` of two of the layer's matrices, or of their diagonals."""
        if not self._has_factors(first, second):
            return pearson(*self._matrices(first, second), diagonal=diagonal)
        if diagonal:
            return pearson(*self._diagonals(first, second))
        entries = self.layer.weight.shape[-1] ** 2 * self.groups
        sums = [self._total(name) for name in (first, second)]
        squares = [self._inner(name, name) for name in (first, second)]
        # total * total overflows to infinity, where total**2 raises
        spreads = [square - total * total / entries for square, total in zip(squares, sums, strict=True)]
        exact = self._are_exact((first, second), squares)
        if not exact or any(spread < _CANCELLED * square for spread, square in zip(spreads, squares, strict=True)):
            return pearson(*self._matrices(first, second))
        return ratio(spreads[0], spreads[1], self._inner(first, second) - sums[0] * sums[1] / entries)

    def cosine_null(self, first: str, second: str) -> tuple[float, float]:
        """Return ``gramlab.cosine_null`` of two of the layer's matrices.

        Parameters
        ----------
        first : str
            A symmetric matrix.
        second : str
            Of this one only the symmetric part correlates with the first.

        Returns
        -------
        mean : float
        deviation : float

        Raises
        ------
        Undefined
            If one of them is zero or was not measured, or the layer is a grouped convolution.
        """
        if self.groups > 1:
            raise Undefined("the null is that of two single matrices, and a grouped convolution has several")
        squares = [self._inner(name, name) for name in (first, second)] if self._has_factors(first, second) else []
        if not squares or not self._are_exact((first, second), squares):
            A, B = divided_by_peaks(*self._matrices(first, second))  # squares may leave float64's range
            symmetric = (B + B.mT) / 2
            if bool(A.any()) and bool(B.any()) and not bool(symmetric.any()):
                return 0.0, 0.0  # an antisymmetric matrix correlates with no symmetric one
            mean, deviation = cosine_null(A, symmetric)
            symmetric_share = float(symmetric.norm() / B.norm())
            return mean * symmetric_share, deviation * symmetric_share
        traces = [self._trace(name) for name in (first, second)]
        # ‖(B + Bᵀ)/2‖² = (‖B‖² + ⟨B, Bᵀ⟩)/2
        symmetric_square = (squares[1] + self._inner(second, second, transposed=True)) / 2
        norms = math.prod(map(math.sqrt, squares))  # the product of the squares may leave float64's range
        return null_of_traces(self.layer.weight.shape[-1], traces, (squares[0], symmetric_square), norms)

    def inner_table(
        self,
        first: str,
        second: str,
        first_by_draw: bool,
        second_by_draw: bool,
        centred: bool,
        diagonal: bool = False,
    ) -> np.ndarray:
        """Return ⟨A_g, B_h⟩ for all draws g of the first matrix and h of the second, where they are taken by draw.

        With ``centred`` each matrix is taken minus the mean of its entries, with ``diagonal`` its diagonal alone.
        """
        left, right = self._by_draw(first, first_by_draw), self._by_draw(second, second_by_draw)
        entries = self.layer.weight.shape[-1] ** 2 * self.groups if first in self.layer.FACTORS else None
        table = np.empty((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                if self._has_factors(first, second) and not diagonal:
                    means = self._total(a) * self._total(b) / entries if centred and entries else 0.0
                    table[i, j] = self._inner(a, b) - means
                else:
                    A, B = self._diagonals(a, b) if diagonal else self._matrices(a, b)
                    if A.shape != B.shape:
                        shapes = f"{tuple(A.shape)} and {tuple(B.shape)}"
                        raise ValueError(f"{first} and {second} must have the same shape, not {shapes}")
                    table[i, j] = float(((A - A.mean()) * (B - B.mean())).sum() if centred else (A * B).sum())
        if not np.isfinite(table).all():
            raise Undefined(f"products of the estimates of {first} and {second} exceed float64's range")
        return table

    def traces(self, name: str, by_draw: bool) -> list[float]:
        """Return the trace of a matrix, a single one or that of each draw."""
        return [float(self._diagonals(key)[0].sum()) for key in self._by_draw(name, by_draw)]

    def transposed_inner(self, name: str) -> float:
        """Return ⟨B, Bᵀ⟩."""
        if self._has_factors(name):
            return self._inner(name, name, transposed=True)
        (B,) = self._matrices(name)
        return float((B * B.mT).sum())

    def side(self, *names: str) -> int:
        """Return the side of square matrices. Raises ValueError if they are not square or their sides differ."""
        k, d = self.layer.weight.shape[-2:]
        sides = {k if name in ("ptk", "centered_ptk") or name.startswith("back_") else d for name in names}
        if "weight_gradient" in names or len(sides) > 1:
            raise ValueError(f"the null is that of two square matrices of one shape, not of {' and '.join(names)}")
        return int(sides.pop())

    @property
    def groups(self) -> int:
        """The number of matrices side by side, above 1 for a grouped convolution."""
        return len(self.layer.weight) if self.layer.weight.ndim == 3 else 1

    def _has_factors(self, *names: str) -> bool:
        return self.narrow and all(name in self.layer.FACTORS for name in names)

    def _matrices(self, *names: str) -> list[Tensor]:
        return [getattr(layer, name) for layer, name in map(self._at, names)]

    def _at(self, name: str) -> tuple["LayerMeasures", str]:
        """The layer and the quantity that a name such as "agop@2" stands for."""
        quantity, _, draw = name.partition("@")
        return (self.draws[int(draw)] if draw else self.layer), quantity

    def _pair(self, name: str) -> tuple[str, str]:
        """The names of the factors of a matrix, which are computed on first use."""
        if name not in self._factors:
            layer, quantity = self._at(name)
            keys = []
            for factor in layer.FACTORS[quantity]:
                # only a factor with a sum differs between draws
                keys.append(f"{factor}@{name.partition('@')[2]}" if " " in factor else factor)
                if keys[-1] not in self._tensors:
                    total, base = layer.factor(factor, quantity)
                    base_name = factor.rpartition(" ")[2]
                    self._tensors[keys[-1]] = total, base_name
                    self._bases.setdefault(base_name, base)
            self._factors[name] = keys[0], keys[1]
        return self._factors[name]

    def _product(self, a: str, b: str) -> Tensor:
        if (a, b) not in self._products:
            if (b, a) in self._products:
                return self._products[b, a].mT
            (left, v), (right, w) = self._tensors[a], self._tensors[b]
            product = self._base_product(v, w)
            product = product if left is None else left @ product
            self._products[a, b] = product if right is None else product @ right.mT
        return self._products[a, b]

    def _base_product(self, v: str, w: str) -> Tensor:
        if (w, v) in self._base_products:
            return self._base_products[w, v].mT
        if (v, w) not in self._base_products:
            self._base_products[v, w] = self._bases[v] @ self._bases[w].mT
        return self._base_products[v, w]

    def _are_exact(self, names: Sequence[str], squares: Sequence[float]) -> bool:
        """Whether the squared norms are in float64's range, and no products of sums cancel in them."""
        return all(
            1e-200 < square < 1e300 and square > _SMALL * self._bound(name)
            for name, square in zip(names, squares, strict=True)
        )

    def _bound(self, name: str) -> float:
        """The product of the norms of the matrices from which ‖AᵀB‖² is computed."""
        bound = 1.0
        for factor in self._pair(name):
            total, base = self._tensors[factor]
            bound *= float(self._base_product(base, base).norm())
            bound *= 1.0 if total is None else float(total.norm()) ** 2
        return bound

    def _inner(self, first: str, second: str, transposed: bool = False) -> float:
        (A, B), (C, D) = self._pair(first), self._pair(second)
        if transposed:
            C, D = D, C
        return float((self._product(A, C) * self._product(B, D)).sum())

    def _total(self, name: str) -> float:
        A, B = (self._times_sum(factor, lambda V: V.sum(-1, keepdim=True)) for factor in self._pair(name))
        return float((A * B).sum())

    def _times_sum(self, factor: str, transform: Callable[[Tensor], Tensor] = lambda V: V) -> Tensor:
        """K V of a factor, or K times another matrix that is computed from V."""
        total, base = self._tensors[factor]
        V = transform(self._bases[base])
        return V if total is None else total @ V

    def _trace(self, name: str) -> float:
        return float(self._diagonal(name).sum())

    def _diagonals(self, *names: str) -> list[Tensor]:
        if self._has_factors(*(name.partition("@")[0] for name in names)):
            return [self._diagonal(name) for name in names]
        return [matrix.diagonal(dim1=-2, dim2=-1) for matrix in self._matrices(*names)]

    def _by_draw(self, name: str, by_draw: bool) -> list[str]:
        return [f"{name}@{g}" for g in range(len(self.draws))] if by_draw else [name]

    def _diagonal(self, name: str) -> Tensor:
        A, B = (self._times_sum(factor) for factor in self._pair(name))
        return torch.einsum("...kd,...kd->...d", A, B)
