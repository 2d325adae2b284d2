"""A network whose layers' calls are recorded, and what a forward pass of it gives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.losses import all_finite
from gramlab.measures.arrays import zero_masked
from gramlab.measures.batches import Batch, copied, input_tensors, run_model, sample_count
from gramlab.measures.capture import CallRecord, LayerCall
from gramlab.measures.kinds import Adapted, Layer, Linear, TransposedLinear
from gramlab.measures.readout import LastProduct, Readout


@dataclass(frozen=True, eq=False)
class Run:
    """A forward pass.

    Attributes
    ----------
    outputs : Tensor of shape (n, ...)
        The network's outputs, in autograd's graph; zero for masked tokens.
    calls : list of LayerCall
    readout : Readout or None
        The linear layer's product that gives the outputs, if there is one.
    mask : Tensor of shape (n, T), or None
        The batch's mask, if each token has an output.
    inputs : Tensor, tuple or mapping of Tensor
        Copies of the batch's inputs, which the model got.
    """

    outputs: Tensor
    calls: list[LayerCall]
    readout: Readout | None
    mask: Tensor | None
    inputs: Any


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
        self._axes: tuple[int, ...] | None = None  # the shape of a sample of the first batch

    def run(self, batch: Batch, number: int) -> Run:
        """Return outputs (n, ...) in the graph, zero for masked tokens, and the calls of the layers."""
        self.record.take()  # drops the calls of an earlier forward pass that failed
        self.record.recording, self.record.samples = True, sample_count(batch.inputs) or 1
        inputs = copied(batch.inputs)
        if number == 0:
            self._axes = _axes_of_sample(batch.inputs)
        if self.last is not None:
            self.last.begin()
        outputs = run_model(self.model, inputs, self.forward, number, self._hint(batch, number))
        self.record.recording = False  # a checkpointed block runs its layers again during the backward pass
        calls = self.record.take()
        check_batched(self.layers, calls, batch.inputs, outputs)
        if len(outputs) and not outputs.numel():
            raise ValueError(f"the model gives outputs of shape {tuple(outputs.shape)}, without entries to measure")
        readout = None if self.last is None else self.last.take(outputs, calls, self.layers)
        if detached := [call.layer for call in calls if call.edge is None]:
            raise ValueError(
                f"layers {detached} are called under torch.no_grad(), so nothing can be differentiated with respect"
                " to them; name the layers to measure in layers="
            )
        if not all_finite(outputs.detach()):
            row = int((~torch.isfinite(outputs)).reshape(len(outputs), -1).any(1).nonzero()[0])
            raise ValueError(f"the model's output for row {row} of batch {number} holds a NaN or an infinity")
        if calls and not outputs.requires_grad:
            raise ValueError("the model's outputs are detached from its layers: nothing can be differentiated")
        for kind, values in (("inputs", batch.inputs), ("targets", batch.targets)):
            n = sample_count(values)
            if n is not None and n != len(outputs):
                raise ValueError(
                    f"the model gives outputs of shape {tuple(outputs.shape)} for {kind} of shape"
                    f" {tuple(input_tensors(values)[0].shape)} (batch {number}): they need a row for each of the {n}"
                    " samples, which forward= can arrange"
                )
        mask = None if batch.mask is None else _mask_of_outputs(batch.mask, outputs, calls)
        if batch.mask is not None:
            self._check_mask(batch.mask, batch.inputs, outputs, calls, bool(calls) and number == 0 and mask is None)
        if mask is not None:
            outputs = zero_masked(outputs, mask)
        return Run(outputs, calls, readout, mask, inputs)

    def _hint(self, batch: Batch, number: int) -> str:
        """What a caller may have meant whose data the model fails on."""
        if number == 1 and batch.targets is None and _axes_of_sample(batch.inputs) != self._axes:
            return "; (x, y) in a list is read as two batches: call measure(model, x, y)"
        return ""

    def check_token_axes(self, n: int, T: int, calls: Iterable[LayerCall]) -> None:
        """Raise ValueError if a layer sees the tokens of n samples in another order than (n, T)."""
        for call in calls:
            lead = self.layers[call.layer].row_axes(call.input)
            if _reorders_tokens(n, T, lead):
                raise ValueError(
                    f"layer {call.layer!r} sees rows of the shape {lead}, which the mask {(n, T)} does not reach: they"
                    " need the axes (n, T, ...); name the layers to measure in layers=, or give no mask"
                )

    def _check_mask(self, mask: Tensor, inputs: Any, outputs: Tensor, calls: list[LayerCall], must_fit: bool) -> None:
        """Raise ValueError if the mask (n, T) has no effect, on all that the model sees or on a layer of tokens."""
        axes = {call.layer: self.layers[call.layer].row_axes(call.input) for call in calls}
        n, T = mask.shape
        named_inputs = inputs if isinstance(inputs, Mapping) else {}
        decoder = [
            key for key in named_inputs if key.startswith("decoder_") and named_inputs[key].shape[:2] == mask.shape
        ]
        if decoder and not bool(mask.all()):
            raise ValueError(
                f"the mask of shape {(n, T)} may be the encoder's or that of {decoder[0]!r}, whose tokens are equally"
                " many: pad one of them to another length"
            )
        self.check_token_axes(n, T, calls)
        tokens = {lead[:2] for lead in axes.values() if len(lead) > 1}
        if outputs.ndim > 2:
            tokens.add((outputs.shape[0], outputs.shape[1]))
        if not tokens:  # no measured layer sees tokens, so the inputs decide; numbers (n, d) are features
            has_attention_mask = isinstance(inputs, Mapping) and "attention_mask" in inputs
            tokens = {tuple(t.shape[:2]) for t in input_tensors(inputs)
                      if has_attention_mask or t.ndim > 2 or not t.is_floating_point()}  # fmt: skip
        if must_fit and tuple(mask.shape) not in tokens:
            no_tokens = f"fits no tokens (n, T) of the shapes {sorted(map(tuple, tokens))}"
            no_effect = "has no effect: neither a measured layer nor the outputs have the axes (n, T, d) of tokens"
            raise ValueError(f"the mask of shape {tuple(mask.shape)} {no_tokens if tokens else no_effect}")


def _axes_of_sample(inputs: Any) -> tuple[int, ...] | None:
    """The shape of a sample, None if it has several tensors."""
    return tuple(inputs.shape[1:]) if isinstance(inputs, Tensor) else None


def check_batched(layers: Mapping[str, Layer], calls: Iterable[LayerCall], inputs: Any, outputs: Tensor) -> None:
    """Raise ValueError if the batch is a single sample, without an axis of samples."""
    if outputs.ndim > 1 or any(t.ndim > 1 for t in input_tensors(inputs)):
        return
    for call in calls:
        if isinstance(layers[call.layer], (Linear, TransposedLinear, Adapted)) and call.input.ndim == 1:
            raise ValueError(
                f"layer {call.layer!r} sees an input of shape {tuple(call.input.shape)}, a single sample in place of a"
                " batch (n, ...): give the samples as one array, torch.stack(samples), or in batches,"
                " DataLoader(samples, batch_size=...)"
            )


def _mask_of_outputs(mask: Tensor, outputs: Tensor, calls: list[LayerCall]) -> Tensor | None:
    """The mask if the outputs are those of its tokens, (n, T, ...), or (n, T) from a layer with an output a token.

    Raises ValueError if outputs (n, T) may as well be T outputs of a sample.
    """
    if outputs.shape[:2] != mask.shape:
        return None
    if outputs.ndim > 2:
        return mask
    if not calls or bool(mask.all()):
        return None
    last_call = calls[-1]
    assert last_call.edge is not None
    shape = tuple(last_call.edge.node._input_metadata[last_call.edge.output_nr].shape)
    if shape == (*mask.shape, 1):
        return mask
    if shape == tuple(mask.shape):
        return None
    raise ValueError(
        f"outputs of shape {tuple(outputs.shape)} are those of the mask's tokens, or as many outputs of a sample:"
        " forward= can give them as (n, T, 1) or as (n, 1, c)"
    )


def _reorders_tokens(n: int, T: int, lead: tuple[int, ...]) -> bool:
    """Whether rows of these axes are n · T tokens in another order: (n T,), (T, n), (n heads, T), (n, heads, T)."""
    if T == 1 or lead[:2] == (n, T):
        return False
    if lead == (T, n) or (n > 1 and lead == (n * T,)):
        return True
    return len(lead) > 1 and lead[-1] == T and lead[0] % n == 0
