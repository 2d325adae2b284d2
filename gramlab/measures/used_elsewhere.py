"""Weights that the network also uses outside of their layers' calls, found by comparing gradients of the loss."""

from collections.abc import Collection, Iterable, Mapping

import torch
from torch import Tensor, nn

from gramlab.measures.kinds import Layer, Projection, as_layers

USED_ELSEWHERE = "also used outside of its layer's calls, and weight_gradient, FACT and stationarity lack that part"
TIED = "also the weight of layer {}, whose part weight_gradient, FACT and stationarity lack"


def tied_weights(model: nn.Module, measured: Mapping[str, Layer], unreached: Collection[str] = ()) -> dict[str, str]:
    """Return the weights of measured layers that other layers share, and by which.

    Autograd's gradient of such a parameter sums over the calls of all its layers, and a layer's own sum is only a part.
    A module that is called twice, or has two names, is one layer, whose sum is complete.

    Parameters
    ----------
    model : torch.nn.Module
    measured : mapping of str to Layer
    unreached : collection of str, default ()
        Layers that no sample reaches, whose part of the gradient is zero.

    Returns
    -------
    dict of str to str
        The weight's name in each layer -> what it lacks.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> model[1].weight = model[0].weight
    >>> list(tied_weights(model, {"0": as_layers("0", model[0])["0"]}))
    ['0.weight']
    """
    layers_by_weight: dict[tuple[int, int], list[str]] = {}
    for key, module in model.named_modules():
        for name, layer in as_layers(key, module).items():
            if name not in unreached and (parameter := layer.parameter()) is not None:
                # projections of attention share a tensor, and have rows of their own in it
                start = layer.place()[1] if isinstance(layer, Projection) else 0
                layers_by_weight.setdefault((id(parameter), start), []).append(name)
    names: dict[int, list[str]] = {id(p): [] for p in model.parameters()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[id(parameter)].append(name)
    # attention has the weight of its layer "q_proj" under the name "q_proj_weight"
    return {
        next(
            (own for own in (f"{name}.weight", f"{name}_weight") if own in names[key[0]]), names[key[0]][0]
        ): TIED.format(" and ".join(repr(other_name) for other_name in layers if other_name != name))
        for key, layers in layers_by_weight.items()
        for name in layers
        if len(layers) > 1 and name in measured
    }


class CallGradients:
    """The weight gradients of a batch by layer, summed over calls, and how far round-off may move them.

    Autograd's gradients with respect to the parameters have a part for every use of a parameter. A parameter whose
    gradient is not the sum over its layers' calls has another use: tied weights that the model multiplies by itself,
    a division by the weight's norm, or a gradient that belongs to the outputs.

    Parameters
    ----------
    layers : mapping of str to Layer
    """

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        self.layers = layers
        self.totals: dict[str, Tensor] = {}
        self.bounds: dict[str, float] = {}

    def parameters(self) -> list[nn.Parameter]:
        """Return the weights that can be compared: leaves in full precision, trained, whole, and without hooks."""
        weights = {id(p): p for p in (layer.parameter() for layer in self.layers.values()) if p is not None}
        return [
            p
            for p in weights.values()
            if p.requires_grad
            and p.is_leaf
            and p.dtype in (torch.float32, torch.float64)
            and not hasattr(p, "to_local")
            and not p._backward_hooks  # a hook changes autograd's gradient
        ]

    def add(self, name: str, h: Tensor, g: Tensor, total: Tensor, eps: float) -> None:
        """Add the weight gradient of a call with input ``h`` and gradient ``g``, computed in the precision ``eps``.

        In half precision, also under autocast, the bound is too wide to find a use.
        """
        self.totals[name] = self.totals[name] + total if name in self.totals else total
        size = _norm(h) if h.is_floating_point() else h.numel() ** 0.5
        rows = g.numel() / total.shape[:2].numel()  # each entry of g hᵀ is a sum over so many rows
        rounding = eps * (100 + rows**0.5)
        self.bounds[name] = self.bounds.get(name, 0.0) + rounding * size * _norm(g)

    def differing(
        self, model: nn.Module, parameters: Iterable[nn.Parameter], gradients: Iterable[Tensor | None]
    ) -> set[str]:
        """Return the names of the parameters whose gradients are not the sums over their layers' calls.

        Entries that an unmeasured layer multiplies by are not compared.
        """
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        unmeasured_layers = [layer for key, module in model.named_modules()
                  for name, layer in as_layers(key, module).items() if name not in self.layers]  # fmt: skip
        used_elsewhere = set()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is None:  # the calls use the weight's numbers without their graph
                continue
            unexplained = gradient.to_dense() if gradient.is_sparse else gradient
            unexplained = unexplained.clone(memory_format=torch.contiguous_format)
            bound = 0.0
            for name, layer in self.layers.items():
                if layer.parameter() is parameter and name in self.totals:
                    layer.matrices(unexplained).sub_(self.totals[name])  # in place: matrices() returns a view
                    bound += self.bounds[name]
            for layer in unmeasured_layers:
                if layer.parameter() is parameter:
                    layer.matrices(unexplained).zero_()
            if _norm(unexplained) > bound:
                used_elsewhere.add(names[id(parameter)])
        return used_elsewhere


def _norm(t: Tensor) -> float:
    """The norm, in float64 only where squares leave the range of float32."""
    norm = float(torch.linalg.vector_norm(t))
    return norm if 1e-12 < norm < float("inf") else float(torch.linalg.vector_norm(t, dtype=torch.float64))
