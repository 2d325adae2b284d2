"""The comparisons of a layer's matrices with each other, by their names."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch

from gramlab.arguments import Check
from gramlab.measures.estimates import Estimate, correlation, null
from gramlab.measures.factored import FactoredLayer
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    from gramlab.measures.results import LayerMeasures


class Comparisons:
    """The part of ``LayerMeasures`` that compares its quantities."""

    # quantity -> A and B, where it is AᵀB with factors (k, d), such as the change W − W₀ and the scaled gradient
    # −∇_W L / λ; "sum factor" stands for their product
    FACTORS: ClassVar[dict[str, tuple[str, str]]] = {
        "gram": ("weight", "weight"),
        "agop": ("weight", "ptk weight"),
        "enfa": ("weight", "loss_outer weight"),
        "fact": ("weight", "scaled_gradient"),
        "centered_gram": ("change", "change"),
        "centered_agop": ("change", "ptk change"),
        "double_centered_agop": ("change", "centered_ptk change"),
        "initial_gram": ("initial", "initial"),
        "ptk_centered_agop": ("initial", "centered_ptk initial"),
    }

    # quantities that are guaranteed to be symmetric at a critical point only
    ASYMMETRIC: ClassVar[frozenset[str]] = frozenset({"fact", "back_fact"})

    name: str
    group_means: Any

    def cosine(self, first: str, second: str) -> float:
        """Return the cosine of two of the layer's quantities by their names, as ``gramlab.cosine`` of the matrices.

        Where the layer has fewer outputs than inputs it takes products of k × k matrices, and forms no d × d one
        unless digits cancel. Where ``outputs=`` estimates a quantity, it is the debiased cosine of ``estimate``.

        Parameters
        ----------
        first, second : str
            Such as "gram" and "agop".

        Returns
        -------
        float
            In [-1, 1].

        Raises
        ------
        Undefined
            If one of them is zero or was not measured.
        ValueError
            If there is no quantity of this name, or the two have different shapes.
        """
        self._check_names(first, second)
        return self.estimate(first, second).value if self.group_means else self._factored.cosine(first, second)

    def pearson(self, first: str, second: str, *, diagonal: bool = False) -> float:
        """Return the Pearson correlation of two of the layer's quantities by their names, as ``cosine`` does.

        Parameters
        ----------
        first, second : str
            Such as "gram" and "agop".
        diagonal : bool, default False
            Whether to compare only the diagonals.

        Returns
        -------
        float
            In [-1, 1].

        Raises
        ------
        Undefined
            If the entries of one of them are all the same, or it was not measured.
        ValueError
            If there is no quantity of this name, or the two have different shapes.
        """
        self._check_names(first, second)
        if self.group_means:
            return correlation(self._layer, first, second, True, diagonal).value
        return self._factored.pearson(first, second, diagonal=diagonal)

    def cosine_null(self, first: str, second: str) -> tuple[float, float]:
        """Return mean and standard deviation of ``cosine`` for random eigenvectors, as ``gramlab.cosine_null``.

        It is the same whichever of the two has random eigenvectors. Of a matrix that is not symmetric, FACT on either
        side of the layer, only the symmetric part correlates with the other. Where ``outputs=`` estimates a quantity,
        norms and traces come from separate draws, as for ``estimate``.

        Parameters
        ----------
        first, second : str
            Such as "gram" and "agop", in any order.

        Returns
        -------
        mean : float
        deviation : float

        Raises
        ------
        Undefined
            If one of them is zero or was not measured, or the layer is a grouped convolution.
        ValueError
            If there is no quantity of this name, one of them is not square, the two have different shapes, or neither
            is symmetric.
        """
        self._check_names(first, second)
        self._factored.side(first, second)
        if {first, second} <= self.ASYMMETRIC:
            raise ValueError(f"the null needs a symmetric matrix, and neither {first} nor {second} is symmetric")
        if first in self.ASYMMETRIC:
            first, second = second, first
        return null(self._layer, first, second) if self.group_means else self._factored.cosine_null(first, second)

    def estimate(self, first: str, second: str, *, centred: bool = False) -> Estimate:
        """Return a cosine, or with ``centred`` a Pearson correlation, with the standard error of ``outputs=``.

        Random cotangents make the norm of an estimated matrix too large, and the plain cosine too small. Here the norm
        comes from products of separate draws, which are unbiased. The standard error is the jackknife's over
        groups of draws.

        Parameters
        ----------
        first, second : str
            Such as "gram" and "agop".
        centred : bool, default False
            Whether to subtract the means of the entries.

        Returns
        -------
        Estimate
            ``value``, ``standard_error`` and the 95 % ``interval``. Of exact quantities the error is 0; with fewer than
            3 cotangents it is infinite.

        Raises
        ------
        Undefined
            If a quantity is zero, was not measured, or is estimated from a single cotangent.
        """
        self._check_names(first, second)
        return correlation(self._layer, first, second, centred)

    def relative_error(self, quantity: str) -> float:
        """Return the standard error of an estimated matrix in the Frobenius norm, relative to its norm.

        0 for an exact quantity.

        Raises
        ------
        Undefined
            If the estimate is zero, or made from a single cotangent.
        """
        self._check_names(quantity)
        if not (means := [getattr(group, quantity) for group in self._layer.by_cotangent_group()]):
            return 0.0
        if len(means) == 1:
            raise Undefined(f"layer {self.name!r}: a single cotangent has no standard error; give outputs=2 or more")
        values = torch.stack(means)
        squared_error = float((values - values.mean(0)).square().sum()) / (len(means) - 1) / len(means)
        if not (norm := float(values.mean(0).norm())):
            raise Undefined(f"layer {self.name!r}: {quantity} is zero, so that it has no relative error")
        return math.sqrt(squared_error) / norm

    def _check_names(self, *names: str) -> None:
        """Raise ValueError, with the nearest name, unless each name is that of a matrix."""
        from gramlab.measures.results import NEEDS

        matrices = [name for name in NEEDS if name != "virtual_shift"]  # it is a function of a learning rate
        Check(ValueError).choices("matrices", names, matrices)

    @cached_property
    def _factored(self) -> FactoredLayer:
        return FactoredLayer(self._layer)

    @property
    def _layer(self) -> "LayerMeasures":
        return cast("LayerMeasures", self)
