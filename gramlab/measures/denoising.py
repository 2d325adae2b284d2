"""Neural collapse before and after a linear layer's right singular structure, and after its nonlinearity (D, 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.losses import all_finite
from gramlab.measures.arrays import Array
from gramlab.measures.batches import Data, check_forward_option, copied, iterate_batches, run_model
from gramlab.measures.capture import capture_calls
from gramlab.measures.collapse import Collapse, RunningCollapse
from gramlab.measures.features import TOKENS_FIRST, calls_of_tokens_first
from gramlab.measures.kinds import Linear
from gramlab.measures.layers import Layers, find_layers
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.shards import unwrapped


@dataclass(frozen=True, eq=False)
class Denoising:
    """Class variability at three places of one layer W = U S Vᵀ.

    Attributes
    ----------
    input : Collapse
        Of the layer's input h.
    projected : Collapse
        Of S Vᵀ h.
    output : Collapse
        Of the next layer's input: σ(U S Vᵀ h + b), if only an activation stands between the two layers.
    """

    input: Collapse
    projected: Collapse
    output: Collapse


def denoising(
    model: nn.Module,
    x: Data,
    labels: Array | None = None,
    layers: Layers = None,
    *,
    batch_size: int = 4096,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> dict[str, Denoising]:
    """Split the change of NC1 in each linear layer into the part of S Vᵀ and the part of U and σ.

    For W = U S Vᵀ paper D (Section 5, Figure 2) measures NC1 of h, of S Vᵀ h, and of the next layer's input. U and a
    bias leave tr(S_W) and tr(S_B) unchanged, so that S Vᵀ h has the NC1 of the layer's own output. No samples are kept:
    memory beside a batch is at most d × d numbers a layer.

    Parameters
    ----------
    model : torch.nn.Module
    x : array of shape (n, ...), or iterable of batches (inputs, labels)
        As for ``measure``.
    labels : array of shape (n,) or (n, K), optional
        Integer or one-hot labels, unless they come with the batches.
    layers : None, str, sequence of str, or predicate (name, module), default None
        The linear layers that follow on one another, None for all.
    batch_size : int, default 4096
    forward : callable (model, inputs) -> outputs, optional
        How to call the model, as for ``measure``.

    Returns
    -------
    dict of str to Denoising
        In the order in which the model calls the layers. The last layer has no entry: it gives the output of the
        layer before it.

    Raises
    ------
    ValueError
        As ``measure`` does, if a layer is not an nn.Linear, if there are fewer than two, if the model does not call
        each of them once, if the samples are not the first axis of its input, or if there are no labels.

    Examples
    --------
    >>> import torch, gramlab
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> labels = torch.arange(30) % 3
    >>> x = torch.randn(3, 4)[labels] + 0.1 * torch.randn(30, 4)
    >>> parts = gramlab.denoising(model, x, labels)["0"]
    >>> [place.nc1 < 0.1 for place in (parts.input, parts.projected, parts.output)]
    [True, True, True]
    """
    check_forward_option(forward)
    model = unwrapped(model)
    with preserved_state(model):
        linear = find_layers(model, layers)
    if other_layers := [name for name, layer in linear.items() if not isinstance(layer, Linear)]:
        raise ValueError(
            f"denoising takes linear layers only, not {', '.join(other_layers)}; name the layers in layers="
        )
    if len(linear) < 2:
        raise ValueError("denoising needs two linear layers: the last one gives the output of the one before")
    cores: dict[str, Tensor] = {}  # S Vᵀ by layer
    inputs, projected = ({name: RunningCollapse() for name in linear} for _ in range(2))
    order: list[str] = []
    with preserved_state(model, x), torch.no_grad(), capture_calls(linear, gradients=False) as record:
        for number, batch in enumerate(iterate_batches(model, x, labels, None, batch_size)):
            if batch.targets is None:
                raise ValueError("denoising compares classes: give labels, or batches of (inputs, labels)")
            run_model(model, copied(batch.inputs), forward, number)
            calls = record.take()
            called = [call.layer for call in calls]
            if not order:  # the order of calls: a model may have registered its last layer first
                order, cores = called, {name: _singular_part(name, linear[name].module) for name in called[:-1]}
            for (_, name), shape in calls_of_tokens_first(model, batch, forward, number, record, calls):
                raise ValueError(
                    f"layer {name!r}, batch {number}: {TOKENS_FIRST.format(shape)}; denoising needs the samples first"
                )
            if called != order or sorted(called) != sorted(linear):
                names = ", ".join(linear)
                raise ValueError(f"denoising needs layers that each forward pass calls once, in one order: {names}")
            for call in calls:
                try:
                    inputs[call.layer].add(call.input, batch.targets)
                    if call.layer in cores:
                        projected[call.layer].add(call.input.double() @ cores[call.layer].mT, batch.targets)
                except ValueError as error:
                    raise ValueError(f"layer {call.layer!r}, batch {number}: {error}") from error
            del calls, call  # frees their memory before the next batch
    collapse = {name: running.collapse() for name, running in inputs.items()}
    return {
        name: Denoising(collapse[name], projected[name].collapse(), collapse[next_layer])
        for name, next_layer in pairwise(order)
    }


def _singular_part(name: str, layer: Any) -> Tensor:
    """S Vᵀ of the layer's weight, in float64. Raises ValueError if the weight is not finite."""
    W = layer.weight.detach().double()
    if not all_finite(W):
        raise ValueError(f"the weight of layer {name!r} holds a NaN or an infinity")
    _, S, Vh = torch.linalg.svd(W, full_matrices=False)
    return S[:, None] * Vh
