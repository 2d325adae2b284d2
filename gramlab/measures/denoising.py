"""What a linear layer's right singular structure does to neural collapse, and what the nonlinearity (paper D, 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.arrays import Array
from gramlab.measures.batches import Data
from gramlab.measures.collapse import Collapse, neural_collapse
from gramlab.measures.features import features
from gramlab.measures.layers import Layers, find


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
    labels: Array,
    layers: Layers = None,
    *,
    batch_size: int = 4096,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> dict[str, Denoising]:
    """NC1 before and after the right singular structure of each linear layer, and at the next one (paper D, Figure 2).

    ``x`` (n, ...), integer or one-hot ``labels`` of n samples. ``layers`` are the linear layers that follow on one
    another in the model, all by default, as in ``measure``; the last one gives the output of the one before it and
    is not in the result. U and a bias leave both traces alone, so S V^T h has the layer's own output's NC1.
    Raises ValueError if a layer is not an nn.Linear, or if there are fewer than two.
    """
    found = find(model, layers)
    if other := [name for name, layer in found.items() if not isinstance(layer, nn.Linear)]:
        raise ValueError(f"denoising is of linear layers, and {', '.join(other)} are not; name them in layers=")
    if len(found) < 2:
        raise ValueError("denoising needs two linear layers: the last one stands for the output of the one before")
    given = features(model, x, list(found), batch_size=batch_size, forward=forward)
    collapse = {name: neural_collapse(h, labels) for name, h in given.items()}
    made = {}
    for name, after in pairwise(found):
        _, S, Vh = torch.linalg.svd(found[name].weight.detach().double(), full_matrices=False)
        projected = given[name].double() @ (S[:, None] * Vh).mT
        made[name] = Denoising(collapse[name], neural_collapse(projected, labels), collapse[after])
    return made
