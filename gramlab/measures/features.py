"""Inputs or outputs of each layer for every sample of a data set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.batches import Data, copied, iterate_batches, run_model
from gramlab.measures.capture import capture_calls, numbered
from gramlab.measures.captured import check_batched
from gramlab.measures.kinds import Embedding
from gramlab.measures.layers import Layers, find_layers
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.shards import unwrapped


def features(
    model: nn.Module,
    x: Data,
    layers: Layers = None,
    *,
    what: str = "input",
    batch_size: int = 4096,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> dict[str, Tensor]:
    """Return each layer's inputs h_l, or its outputs W h_l + b, for all samples.

    All n rows are kept, since target linearity and neural collapse need the whole data set. The model is left as it
    was.

    Parameters
    ----------
    model : torch.nn.Module
    x : array of shape (n, ...), mapping of arrays, or iterable of batches
        As for ``measure``; targets are ignored.
    layers : None, str, sequence of str, or predicate (name, module), default None
        The layers, None for every layer that multiplies by a weight.
    what : {"input", "output"}, default "input"
    batch_size : int, default 4096
    forward : callable (model, inputs) -> outputs, optional
        How to call the model, as for ``measure``.

    Returns
    -------
    dict of str to Tensor of shape (n, ...)
        In the model's dtype and on its device. The second call of a layer in one forward pass is "name:2", and so on.
        Rows that all samples share, such as those of position ids of shape (1, T) or (T,), are repeated for each
        sample. Ids of shape (T,) are taken for ids of samples if a batch has exactly T samples.

    Raises
    ------
    ValueError
        As ``measure`` does.

    Examples
    --------
    >>> import torch, gramlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    >>> x = torch.randn(10, 4)
    >>> {name: tuple(h.shape) for name, h in gramlab.features(model, x).items()}
    {'0': (10, 4), '2': (10, 6)}
    >>> bool(torch.equal(gramlab.features(model, x, "2")["2"], torch.relu(model[0](x))))
    True
    """
    if what not in ("input", "output"):
        raise ValueError(f"what must be 'input' or 'output', not {what!r}")
    model = unwrapped(model)
    values_by_call: dict[tuple[int, str], list[Tensor]] = {}  # (number of the layer's call, layer) -> values
    with preserved_state(model, x), torch.no_grad():
        measured = find_layers(model, layers)
        batches = iterate_batches(model, x, None, None, batch_size)
        with capture_calls(measured, gradients=False, products=False) as record:
            for batch in batches:
                outputs = run_model(model, copied(batch.inputs), forward)
                calls, n = record.take(), len(outputs)
                check_batched(measured, calls, batch.inputs, outputs)
                for (name, number), call in numbered(calls):
                    values = call.input if what == "input" or call.output is None else call.output
                    values = measured[name].by_sample(values, call.input)
                    if len(values) != n and isinstance(measured[name], Embedding) and call.input.ndim == 1:
                        values = values.unsqueeze(0)  # ids of positions, of shape (T,)
                    if len(values) == 1:  # the same for all samples
                        values = values.expand(n, *values.shape[1:])
                    values_by_call.setdefault((number, name), []).append(values)
    if unreached := [name for name in measured if (0, name) not in values_by_call]:
        raise ValueError(f"no sample reaches layers {unreached}: the model does not call them")
    layer_order = {name: index for index, name in enumerate(measured)}
    sorted_calls = sorted(values_by_call, key=lambda call_key: (call_key[0], layer_order[call_key[1]]))
    return {
        name if number == 0 else f"{name}:{number + 1}": torch.cat(values_by_call[number, name])
        for number, name in sorted_calls
    }
