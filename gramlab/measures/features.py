"""Inputs or outputs of each layer for every sample of a data set."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.arguments import Check
from gramlab.measures.batches import (
    Batch,
    Data,
    check_forward_option,
    copied,
    first_rows,
    iterate_batches,
    run_model,
    sample_count,
)
from gramlab.measures.capture import CallRecord, LayerCall, capture_calls, numbered
from gramlab.measures.captured import check_batched
from gramlab.measures.kinds import Embedding, Projection
from gramlab.measures.layers import Layers, find_layers
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.shards import unwrapped

TOKENS_FIRST = "it sees {}, with the tokens on the first axis and the samples on the second one"


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
        As ``measure`` does, and if the batches of a layer cannot be joined: their sequences have different lengths, or
        the layer has the samples on its second axis. With n = T such a layer is refused in a single batch too, since
        the shape does not show it.

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
    found, reasons = joined_features(model, x, layers, what=what, batch_size=batch_size, forward=forward)
    if reasons:
        raise ValueError(f"{next(iter(reasons.values()))}; name the layers that you need in layers=")
    return found


def joined_features(
    model: nn.Module, x: Data, layers: Layers, *, what: str = "input", batch_size: int, forward: Any
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the ``features`` of the layers whose batches can be joined, and why those of the others cannot.

    Parameters
    ----------
    model, x, layers, what, batch_size, forward
        As for ``features``.

    Returns
    -------
    features : dict of str to Tensor of shape (n, ...)
    reasons : dict of str to str

    Raises
    ------
    ValueError
        As ``measure`` does.

    Examples
    --------
    >>> batches = [torch.ones(4, 3, 2), torch.ones(4, 5, 2)]
    >>> joined_features(nn.Linear(2, 1), batches, None, batch_size=4, forward=None)[1][""]
    "layer '': its batches of the shapes (4, 3, 2) and (4, 5, 2) cannot be joined"
    """
    Check(ValueError).choice("what", what, ("input", "output"))
    check_forward_option(forward)
    model = unwrapped(model)
    values_by_call: dict[tuple[int, str], list[Tensor]] = {}  # (number of the layer's call, layer) -> values
    sizes_by_call: dict[tuple[int, str], list[int]] = {}  # the number of samples of each of these batches
    tokens_first: dict[tuple[int, str], tuple[int, ...]] = {}  # calls with tokens before the samples, and their shapes
    with preserved_state(model, x), torch.no_grad():
        measured = find_layers(model, layers)
        batches = iterate_batches(model, x, None, None, batch_size)
        with capture_calls(measured, gradients=False, products=False) as record:
            for batch_number, batch in enumerate(batches):
                outputs = run_model(model, copied(batch.inputs), forward, batch_number)
                calls, n = record.take(), len(outputs)
                check_batched(measured, calls, batch.inputs, outputs)
                for call_key, shape in calls_of_tokens_first(model, batch, forward, batch_number, record, calls):
                    if not isinstance(measured[call_key[1]], Projection):  # by_sample() exchanges its axes
                        tokens_first.setdefault(call_key, shape)
                for (name, number), call in numbered(calls):
                    values = call.input if what == "input" or call.output is None else call.output
                    values = measured[name].by_sample(values, call.input)
                    if len(values) != n and isinstance(measured[name], Embedding) and call.input.ndim == 1:
                        values = values.unsqueeze(0)  # ids of positions, of shape (T,)
                    if len(values) == 1:  # the same for all samples
                        values = values.expand(n, *values.shape[1:])
                    values_by_call.setdefault((number, name), []).append(values)
                    sizes_by_call.setdefault((number, name), []).append(n)
    if unreached := [name for name in measured if (0, name) not in values_by_call]:
        raise ValueError(f"no sample reaches layers {unreached}: the model does not call them")
    layer_order = {name: index for index, name in enumerate(measured)}
    sorted_calls = sorted(values_by_call, key=lambda call_key: (call_key[0], layer_order[call_key[1]]))
    found, reasons = {}, {}
    for number, name in sorted_calls:
        key = name if number == 0 else f"{name}:{number + 1}"
        parts = values_by_call.pop((number, name))  # each layer's batches are free once they are joined
        if (number, name) in tokens_first:
            reason: str | None = TOKENS_FIRST.format(tokens_first[number, name])
        else:
            reason = _why_not_joined(parts, sizes_by_call[number, name])
        if reason is None:
            found[key] = torch.cat(parts)
        else:
            reasons[key] = f"layer {key!r}: {reason}"
    return found, reasons


def calls_of_tokens_first(
    model: nn.Module, batch: Batch, forward: Any, number: int, record: CallRecord, calls: Sequence[LayerCall]
) -> list[tuple[tuple[int, str], tuple[int, ...]]]:
    """Return the calls whose input is (T, n, ...) where T = n, so that the shape alone does not show it.

    A forward pass with one sample less shows it: the axis of the samples is the one that gets shorter.

    Parameters
    ----------
    model : torch.nn.Module
    batch : Batch
    forward : callable or None
        As for ``features``.
    number : int
        The batch's number.
    record : CallRecord
        The open record of the layers' calls.
    calls : sequence of LayerCall
        Those of the whole batch.

    Returns
    -------
    list of ((int, str), shape)
        The number of the layer's call, the layer, and the shape of its input.
    """
    n = sample_count(batch.inputs)
    if n is None or n < 2 or not any(tuple(call.input.shape[:2]) == (n, n) and call.input.ndim > 2 for call in calls):
        return []
    with preserved_state(model):  # random states and buffers too, so that the batches after it see no difference
        try:
            run_model(model, copied(first_rows(batch, n - 1).inputs), forward, number)
        except ValueError:  # the model takes batches of one size only
            record.take()
            return []
    fewer_calls = record.take()
    if [call.layer for call in fewer_calls] != [call.layer for call in calls]:
        return []
    return [
        ((call_number, name), tuple(call.input.shape))
        for ((name, call_number), call), fewer in zip(numbered(calls), fewer_calls, strict=True)
        if call.input.ndim > 2 and tuple(call.input.shape[:2]) == (n, n) and tuple(fewer.input.shape[:2]) == (n, n - 1)
    ]


def _why_not_joined(batches: list[Tensor], sizes: list[int]) -> str | None:
    """Why values of several batches, of these numbers of samples, make no tensor (n, ...); None if they do."""
    if len(batches) == 1:
        return None
    shapes = list(dict.fromkeys(tuple(values.shape) for values in batches))
    if all(len(shape) > 2 and shape[0] != n and shape[1] == n for shape, n in
           zip((values.shape for values in batches), sizes, strict=True)):  # fmt: skip
        return f"it sees {shapes[0]}, with the {sizes[0]} samples of a batch on the second axis: give one batch"
    other = next((shape for shape in shapes if shape[1:] != shapes[0][1:]), None)
    return None if other is None else f"its batches of the shapes {shapes[0]} and {other} cannot be joined"
