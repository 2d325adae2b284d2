"""Calls whose rows serve several samples at once, such as those of position embeddings, and a row for each sample.

A position embedding that is called with ids (1, T) or (T,) gives rows that broadcasting adds to every sample. The
gradient at such a row is a sum over samples, and its outer product is not a sum of the samples' outer products.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from gramlab.measures.batches import Batch, input_tensors
from gramlab.measures.capture import LayerCall, address_of, numbered
from gramlab.measures.captured import CapturedNetwork, Run
from gramlab.measures.kinds import Embedding, Layer, Projection
from gramlab.measures.layers import at_least_float32

SHARED_ROWS = "its rows serve several samples at once; batch_size=1 measures it"
MIXED_SAMPLES = (
    "its rows mix samples: if the model takes (T, n, d), transpose in forward=; gramlab.batch_independence checks it"
)

Call = tuple[str, int]  # a layer, and which of its calls in a forward pass


def first_axes(layers: Mapping[str, Layer], run: Run) -> dict[Call, int]:
    """Return the length of the first axis of each call's rows."""
    return {key: _first_axis(layers[call.layer], call.input) for key, call in numbered(run.calls)}


def _first_axis(layer: Layer, h: Tensor) -> int:
    return next(iter(layer.row_axes(h)), h.shape[0] if h.ndim else 1)


def fixed_calls(layers: Mapping[str, Layer], run: Run, run_of_few: Run) -> set[Call]:
    """Return the calls with as many rows as the batch has samples, and with as many in a run of fewer samples.

    Rows that serve all samples, such as a vector for each class, may be as many as the samples by chance.
    """
    n, axes = len(run.outputs), first_axes(layers, run_of_few)
    return {key for key, length in first_axes(layers, run).items() if length == n == axes.get(key)}


def suspects(layers: Mapping[str, Layer], run: Run) -> dict[Call, LayerCall]:
    """Return the calls whose rows may serve several samples: by their shape, or because they never saw the batch."""
    n = len(run.outputs)
    addresses = {address_of(t) for t in input_tensors(run.inputs)} - {None}
    suspected = {}
    for key, call in numbered(run.calls):
        h = call.input
        first_axis = _first_axis(layers[call.layer], h)
        are_ids = isinstance(layers[call.layer], Embedding) and h.ndim < 2
        is_constant = call.source is not None and call.source.is_leaf and h.is_floating_point()
        if first_axis != n or are_ids or (is_constant and address_of(h) not in addresses):
            suspected[key] = call
    return suspected


def shared_calls(layers: Mapping[str, Layer], run: Run, calls: Mapping[Call, LayerCall]) -> list[Call]:
    """Return the calls with a row that outputs of both halves of the batch depend on, by two backward passes."""
    outputs = at_least_float32(run.outputs)
    generator = torch.Generator().manual_seed(0)  # the caller's random states stay as they are
    cotangent = torch.randn(outputs[0].numel(), generator=generator, device="cpu").to(outputs)
    weighted = outputs.reshape(len(outputs), -1) @ cotangent
    half = len(outputs) // 2
    edges = [call.edge for call in calls.values()]
    halves = [
        torch.autograd.grad(part.sum(), edges, retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
        for part in (weighted[:half], weighted[half:])
    ]
    return [
        key
        for (key, call), first, second in zip(calls.items(), *halves, strict=True)
        if bool((_reached(layers[call.layer], call, first) & _reached(layers[call.layer], call, second)).any())
    ]


def mixed_layers(layers: Mapping[str, Layer], run: Run, shared: Iterable[Call]) -> set[str]:
    """Return the layers whose rows mix samples, because attention of ``batch_first=False`` attends over the samples.

    Its arguments are (T, n, d). Where they have the samples on the first axis instead, and a row of the keys serves
    several samples, attention takes the samples for tokens. A row of a layer before it then serves several samples too.
    A batch of one sample shows no sharing; there the first axis of length 1 beside a longer second one decides.

    Parameters
    ----------
    layers : mapping of str to Layer
    run : Run
    shared : iterable of Call
        The calls with rows that serve several samples.

    Returns
    -------
    set of str
    """
    n, sharing_layers = len(run.outputs), {name for name, _ in shared}
    shapes: dict[nn.Module, list[torch.Size]] = {}
    for call in run.calls:
        module = layers[call.layer].module
        if isinstance(layers[call.layer], Projection) and not module.batch_first:
            shapes.setdefault(module, []).append(call.input.shape)
    attentions = {
        module
        for module, inputs in shapes.items()
        if all(shape[0] == n for shape in inputs)
        and (
            any(layers[name].module is module for name in sharing_layers)
            if n > 1
            else all(shape[1] != n for shape in inputs)
        )
    }
    if not attentions:
        return set()
    calls_before_attention = shared_calls(layers, run, dict(numbered(run.calls))) if n > 1 else []
    return {name for name, _ in calls_before_attention} | {
        name for name, layer in layers.items() if layer.module in attentions
    }


def _reached(layer: Layer, call: LayerCall, g: Tensor | None) -> Tensor:
    """Which rows of a call have a gradient."""
    if g is None:
        return torch.zeros((), dtype=torch.bool, device="cpu")
    return (layer.output_rows(call.part(g), None, call.input) != 0).any(-1)


def give_rows(network: CapturedNetwork, batch: Batch, number: int, run: Run, calls: Iterable[Call]) -> list[Call]:
    """Let each of the calls give a row for each sample; return the calls with which the model then gives other outputs.

    The output of such a call is repeated for every sample. That changes nothing where the model broadcasts it, which a
    forward pass for each call verifies. Outputs of attention's projections are not repeated: torch's function does not
    broadcast them.
    """
    failed = []
    for call in calls:
        if isinstance(network.layers[call[0]], Projection):
            failed.append(call)
            continue
        network.record.repeated.add(call)
        try:
            outputs = network.run(batch, number).outputs
            is_same = outputs.shape == run.outputs.shape and _are_close(outputs, run.outputs)
        except (ValueError, RuntimeError):
            is_same = False
        if not is_same:
            network.record.repeated.remove(call)
            network.record.take()
            failed.append(call)
    return failed


def _are_close(a: Tensor, b: Tensor) -> bool:
    bound = 10 * torch.finfo(b.dtype).eps * float(b.detach().double().abs().max())
    return float((a.detach().double() - b.detach().double()).abs().max()) <= bound
