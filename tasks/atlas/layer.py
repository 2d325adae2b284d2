"""The data that a law may read: a layer of a network at a snapshot, on one side."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

import gramlab


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer z = W h of a network at a snapshot; everything is in float64.

    The forward side is that of the input h, and its target is WᵀW (d, d). The backward side is that of the output z,
    and its target is WWᵀ (k, k). A law reads the same names on both sides and returns a matrix of the target's shape.

    Attributes
    ----------
    W, W0 : Tensor of shape (k, d)
        The weight now and at initialisation; kernels of a convolution are flat rows.
    activations : Tensor of shape (rows, d)
        The layer's inputs h, a row for each sample, token or image position.
    gradients : Tensor of shape (rows, k)
        ∇_z l_i, the gradient of a sample's loss with respect to the layer's output, for the same rows.
    ptk : Tensor of shape (k, k)
        K = (1/n) Σ ∂f/∂z ∂f/∂zᵀ over samples and outputs f of the network.
    n : int
        The number of samples.
    weight_decay : float
        The λ of the training, 0 without decay.
    side : {"forward", "backward"}
    sums : dict of str to Tensor
        Sums over training on this side: "shifts", "accumulated" and "steps"; empty if training kept none.
    other_ptk, other_W : Tensor or None
        K and W of the next layer whose target has the same shape.
    """

    W: Tensor
    W0: Tensor
    activations: Tensor
    gradients: Tensor
    ptk: Tensor
    n: int
    weight_decay: float = 0.0
    side: str = "forward"
    sums: dict[str, Tensor] = field(default_factory=dict)
    other_W: Tensor | None = None
    other_ptk: Tensor | None = None

    @property
    def is_forward(self) -> bool:
        """Whether this is the side of the layer's input."""
        return self.side == "forward"

    @cached_property
    def gram(self) -> Tensor:
        """WᵀW; backward WWᵀ."""
        return self._gram(self.W)

    @cached_property
    def initial_gram(self) -> Tensor:
        """W₀ᵀW₀; backward W₀W₀ᵀ."""
        return self._gram(self.W0)

    @cached_property
    def change(self) -> Tensor:
        """WᵀW − W₀ᵀW₀; backward WWᵀ − W₀W₀ᵀ."""
        return self.gram - self.initial_gram

    @cached_property
    def weight_gradient(self) -> Tensor:
        """∇_W L = (1/n) Σ ∇_z l_i hᵀ (k, d)."""
        return self.gradients.mT @ self.activations / self.n

    @cached_property
    def agop(self) -> Tensor:
        """(1/n) Σ ∂f/∂h ∂f/∂hᵀ = WᵀKW; backward K."""
        return self.W.mT @ self.ptk @ self.W if self.is_forward else self.ptk

    @cached_property
    def enfa(self) -> Tensor:
        """(1/n) Σ ∇_h l_i ∇_h l_iᵀ; backward (1/n) Σ ∇_z l_i ∇_z l_iᵀ."""
        signals = self.gradients @ self.W if self.is_forward else self.gradients
        return signals.mT @ signals / self.n

    @cached_property
    def pull(self) -> Tensor:
        """−Wᵀ∇_W L, which is λ FACT; backward −W (∇_W L)ᵀ."""
        G = self.weight_gradient
        return -self.W.mT @ G if self.is_forward else -self.W @ G.mT

    @cached_property
    def _agop_spectrum(self) -> tuple[Tensor, Tensor]:
        values, vectors = torch.linalg.eigh((self.agop + self.agop.mT) / 2)
        return values.clamp_min(0.0), vectors

    def agop_power(self, s: float) -> Tensor:
        """AGOP^s. Eigenvalues below round-off count as zero."""
        values, vectors = self._agop_spectrum
        positive = values > len(values) * torch.finfo(values.dtype).eps * values[-1]
        return (vectors * torch.where(positive, torch.where(positive, values, 1.0) ** s, 0.0)) @ vectors.mT

    def scrambled(self, rotation: Tensor) -> "Layer":
        """The layer with its backward signals rotated against its weights: K → QKQᵀ and ∇_z l → Q∇_z l."""
        return replace(self, ptk=rotation @ self.ptk @ rotation.mT, gradients=self.gradients @ rotation.mT)

    def _gram(self, W: Tensor) -> Tensor:
        return W.mT @ W if self.is_forward else W @ W.mT


def root(A: Tensor) -> Tensor:
    """A^½ of a positive semi-definite matrix."""
    return gramlab.psd_power((A + A.mT) / 2, 0.5)
