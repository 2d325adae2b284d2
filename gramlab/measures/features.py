"""What each layer is given, or gives, for every sample of a data set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.batches import Data, call, stream
from gramlab.measures.capture import capture
from gramlab.measures.layers import Layers, find
from gramlab.measures.untouched import untouched


def features(
    model: nn.Module,
    x: Data,
    layers: Layers = None,
    *,
    what: str = "input",
    batch_size: int = 4096,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> dict[str, Tensor]:
    """Each layer's inputs h_l (or outputs W h_l + b) for all samples, (n, ...), in the model's dtype and place.

    ``what`` is "input" or "output"; ``x``, ``layers`` and ``forward`` are as in ``measure``, targets ignored.
    The second call of a layer in one forward pass is given as "name:2", and so on. All n rows are kept, since
    target linearity and neural collapse are of the whole data set. The model comes back as it was.
    Raises ValueError as ``measure`` does.
    """
    if what not in ("input", "output"):
        raise ValueError(f"what must be 'input' or 'output', not {what!r}")
    parts: dict[tuple[int, str], list[Tensor]] = {}  # by the number of a layer's call, and the layer
    with untouched(model), torch.no_grad():
        found = find(model, layers)
        batches = stream(model, x, None, None, batch_size)
        with capture(found, gradients=False, products=False) as seen:
            for batch in batches:
                call(model, batch.inputs, forward)
                calls: dict[str, int] = {}
                for use in seen.take():
                    calls[use.layer] = calls.get(use.layer, 0) + 1
                    kept = use.input if what == "input" or use.output is None else use.output
                    parts.setdefault((calls[use.layer], use.layer), []).append(kept)
    if missed := [name for name in found if (1, name) not in parts]:
        raise ValueError(f"the batch never reaches layers {missed}: the model does not call them")
    order = {name: index for index, name in enumerate(found)}
    ordered = sorted(parts, key=lambda part: (part[0], order[part[1]]))
    return {name if call == 1 else f"{name}:{call}": torch.cat(parts[call, name]) for call, name in ordered}
