"""The quantities of a measured layer, computed on first access from a few accumulated matrices."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any

import torch
from torch import Tensor

from gramlab.arguments import Check
from gramlab.losses import all_finite
from gramlab.measures.comparisons import Comparisons
from gramlab.measures.products import symmetric
from gramlab.measures.undefined import Undefined

# quantity -> the sums over the data set that it needs
NEEDS: dict[str, frozenset[str]] = {
    "gram": frozenset(),
    "back_gram": frozenset(),
    "agop": frozenset({"ptk"}),
    "ptk": frozenset({"ptk"}),
    "back_agop": frozenset({"ptk"}),
    "enfa": frozenset({"loss_outer"}),
    "back_enfa": frozenset({"loss_outer"}),
    "fact": frozenset({"weight_gradient"}),
    "back_fact": frozenset({"weight_gradient"}),
    "weight_gradient": frozenset({"weight_gradient"}),
    "virtual_shift": frozenset({"weight_gradient", "loss_outer"}),
    "centered_gram": frozenset({"initial"}),
    "centered_agop": frozenset({"ptk", "initial"}),
    "centered_ptk": frozenset({"centered_ptk", "initial"}),
    "double_centered_agop": frozenset({"centered_ptk", "initial"}),
    "initial_gram": frozenset({"initial"}),
    "ptk_centered_agop": frozenset({"centered_ptk", "initial"}),
}
LOSS_SUMS = frozenset({"loss_outer", "weight_gradient"})  # sums that a backward pass of the loss gives
OUTPUT_SUMS = frozenset({"ptk", "centered_ptk"})  # sums over outputs
# singular values whose squares are a smaller part of the largest lose digits as roots of eigenvalues: those of a matrix
# of low rank would be 1e-8 in place of 0
_SMALL_SQUARE = 1e-8


def names_of(quantities: str | Sequence[str]) -> list[str]:
    """Return the names of quantities as a list, also of a single one."""
    return [quantities] if isinstance(quantities, str) else list(quantities)


def _quantity(compute: Callable[[Any], Tensor]) -> cached_property[Tensor]:
    """A property that is computed once and raises Undefined if its numbers leave float64's range."""

    @wraps(compute)
    def checked(self: "LayerMeasures") -> Tensor:
        return self._checked_range(compute.__name__, compute(self))

    return cached_property(checked)


@dataclass(frozen=True, eq=False)
class LayerMeasures(Comparisons):
    """The quantities of one layer z = W h, all in float64.

    W is (k, d): a Linear's weight, or a Conv2d's flattened kernels on its im2col patches (paper A, C.1). A grouped
    convolution is its groups side by side: every matrix then has a leading axis of groups, (groups, k, d) and so on.

    Sums run over the layer's rows: one for each sample, token of (n, T, d), image position, and call if the layer is
    called several times. They are divided by n, the number of samples of the data set, not of rows. l_i is the
    loss of sample i, L their mean, f all outputs of the network for a sample.

    Properties raise Undefined if a quantity was not measured or has no value. Matrices are computed once.

    Attributes
    ----------
    name : str
        The layer's name in ``model.named_modules()``.
    n : int
        The number of samples.
    weight : Tensor of shape (k, d) or (groups, k, d)
    sums : mapping of str to Tensor
        The accumulated means over samples: "ptk", "centered_ptk" and "loss_outer" (k, k), "weight_gradient" (k, d).
    weight_decay : float or None
        The λ of FACT.
    initial_weight : Tensor of the shape of ``weight``, or None
        W₀.
    kind : str
        What the layer is: "Linear", "Conv2d", "MultiheadAttention", ...
    group_means : mapping of str to Tensor
        Where ``outputs=`` estimates a sum: its means over each group of random cotangents,
        (groups of cotangents, k, k).

    Examples
    --------
    >>> import torch, gramlab
    >>> model = torch.nn.Linear(4, 2)
    >>> layer = gramlab.measure(model, torch.randn(10, 4), torch.randn(10, 2), weight_decay=0.1)[""]
    >>> [tuple(matrix.shape) for matrix in (layer.gram, layer.agop, layer.fact, layer.ptk)]
    [(4, 4), (4, 4), (4, 4), (2, 2)]
    """

    name: str
    n: int
    weight: Tensor
    sums: Mapping[str, Tensor]
    weight_decay: float | None = None
    initial_weight: Tensor | None = None
    kind: str = "Linear"
    group_means: Mapping[str, Tensor] = field(default_factory=dict)

    @_quantity
    def gram(self) -> Tensor:
        """WᵀW (d, d): paper A; the neural feature matrix of papers B, C."""
        return symmetric(self.weight, self.weight)

    @_quantity
    def back_gram(self) -> Tensor:
        """WWᵀ (k, k): paper C, Appendix A."""
        return symmetric(self.weight.mT, self.weight.mT)

    @property
    def ptk(self) -> Tensor:
        """K = (1/n) Σ ∂f/∂z ∂f/∂zᵀ over rows and outputs (k, k): paper B's pre-activation tangent kernel, with 1/n."""
        return self._sum("ptk", "ptk")

    @_quantity
    def agop(self) -> Tensor:
        """(1/n) Σ ∂f/∂h ∂f/∂hᵀ over rows and outputs (d, d), as WᵀKW: papers B (Proposition 2), C, D."""
        return self._through(self.weight, self._sum("agop", "ptk"))

    @property
    def back_agop(self) -> Tensor:
        """The AGOP with respect to the layer's output (k, k), which is ``ptk``: paper C, Appendix A."""
        return self._sum("back_agop", "ptk")

    @_quantity
    def enfa(self) -> Tensor:
        """(1/n) Σ ∇_h l_i ∇_h l_iᵀ (d, d): paper C, Section 2."""
        return self._through(self.weight, self._sum("enfa", "loss_outer"))

    @property
    def back_enfa(self) -> Tensor:
        """(1/n) Σ ∇_z l_i ∇_z l_iᵀ (k, k): paper C, Appendix A."""
        return self._sum("back_enfa", "loss_outer")

    @property
    def weight_gradient(self) -> Tensor:
        """∇_W L = (1/n) Σ ∇_z l_i hᵀ (k, d), through this layer's calls only if other layers share the weight."""
        return self._sum("weight_gradient", "weight_gradient")

    @_quantity
    def fact(self) -> Tensor:
        """−(1/(nλ)) Σ ∇_h l_i hᵀ (d, d), as −(1/λ) Wᵀ∇_W L; at a critical point WᵀW: paper C, Theorem 3.1."""
        return self.weight.mT @ self._sum("fact", "weight_gradient") / -self._decay("fact")

    @_quantity
    def back_fact(self) -> Tensor:
        """−(1/(nλ)) Σ Wh ∇_z l_iᵀ (k, k), as −(1/λ) W(∇_W L)ᵀ: paper C, Theorem A.1."""
        return self.weight @ self._sum("back_fact", "weight_gradient").mT / -self._decay("back_fact")

    def virtual_shift(self, lr: float) -> Tensor:
        """Σ h⁺h⁺ᵀ − hhᵀ over rows (d, d), with h⁺ = h − lr ∇_h L: paper A, Definition 1.

        Computed as −lr (∇_hL hᵀ + h ∇_hLᵀ) + lr² ∇_hL ∇_hLᵀ, which subtracts no two nearly equal matrices.

        Parameters
        ----------
        lr : float
            The learning rate γ.

        Returns
        -------
        Tensor of shape (d, d)

        Raises
        ------
        ValueError
            Unless ``lr`` is a finite number.
        """
        return self._checked_range("virtual_shift", symmetric(*self.virtual_shift_factors(lr)))

    def virtual_shift_factors(self, lr: float) -> tuple[Tensor, Tensor]:
        """Return A and B of ``virtual_shift`` = AᵀB, both of shape (2k, d).

        Parameters
        ----------
        lr : float

        Returns
        -------
        A, B : Tensor of shape (2k, d)

        Raises
        ------
        ValueError
            Unless ``lr`` is a finite number.
        """
        Check(ValueError).number("lr", lr)
        G, K = self._sum("virtual_shift", "weight_gradient"), self._sum("virtual_shift", "loss_outer")
        W = self.weight
        half = (lr / (2 * self.n)) * (lr * (K @ W)) - lr * G
        # WᵀB + BᵀW of this half, as one symmetric product
        return torch.cat([W, half], -2), torch.cat([half, W], -2)

    @_quantity
    def centered_gram(self) -> Tensor:
        """(W − W₀)ᵀ(W − W₀) (d, d): paper B, Section 2.3."""
        return symmetric(self._change, self._change)

    @_quantity
    def centered_agop(self) -> Tensor:
        """(W − W₀)ᵀ K (W − W₀) (d, d): paper B, Section 2.3."""
        return self._through(self._change, self._sum("centered_agop", "ptk"))

    @property
    def centered_ptk(self) -> Tensor:
        """K̄ = (1/n) Σ (∂f/∂z − ∂f₀/∂z)(∂f/∂z − ∂f₀/∂z)ᵀ (k, k): paper B, Appendix B, with 1/n."""
        return self._sum("centered_ptk", "centered_ptk")

    @_quantity
    def double_centered_agop(self) -> Tensor:
        """(W − W₀)ᵀ K̄ (W − W₀) (d, d): paper B, Ansatz 5."""
        return self._through(self._change, self._sum("double_centered_agop", "centered_ptk"))

    @_quantity
    def initial_gram(self) -> Tensor:
        """W₀ᵀW₀ (d, d): paper B, Ansatz 6."""
        return symmetric(self._initial, self._initial)

    @_quantity
    def ptk_centered_agop(self) -> Tensor:
        """W₀ᵀ K̄ W₀ (d, d): paper B, Ansatz 6."""
        return self._through(self._initial, self._sum("ptk_centered_agop", "centered_ptk"))

    @cached_property
    def stationarity(self) -> float:
        """‖∇_W L + λW‖ / ‖λW‖, the distance from FACT's hypothesis, a critical point of L + (λ/2)‖W‖²."""
        decay_term = self._decay("stationarity") * self.weight
        gradient = self._sum("stationarity", "weight_gradient")
        if not float(decay_term.norm()):
            raise Undefined(f"layer {self.name!r}: stationarity is relative to λW, and the weights are zero")
        return float((gradient + decay_term).norm() / decay_term.norm())

    @cached_property
    def effective_rank(self) -> float:
        """exp of the entropy of W's normalised singular values (Roy and Vetterli 2007); of groups their mean."""
        narrow = self.weight.shape[-2] <= self.weight.shape[-1]
        squares = torch.linalg.eigvalsh(self.back_gram if narrow else self.gram)
        if bool((squares[..., 0] <= _SMALL_SQUARE * squares[..., -1]).any()):
            shares = torch.linalg.svdvals(self.weight)
        else:
            shares = squares.sqrt()
        if not bool((shares.sum(-1) > 0).all()):
            raise Undefined(f"layer {self.name!r}: the effective rank of zero weights is undefined")
        shares = shares / shares.sum(-1, keepdim=True)
        return float(torch.special.entr(shares).sum(-1).exp().mean())

    def by_cotangent_group(self) -> list["LayerMeasures"]:
        """Return the layer with the sums of each separate group of random cotangents; none if all sums are exact."""
        count = len(next(iter(self.group_means.values()))) if self.group_means else 0
        return [
            replace(self, sums={**self.sums, **{name: t[g] for name, t in self.group_means.items()}}, group_means={})
            for g in range(count)
        ]

    def cpu(self) -> "LayerMeasures":
        """Return the layer with all tensors in the CPU's memory."""
        sums, means = ({key: t.cpu() for key, t in tensors.items()} for tensors in (self.sums, self.group_means))
        initial = None if self.initial_weight is None else self.initial_weight.cpu()
        return replace(self, weight=self.weight.cpu(), sums=sums, initial_weight=initial, group_means=means)

    def factor(self, name: str, quantity: str) -> tuple[Tensor | None, Tensor]:
        """Return K and V of a factor K V of ``FACTORS``, None for the K of a factor V.

        Raises Undefined, in the name of the quantity, if it was not measured.
        """
        total, _, base = name.rpartition(" ")
        K = self._sum(quantity, total) if total else None
        if base == "weight":
            return K, self.weight
        if base == "change":
            return K, self._change
        if base == "initial":
            return K, self._initial
        return K, self._sum(quantity, "weight_gradient") / -self._decay(quantity)

    @property
    def _initial(self) -> Tensor:
        if self.initial_weight is None:
            raise Undefined(f"layer {self.name!r}: centred quantities need initial=, the initial weights")
        return self.initial_weight

    @property
    def _change(self) -> Tensor:
        return self.weight - self._initial

    def _checked_range(self, quantity: str, matrix: Tensor) -> Tensor:
        if not all_finite(matrix):
            raise Undefined(f"layer {self.name!r}: {quantity} leaves float64's range; scale the weights or the inputs")
        return matrix

    def _decay(self, quantity: str) -> float:
        if not self.weight_decay:
            raise Undefined(
                f"layer {self.name!r}: {quantity} divides by λ and λ is {self.weight_decay};"
                " pass a positive weight_decay to measure"
            )
        return self.weight_decay

    def _sum(self, quantity: str, name: str) -> Tensor:
        if name not in self.sums:
            raise Undefined(
                f"layer {self.name!r}: {quantity} was not measured; name it in quantities=. Quantities of the loss need"
                " targets, centred ones need initial="
            )
        return self.sums[name]

    @staticmethod
    def _through(W: Tensor, K: Tensor) -> Tensor:
        return symmetric(W, K @ W)


def single(stack: Tensor) -> Tensor:
    """Return a stack of a single matrix as that matrix, and the stack of a grouped convolution unchanged."""
    return stack[0] if len(stack) == 1 else stack
