"""A layer that multiplies by a weight, seen as z = W h on rows of inputs."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.measures.arrays import zero_masked
from gramlab.measures.shards import whole_tensor


class Layer:
    """A module whose output is z = W h + b, with W (k, d) and a row h for each sample, token or position.

    Parameters
    ----------
    module : torch.nn.Module

    Attributes
    ----------
    module : torch.nn.Module
    kind : str
        The name of its class.
    """

    plain: type[nn.Module]  # the class whose forward computes W h + b
    methods: tuple[str, ...] = ("forward",)

    def __init__(self, module: Any) -> None:
        self.module = module
        self.kind = type(module).__name__

    def __repr__(self) -> str:
        return repr(self.module)

    def weight_matrices(self) -> Tensor:
        """Return the weight as matrices (groups, k, d)."""
        return self.matrices(whole_tensor(self.module.weight).detach())

    def matrices(self, weight: Tensor) -> Tensor:
        """Return a tensor in the shape of the weight's parameter, such as its gradient, as (groups, k, d)."""
        return weight.unsqueeze(0)

    def parameter(self) -> nn.Parameter | None:
        """Return the parameter that is the weight, None if the weight is computed from others."""
        return self.module._parameters.get("weight")

    def output_rows(self, z: Tensor, mask: Tensor | None = None, h: Tensor | None = None) -> Tensor:
        """Return values at the layer's output as (groups, rows, k): a row for each sample, token, or position.

        Tokens where the mask (n, T) is False give rows of zeros, all of them if a token has several, (n, T, heads, k).
        ``h`` is the layer's input.
        """
        if mask is not None and z.shape[:2] == mask.shape and z.ndim > 2:
            z = zero_masked(z, mask)
        return z.reshape(1, -1, z.shape[-1])

    def weight_gradient(self, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return Σ g hᵀ over rows, (groups, k, d), for a call's input ``h`` and gradient ``g`` at its output."""
        return (self.output_rows(g, mask)[0].mT @ h.reshape(-1, h.shape[-1])).unsqueeze(0)

    def row_axes(self, h: Tensor) -> tuple[int, ...]:
        """Return the axes of the rows of the input ``h``: (n,), (n, T, ...) of tokens, and () of positions."""
        return tuple(h.shape[:-1])

    def by_sample(self, values: Tensor, h: Tensor) -> Tensor:
        """Return values at the input or output with the samples as the first axis; ``h`` is the input."""
        return values

    def parameters(self) -> list[Tensor]:
        """Return the module's parameters, the bias too."""
        return list(self.module.parameters())

    def weight_sources(self) -> list[Tensor]:
        """Return the weight's parameter, or the parameters that a computed weight comes from."""
        parameter = self.parameter()
        if parameter is not None:
            return [parameter]
        return [tensor for name, tensor in self.module.named_parameters() if name != "bias"]

    def has_computed_weight(self) -> bool:
        """Whether a call sets the weight, as the hooks of ``torch.nn.utils``' weight_norm and prune do."""
        return "weight" in vars(self.module)

    def overrides_forward(self) -> bool:
        """Whether the module has a forward of its own, which may not compute W h + b."""
        return any(m in vars(self.module) or getattr(type(self.module), m) is not getattr(self.plain, m)
                   for m in self.methods)  # fmt: skip

    def product(self, h: Tensor) -> Tensor:
        """Return W h + b, in the shape of the module's output."""
        return F.linear(h, self.module.weight, self.module.bias)
