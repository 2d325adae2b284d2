"""What a linear layer's right singular structure does to neural collapse, and what the nonlinearity (paper D, 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.arrays import Array
from gramlab.measures.batches import Data, call, stream
from gramlab.measures.capture import Use, capture
from gramlab.measures.collapse import Collapse, RunningCollapse
from gramlab.measures.layers import Layers, find
from gramlab.measures.untouched import untouched

Cores = dict[str, Tensor]  # S V^T by layer
Running = dict[str, RunningCollapse]


@dataclass(frozen=True, eq=False)
class Denoising:
    """Within- and between-class variability on the way through one layer with W = U S V^T.

    ``input`` is that of the layer's input h, ``projected`` that of S V^T h, ``output`` that of the next layer's input,
    which is sigma(U S V^T h) where only an activation stands between them.
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
    """NC1 before and after the right singular structure of each linear layer, and at the next one (paper D, Figure 2).

    ``x`` (n, ...), integer or one-hot ``labels`` of n samples; or ``x`` are batches (inputs, labels), as ``measure``
    takes them. ``layers`` are the linear layers that follow on one another in the model, all by default, in the order
    of its calls, which is the result's too. The last one gives the output of the one before and is not in the result.
    U and a bias leave both traces alone, so S V^T h has the layer's own output's NC1. Nothing of the samples is kept:
    beside a batch, d x d numbers a layer at most.
    Raises ValueError as ``measure`` does, if a layer is not an nn.Linear, if there are fewer than two or the model
    calls one twice, and if there are no labels.
    """
    with untouched(model):
        found = find(model, layers)
    if other := [name for name, layer in found.items() if not isinstance(layer, nn.Linear)]:
        raise ValueError(f"denoising is of linear layers, and {', '.join(other)} are not; name them in layers=")
    if len(found) < 2:
        raise ValueError("denoising needs two linear layers: the last one stands for the output of the one before")
    cores: Cores = {}
    given, projected = ({name: RunningCollapse() for name in found} for _ in range(2))
    order: list[str] = []
    with untouched(model), torch.no_grad(), capture(found, gradients=False) as seen:
        for batch in stream(model, x, labels, None, batch_size):
            if batch.targets is None:
                raise ValueError("denoising compares classes: give labels, or batches of (inputs, labels)")
            call(model, batch.inputs, forward)
            uses = seen.take()
            called = [use.layer for use in uses]
            if not order:  # by calls: a model may have registered its last layer first
                order, cores = called, {name: _core(found[name]) for name in called[:-1]}
            if called != order or sorted(called) != sorted(found):
                called_once = f"calls once each: {', '.join(found)}"
                raise ValueError(f"denoising needs layers that the model {called_once}; in all batches in one order")
            _add(uses, batch.targets, cores, given, projected)
            del uses  # not kept while the next batch is made
    collapse = {name: one.collapse() for name, one in given.items()}
    return {
        name: Denoising(collapse[name], projected[name].collapse(), collapse[after]) for name, after in pairwise(order)
    }


def _core(layer: nn.Module) -> Tensor:
    _, S, Vh = torch.linalg.svd(layer.weight.detach().double(), full_matrices=False)  # type: ignore[operator, union-attr]
    return S[:, None] * Vh


def _add(uses: list[Use], labels: Tensor, cores: Cores, given: Running, projected: Running) -> None:
    for use in uses:
        given[use.layer].add(use.input, labels)
        if use.layer in cores:
            projected[use.layer].add(use.input.double() @ cores[use.layer].mT, labels)
