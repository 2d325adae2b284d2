"""Calls whose rows serve several samples at once, such as those of position embeddings, and a row for each sample.

A position embedding that is called with ids (1, T) or (T,) gives rows that broadcasting adds to every sample. The
gradient at such a row is a sum over samples, and its outer product is not a sum of the samples' outer products.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from gramlab.measures.batches import Batch, input_tensors
from gramlab.measures.capture import LayerCall, numbered
from gramlab.measures.captured import CapturedNetwork, Run
from gramlab.measures.kinds import Embedding, Layer
from gramlab.measures.layers import at_least_float32

SHARED_ROWS = "its rows serve several samples at once; batch_size=1 measures it"

Call = tuple[str, int]  # a layer, and which of its calls in a forward pass


def suspects(layers: Mapping[str, Layer], run: Run, batch: Batch) -> dict[Call, LayerCall]:
    """Return the calls whose rows may serve several samples: by their shape, or because they never saw the batch."""
    n = len(run.outputs)
    addresses = {_address(t) for t in input_tensors(batch.inputs)} - {None}
    chosen = {}
    for key, call in numbered(run.calls):
        h = call.input
        first = next(iter(layers[call.layer].row_axes(h)), h.shape[0] if h.ndim else 1)
        ids = isinstance(layers[call.layer], Embedding) and h.ndim < 2
        constant = call.source is not None and call.source.is_leaf and h.is_floating_point()
        if first != n or ids or (constant and _address(h) not in addresses):
            chosen[key] = call
    return chosen


def _address(tensor: Tensor) -> int | None:
    """Return where a tensor's numbers lie; None for a subclass that wraps other tensors and has no storage."""
    try:
        return tensor.untyped_storage().data_ptr()
    except RuntimeError:
        return None


def shared_calls(layers: Mapping[str, Layer], run: Run, calls: Mapping[Call, LayerCall]) -> list[Call]:
    """Return the calls with a row that outputs of both halves of the batch depend on, by two backward passes."""
    outputs = at_least_float32(run.outputs)
    generator = torch.Generator().manual_seed(0)  # the caller's random states stay as they are
    u = torch.randn(outputs[0].numel(), generator=generator).to(outputs)
    weighted = outputs.reshape(len(outputs), -1) @ u
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


def _reached(layer: Layer, call: LayerCall, g: Tensor | None) -> Tensor:
    """Which rows of a call have a gradient."""
    if g is None:
        return torch.zeros((), dtype=torch.bool)
    return (layer.output_rows(call.part(g)) != 0).any(-1)


def give_rows(network: CapturedNetwork, batch: Batch, number: int, run: Run, calls: Iterable[Call]) -> list[Call]:
    """Let each of the calls give a row for each sample, and return the calls where the model then computes no more.

    Their outputs are repeated for every sample. That changes nothing where the model broadcasts them, which a forward
    pass for each call verifies.
    """
    failed = []
    for call in calls:
        network.record.repeated.add(call)
        try:
            outputs = network.run(batch, number).outputs
            same = outputs.shape == run.outputs.shape and _close(outputs, run.outputs)
        except (ValueError, RuntimeError):
            same = False
        if not same:
            network.record.repeated.remove(call)
            network.record.take()
            failed.append(call)
    return failed


def _close(a: Tensor, b: Tensor) -> bool:
    bound = 10 * torch.finfo(b.dtype).eps * float(b.detach().double().abs().max())
    return float((a.detach().double() - b.detach().double()).abs().max()) <= bound
