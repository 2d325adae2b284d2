"""A network whose layers' calls are recorded, and what a forward pass of it gives."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.arrays import all_finite
from gramlab.measures.batches import Batch, input_tensors, run_model, sample_count
from gramlab.measures.capture import CallRecord, LayerCall
from gramlab.measures.kinds import Layer
from gramlab.measures.losses import is_token_mask
from gramlab.measures.readout import LastProduct, Readout


@dataclass(frozen=True, eq=False)
class Run:
    """A forward pass.

    Attributes
    ----------
    outputs : Tensor of shape (n, ...)
        In the graph, zero for masked tokens.
    calls : list of LayerCall
    readout : Readout or None
        The layer that gives the outputs, if a Linear does.
    """

    outputs: Tensor
    calls: list[LayerCall]
    readout: Readout | None


class CapturedNetwork:
    """A network whose layers' calls are recorded."""

    def __init__(
        self,
        model: nn.Module,
        layers: dict[str, Layer],
        record: CallRecord,
        forward: Any,
        last: LastProduct | None = None,
    ) -> None:
        self.model, self.layers, self.record, self.forward, self.last = model, layers, record, forward, last
        record.recording = False

    def run(self, batch: Batch, number: int) -> Run:
        """Return outputs (n, ...) in the graph, zero for masked tokens, and the calls of the layers."""
        self.record.recording = True
        if self.last is not None:
            self.last.recording = True
        try:
            outputs = run_model(self.model, batch.inputs, self.forward)
        except (RuntimeError, IndexError, TypeError) as error:  # torch's, on shapes, types and indices that do not fit
            if isinstance(error, torch.OutOfMemoryError):
                raise
            inputs = ", ".join(f"{tuple(t.shape)} of {t.dtype}" for t in input_tensors(batch.inputs))
            raise ValueError(f"the model fails on inputs of shape {inputs}: {str(error).splitlines()[0]}") from error
        self.record.recording = False  # a checkpointed block runs its layers again during the backward pass
        calls = self.record.take()
        readout = None if self.last is None else self.last.take(outputs)
        if number == 0 and (missed := [name for name in self.layers if name not in {call.layer for call in calls}]):
            raise ValueError(
                f"the batch never reaches layers {missed}: the model does not call them;"
                " name the layers to measure in layers="
            )
        if frozen := [call.layer for call in calls if call.edge is None]:
            raise ValueError(
                f"layers {frozen} are called under torch.no_grad(), so nothing can be differentiated with respect"
                " to them; name the layers to measure in layers="
            )
        if not all_finite(outputs.detach()):
            row = int((~torch.isfinite(outputs)).reshape(len(outputs), -1).any(1).nonzero()[0])
            raise ValueError(f"the model's output for row {row} of batch {number} holds a NaN or an infinity")
        if not outputs.requires_grad:
            raise ValueError("the model's outputs are detached from its layers: nothing can be differentiated")
        for kind, values in (("inputs", batch.inputs), ("targets", batch.targets)):
            n = sample_count(values)
            if n is not None and n != len(outputs):
                raise ValueError(
                    f"the model gives outputs of shape {tuple(outputs.shape)} for {kind} of shape"
                    f" {tuple(input_tensors(values)[0].shape)}: they need a row for each of the {n} samples, which"
                    " forward= can arrange"
                )
        mask = batch.mask
        if mask is not None and number == 0:
            self._check_mask(mask, batch, outputs, calls)
        if mask is not None and is_token_mask(mask, outputs):
            outputs = outputs.masked_fill(~mask.reshape(*mask.shape, *[1] * (outputs.ndim - 2)), 0.0)
        return Run(outputs, calls, readout)

    def _check_mask(self, mask: Tensor, batch: Batch, outputs: Tensor, calls: list[LayerCall]) -> None:
        """Raise ValueError if the mask (n, T) fits nothing that the model sees: it would have no effect."""
        shapes = (self.layers[call.layer].token_shape(call.input) for call in calls)
        tokens = {shape for shape in shapes if shape is not None}
        if outputs.ndim == 3:
            tokens.add((outputs.shape[0], outputs.shape[1]))
        inputs = input_tensors(batch.inputs)
        fitting: Collection[tuple[int, ...]] = tokens or {tuple(t.shape[:2]) for t in inputs}
        if tuple(mask.shape) not in fitting:
            places = sorted(map(tuple, tokens)) or [tuple(t.shape) for t in inputs]
            raise ValueError(f"the mask of shape {tuple(mask.shape)} fits no tokens (n, T) of the shapes {places}")
