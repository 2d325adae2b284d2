"""The kinds of layers that multiply by a weight, each seen as z = W h on rows of inputs (paper A, C.1)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrize import is_parametrized

from gramlab.measures.convolutions import CONVOLUTIONS, TRANSPOSED, Convolution, TransposedConvolution
from gramlab.measures.layer import Layer as Layer
from gramlab.measures.shards import whole_tensor


class Linear(Layer):
    """``nn.Linear``."""

    plain = nn.Linear


class TransposedLinear(Layer):
    """Hugging Face's ``Conv1D``, a Linear whose parameter is Wᵀ (d, k)."""

    def matrices(self, weight: Tensor) -> Tensor:
        return weight.mT.unsqueeze(0)

    def overrides_forward(self) -> bool:
        return True  # the class is known by its name alone

    def product(self, h: Tensor) -> Tensor:
        return F.linear(h, self.module.weight.mT, self.module.bias)


class Adapted(Layer):
    """A Linear with low-rank adapters (peft, loralib), which are part of its effective weight.

    W comes from the module itself: its outputs for the unit vectors, minus that for zero. So every adapter that is
    linear is seen as it acts, merged or not, in the model's precision.
    """

    def weight_matrices(self) -> Tensor:
        weight, _ = self._affine()
        return weight.unsqueeze(0)

    def parameter(self) -> None:
        return None

    def has_computed_weight(self) -> bool:
        return False

    def overrides_forward(self) -> bool:
        return True

    def product(self, h: Tensor) -> Tensor:
        return F.linear(h, *self._affine())

    def _affine(self) -> tuple[Tensor, Tensor]:
        parameter = next(p for p in self.module.parameters() if p.is_floating_point())
        base = getattr(self.module, "base_layer", self.module)
        width = getattr(base, "in_features", None) or base.weight.shape[0]
        unit_vectors = torch.eye(width, dtype=parameter.dtype, device=parameter.device)
        with torch.no_grad():
            outputs = self.module.forward(torch.cat([unit_vectors, torch.zeros_like(unit_vectors[:1])]))
        return (outputs[:-1] - outputs[-1]).mT.contiguous(), outputs[-1]


class Embedding(Layer):
    """``nn.Embedding``: W is the table's transpose (k, words), and h a one-hot row. Padding has no row."""

    plain = nn.Embedding

    def matrices(self, weight: Tensor) -> Tensor:
        return weight.mT.unsqueeze(0)

    def output_rows(self, z: Tensor, mask: Tensor | None = None, h: Tensor | None = None) -> Tensor:
        if self.module.padding_idx is not None and h is not None:  # training leaves this word's vector as it is
            z = z * (h != self.module.padding_idx).unsqueeze(-1)
        return super().output_rows(z, mask)

    def weight_gradient(self, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
        rows = self.output_rows(g, mask, h)[0]
        total = rows.new_zeros(self.module.num_embeddings, rows.shape[1])
        return total.index_add_(0, h.reshape(-1), rows).mT.unsqueeze(0)

    def row_axes(self, h: Tensor) -> tuple[int, ...]:
        return tuple(h.shape)

    def product(self, h: Tensor) -> Tensor:
        return F.embedding(h, self.module.weight, self.module.padding_idx)


class Projection(Layer):
    """One of the four projections of ``nn.MultiheadAttention``, which multiplies by a bare tensor.

    Torch's function transposes its arguments: the tokens are the first axis, and the samples the second.

    Parameters
    ----------
    module : torch.nn.MultiheadAttention
    part : {"q_proj", "k_proj", "v_proj", "out_proj"}
    """

    PARTS = ("q_proj", "k_proj", "v_proj", "out_proj")

    def __init__(self, module: nn.MultiheadAttention, part: str) -> None:
        super().__init__(module)
        self.part = part

    def weight_matrices(self) -> Tensor:
        return self.matrices(whole_tensor(self.place()[0]).detach())

    def matrices(self, weight: Tensor) -> Tensor:
        _, start, stop = self.place()
        return weight[start:stop].unsqueeze(0)

    def parameter(self) -> nn.Parameter | None:
        tensor = self.place()[0]
        return tensor if isinstance(tensor, nn.Parameter) else None

    def place(self) -> tuple[Tensor, int, int]:
        """Return the tensor that holds the weight, and the first and the last row of it there."""
        if self.part == "out_proj":
            return self.module.out_proj.weight, 0, self.module.embed_dim
        width = self.module.embed_dim
        if self.module._qkv_same_embed_dim:
            start = self.PARTS.index(self.part) * width
            return self.module.in_proj_weight, start, start + width
        return getattr(self.module, f"{self.part}_weight"), 0, width

    def output_rows(self, z: Tensor, mask: Tensor | None = None, h: Tensor | None = None) -> Tensor:
        # the output projection's rows are (T n, k)
        if mask is None or z.shape[:-1].numel() != mask.numel():
            return super().output_rows(z)
        return super().output_rows(z.reshape(*mask.mT.shape, -1), mask.mT)

    def row_axes(self, h: Tensor) -> tuple[int, ...]:
        return h.shape[1], h.shape[0]

    def by_sample(self, values: Tensor, h: Tensor) -> Tensor:
        return values.reshape(*h.shape[:2], -1).transpose(0, 1)

    def parameters(self) -> list[Tensor]:
        return [self.place()[0]]  # the module's others belong to other projections, or are biases

    def has_computed_weight(self) -> bool:
        return False

    def overrides_forward(self) -> bool:
        return False  # a projection is seen only where torch's function multiplies by its weight


def as_layers(name: str, module: nn.Module) -> dict[str, Layer]:
    """Return a module's measured layers by name: none, itself, or the projections of an attention module.

    Parameters
    ----------
    name : str
        The module's name in ``model.named_modules()``.
    module : torch.nn.Module

    Returns
    -------
    dict of str to Layer

    Examples
    --------
    >>> list(as_layers("attention", nn.MultiheadAttention(4, 2)))
    ['attention.q_proj', 'attention.k_proj', 'attention.v_proj', 'attention.out_proj']
    """
    if isinstance(module, torch.jit.ScriptModule):
        return {}  # TorchScript hides its layers
    if isinstance(module, nn.MultiheadAttention):
        if type(module).forward is not nn.MultiheadAttention.forward or "forward" in vars(module):
            return {}
        prefix = f"{name}." if name else ""
        return {prefix + part: Projection(module, part) for part in Projection.PARTS
                if parametrized_weight(module, part) is None}  # fmt: skip
    if isinstance(module, nn.modules.linear.NonDynamicallyQuantizableLinear):
        return {}  # the output projection of an attention module
    if is_adapted(module):
        return {name: Adapted(module)}
    for kind, view in (((nn.Linear,), Linear), (CONVOLUTIONS, Convolution), (TRANSPOSED, TransposedConvolution)):
        if isinstance(module, kind):
            return {name: view(module)}  # type: ignore[operator]
    if isinstance(module, nn.Embedding) and module.max_norm is None and not module.scale_grad_by_freq:
        return {name: Embedding(module)}
    if is_transposed_linear(module):
        return {name: TransposedLinear(module)}
    return {}


def parametrized_weight(module: nn.MultiheadAttention, part: str) -> str | None:
    """The name of a projection's weight if a parametrization computes it anew at each use, None otherwise.

    The product then has a tensor of its own, which cannot be recognised as the projection's.
    """
    if part == "out_proj":
        return "out_proj.weight" if is_parametrized(module.out_proj, "weight") else None
    name = "in_proj_weight" if module._qkv_same_embed_dim else f"{part}_weight"
    return name if is_parametrized(module, name) else None


def is_transposed_linear(module: nn.Module) -> bool:
    """Whether a module is Hugging Face's ``Conv1D``, whose library is not imported for it."""
    weight = module._parameters.get("weight")
    width = getattr(module, "nf", None)
    return type(module).__name__ == "Conv1D" and weight is not None and weight.ndim == 2 and width == weight.shape[1]


def is_adapted(module: nn.Module) -> bool:
    """Whether a module is a Linear with low-rank adapters, of peft (``base_layer``) or loralib (a subclass)."""
    if not (hasattr(module, "lora_A") and hasattr(module, "lora_B")):
        return False
    base = getattr(module, "base_layer", module)
    return isinstance(base, nn.Linear) or (isinstance(base, nn.Module) and is_transposed_linear(base))
