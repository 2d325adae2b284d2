"""The sums over a data set, batch by batch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from gramlab.losses import all_finite
from gramlab.measures.arrays import as_tensor
from gramlab.measures.batch_sums import BatchSums
from gramlab.measures.batches import Batch, first_rows, sample_count
from gramlab.measures.capture import LayerCall, numbered
from gramlab.measures.captured import CapturedNetwork, Run
from gramlab.measures.cotangents import Cotangents, Outputs, Pass, ThroughReadout, choose
from gramlab.measures.kinds import Layer
from gramlab.measures.layers import at_least_float32
from gramlab.measures.losses import (
    Loss,
    check_classes_last,
    check_differentiable,
    check_targets,
    default_loss,
    per_sample,
)
from gramlab.measures.measurement import Measurement
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.processes import Processes
from gramlab.measures.products import mirrored
from gramlab.measures.results import LOSS_SUMS, OUTPUT_SUMS, LayerMeasures, single
from gramlab.measures.shared_rows import (
    MIXED_SAMPLES,
    SHARED_ROWS,
    fixed_calls,
    give_rows,
    mixed_layers,
    shared_calls,
    suspects,
)
from gramlab.measures.used_elsewhere import CallGradients


@dataclass
class Accumulator:
    """The sums over the data set, batch by batch."""

    network: CapturedNetwork
    initial_network: CapturedNetwork | None
    loss: Loss | None  # None until the first targets decide
    needs: frozenset[str]
    loss_required: bool
    outputs_option: Outputs = None
    processes: Processes | None = None
    n: int = 0
    outputs: int = 0
    total_loss: float = 0.0
    sums: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    group_sums: dict[str, dict[str, Tensor]] = field(default_factory=dict)  # by group of random cotangents
    cotangents: Cotangents | None = None
    unmeasured: dict[str, str] = field(default_factory=dict)  # layer -> why its rows do not belong to single samples
    reached: set[str] = field(default_factory=set)  # layers that samples reach
    checked_calls: set[tuple[str, int]] = field(default_factory=set)
    has_sought_fixed_calls: bool = False
    has_checked_token_axes: bool = False
    may_be_empty: bool = False  # other rounds may measure layers where this one has to leave out all of its own
    used_elsewhere: set[str] = field(default_factory=set)  # weights that the network also uses outside of their layers

    def cotangents_name(self) -> Outputs:
        """How the first batch decided to sum over outputs."""
        return self.outputs_option if self.cotangents is None else self.cotangents.name

    def add(self, batch: Batch, number: int, all_targets: Any = None) -> None:
        """Add a batch. With the first one, check that the targets of all batches fit the outputs."""
        if number == 0:
            self._allocate(batch)
        elif "loss" in self.needs and batch.targets is None:
            raise ValueError(f"batch {number} has no targets and the batches before it had")
        elif "loss" not in self.needs and batch.targets is not None:
            raise ValueError(f"batch {number} has targets and the batches before it had none")
        run = self._run(self.network, batch, number)
        self._check_token_axes(batch)
        run = self._with_rows_of_samples(batch, number, run)
        outputs = run.outputs
        with self._failing_together():
            if number == 0 and self.loss is None and batch.targets is not None:
                self.loss = default_loss(tuple(outputs.shape), batch.targets)
            if number == 0:
                check_classes_last(self.loss, outputs, batch.targets)
            if number == 0 and all_targets is not None and isinstance(self.loss, str):
                targets = as_tensor(all_targets, "y")
                check_targets(self.loss, (len(targets), *outputs.shape[1:]), targets)
        self.outputs = outputs[0].numel()
        if batch.is_counted:
            self.reached |= {call.layer for call in run.calls}
        initial_run = self._run_initial(batch, number, run)
        # the passes run under the caller's autocast, but the products are not rounded by it
        device_type = outputs.device.type
        with torch.autocast(device_type, enabled=False) if torch.is_autocast_enabled(device_type) else nullcontext():
            self._add(batch, number, run, initial_run)
        self.n += len(outputs) if batch.is_counted else 0

    def _run(self, network: CapturedNetwork, batch: Batch, number: int) -> Run:
        """Run a network. Processes in step fail together, and take the readout if all of them have it."""
        if self.processes is None or not self.processes.in_step:
            return network.run(batch, number)
        run = None
        with self._failing_together():
            run = network.run(batch, number)
        assert run is not None
        return run if all(self.processes.gather(run.readout is not None)) else replace(run, readout=None)

    def _with_rows_of_samples(self, batch: Batch, number: int, run: Run) -> Run:
        """Return the run with a row for each sample in every call, and note the layers where that cannot be."""
        if not self.needs & (OUTPUT_SUMS | {"loss_outer"}):
            return run
        layers, union = self.network.layers, set if self.processes is None else self.processes.union
        suspected = set(suspects(layers, run))
        if not self.has_sought_fixed_calls:
            suspected |= self._fixed_calls(batch, run)
        new_calls = union(suspected - self.checked_calls if len(run.outputs) > 1 else set())
        self.checked_calls |= new_calls
        suspected_calls = {key: call for key, call in numbered(run.calls) if key in new_calls}
        shared = union(set(shared_calls(layers, run, suspected_calls))) if new_calls else set()
        mixed = union(mixed_layers(layers, run, shared) if shared or number == 0 else set())
        self._leave_out(mixed, MIXED_SAMPLES)
        shared = {key for key in shared if key[0] not in mixed}
        if not shared:
            return run
        failed = union(set(give_rows(self.network, batch, number, run, sorted(shared))))
        self.network.record.repeated -= failed
        self._leave_out({name for name, _ in failed}, SHARED_ROWS)
        if self.initial_network is not None:
            self.initial_network.record.repeated = self.network.record.repeated
        return self._run(self.network, batch, number)

    def _leave_out(self, names: set[str], reason: str) -> None:
        """Leave layers out of the result. Raises ValueError if none remains, unless the result may be empty."""
        self.unmeasured |= dict.fromkeys(sorted(names - self.unmeasured.keys()), reason)
        if names and not self.may_be_empty and self.unmeasured.keys() >= set(self.network.layers):
            raise ValueError(f"layers {sorted(self.unmeasured)} cannot be measured here: {reason}")

    def _fixed_calls(self, batch: Batch, run: Run) -> set[tuple[str, int]]:
        """The calls that have as many rows for a few samples as for the first batch with several samples."""
        self.has_sought_fixed_calls = self._is_in_step() or len(run.outputs) > 1
        if sample_count(batch.inputs) is None or not self.has_sought_fixed_calls:
            return set()
        run_of_few = self._run_of_few(batch, len(run.outputs))
        return set() if run_of_few is None else fixed_calls(self.network.layers, run, run_of_few)

    def _run_of_few(self, batch: Batch, n: int) -> Run | None:
        """Run one or two of a batch's n samples, without their mask; None if the model takes whole batches only."""
        first_samples = first_rows(batch._replace(mask=None), 1 if n == 2 else 2)
        try:
            with preserved_state(self.network.model):  # random states and counts of calls stay as they are
                return self._run(self.network, first_samples, 0)
        except (ValueError, RuntimeError):
            return None

    def _check_token_axes(self, batch: Batch) -> None:
        """Raise ValueError if layers see tokens as (T, n, d), which a batch of as many samples as tokens hides.

        In a run of fewer samples the two axes differ.
        """
        n, T = (0, 0) if batch.mask is None else batch.mask.shape
        is_hidden = n == T > 1 and not self.has_checked_token_axes
        self.has_checked_token_axes |= n != T
        if self._is_in_step() and self.processes is not None:
            is_hidden = any(self.processes.gather(is_hidden))
        if not is_hidden or sample_count(batch.inputs) is None:
            return
        self.has_checked_token_axes = True
        run_of_few = self._run_of_few(batch, n)
        if run_of_few is not None:
            with self._failing_together():
                self.network.check_token_axes(len(run_of_few.outputs), T, run_of_few.calls)

    def _add(self, batch: Batch, number: int, run: Run, initial_run: Run | None) -> None:
        calls = run.calls
        # a batch may reach none of the layers; processes in step make all passes
        has_passes = bool(calls) or (self.processes is not None and self.processes.in_step)
        needs_outputs = has_passes and bool(self.needs & OUTPUT_SUMS)
        if batch.targets is not None and self.loss is not None and "loss" in self.needs:
            with self._failing_together():
                losses = self._losses(batch, number, run)
            self.total_loss += float(losses.detach().double().sum())
            if has_passes and self.needs & LOSS_SUMS:
                with self._failing_together():
                    check_differentiable(losses)
                is_first = number == 0 and batch.is_counted and "weight_gradient" in self.needs
                compared_gradients = CallGradients(self.network.layers) if is_first else None
                compared_weights = [] if compared_gradients is None else compared_gradients.parameters()
                gradients = _gradients(losses.sum(), calls, retain=needs_outputs, others=compared_weights)
                self._add_loss(calls, gradients[: len(calls)], batch.mask, compared_gradients)
                if compared_gradients is not None:
                    self.used_elsewhere |= compared_gradients.differing(
                        self.network.model, compared_weights, gradients[len(calls) :]
                    )
        if needs_outputs:
            self._add_outputs(batch, run, initial_run)

    def _losses(self, batch: Batch, number: int, run: Run) -> Tensor:
        """The losses of a batch's samples (n,), zeros if it does not count."""
        assert self.loss is not None
        assert batch.targets is not None
        try:
            losses = per_sample(self.loss, run.outputs, batch.targets, run.mask)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from error
        if not all_finite(losses.detach()):
            row = int((~torch.isfinite(losses)).nonzero()[0])
            raise ValueError(f"the loss of row {row} of batch {number} is a NaN or an infinity")
        return losses if batch.is_counted else losses * 0.0

    def _failing_together(self) -> AbstractContextManager:
        return self.processes.failing_together() if self._is_in_step() and self.processes is not None else nullcontext()

    def _is_in_step(self) -> bool:
        return self.processes is not None and self.processes.in_step

    def result(self, weight_decay: float | None, settings: dict[str, Any], left_out: Mapping[str, str]) -> Measurement:
        """Return the measurement of all batches."""
        measured = {}
        for name, layer in self.network.layers.items():
            if name in self.unmeasured:
                continue
            sums = {
                key: single((total if key == "weight_gradient" else mirrored(total)) / self.n)
                for key, total in self.sums[name].items()
            }
            for key, total in sums.items():
                if not all_finite(total):
                    raise ValueError(f"layer {name!r}: the sum for {key} overflowed or met a NaN gradient")
            initial_weight = None if self.initial_network is None else _weight(self.initial_network.layers[name])
            means = self._group_means(name, sums)
            measured[name] = LayerMeasures(
                name, self.n, _weight(layer), sums, weight_decay, initial_weight, layer.kind, means
            )
        mean_loss = self.total_loss / self.n if "loss" in self.needs else None
        if mean_loss is not None:
            settings["loss"] = self.loss if isinstance(self.loss, str) else getattr(self.loss, "__name__", "callable")
        settings["outputs"] = "exact" if self.cotangents is None else self.cotangents.name
        return Measurement(measured, self.n, self.outputs, mean_loss, left_out, settings)

    def _group_means(self, name: str, sums: dict[str, Tensor]) -> dict[str, Tensor]:
        """The means over samples by group of cotangents, whose means over cotangents complete ``sums``."""
        means: dict[str, Tensor] = {}
        for key, totals in self.group_sums.get(name, {}).items():
            assert self.cotangents is not None
            counts = torch.tensor(self.cotangents.counts, dtype=torch.float64, device=totals.device)
            for total in totals:
                mirrored(total)
            if not all_finite(totals):
                raise ValueError(f"layer {name!r}: the sum for {key} overflowed or met a NaN gradient")
            sums[key] = single(totals.sum(0) / (float(counts.sum()) * self.n))
            means[key] = torch.stack([single(t / (count * self.n)) for t, count in zip(totals, counts, strict=True)])
        return means

    def _allocate(self, batch: Batch) -> None:
        """Decide by the first batch which sums can be measured, and allocate them in float64."""
        if batch.targets is not None:
            self.needs = self.needs | {"loss"}
        elif self.needs & LOSS_SUMS:
            if self.loss_required:
                raise ValueError("enfa, fact and virtual_shift depend on the loss: targets y are needed")
            self.needs = self.needs - LOSS_SUMS
        for name, layer in self.network.layers.items():
            W = layer.weight_matrices()
            G, k, d = W.shape
            shapes = {"ptk": (k, k), "centered_ptk": (k, k), "loss_outer": (k, k), "weight_gradient": (k, d)}
            self.sums[name] = {
                key: torch.zeros(G, *shape, dtype=torch.float64, device=W.device)
                for key, shape in shapes.items()
                if key in self.needs
            }

    def _add_loss(
        self,
        calls: list[LayerCall],
        gradients: Sequence[Tensor | None],
        mask: Tensor | None,
        call_gradients: CallGradients | None,
    ) -> None:
        loss_outer = BatchSums()
        for call, g in zip(calls, gradients, strict=True):
            if g is None:  # the loss does not depend on this call
                continue
            eps = torch.finfo(g.dtype).eps
            layer, g = self.network.layers[call.layer], at_least_float32(call.part(g))
            if "loss_outer" in self.needs:
                loss_outer.add(call.layer, layer.output_rows(g, mask, call.input))
            if "weight_gradient" in self.needs:
                if call.input._version != call.version:
                    raise ValueError(f"the input of layer {call.layer!r} is changed in place after its use")
                h = at_least_float32(call.input) if call.input.is_floating_point() else call.input
                total = layer.weight_gradient(h, g, mask)
                self.sums[call.layer]["weight_gradient"] += total
                if call_gradients is not None:  # autograd's gradient knows no mask, so the compared sum has none
                    call_gradients.add(call.layer, h, g, total if mask is None else layer.weight_gradient(h, g), eps)
        loss_outer.add_to(self.sums, "loss_outer")

    def _run_initial(self, batch: Batch, number: int, run: Run) -> Run | None:
        """Run the initial network if its derivatives are needed, or if only a call computes its weights."""
        if self.initial_network is None:
            return None
        centred = "centered_ptk" in self.needs
        layers = self.initial_network.layers.values()
        if not centred and (number or not any(layer.has_computed_weight() for layer in layers)):
            return None
        initial_run = self._run(self.initial_network, batch, number)
        called, called_initially = ([call.layer for call in r.calls] for r in (run, initial_run))
        if initial_run.outputs.shape != run.outputs.shape or called_initially != called:
            raise ValueError("with the initial weights the model calls other layers or gives other outputs")
        return initial_run if centred else None

    def _add_outputs(self, batch: Batch, run: Run, initial_run: Run | None) -> None:
        mask = batch.mask
        if self.cotangents is None:
            self.cotangents = choose(self.outputs_option, run, initial_run)
            if not isinstance(self.cotangents, ThroughReadout):
                self.network.last = None
                if self.initial_network is not None:
                    self.initial_network.last = None
        centred = initial_run is not None
        ptk = [BatchSums() for _ in range(self.cotangents.groups)]
        centered = [BatchSums() for _ in range(self.cotangents.groups)]
        for scalar, initial_scalar, group, more_passes in self._passes(batch, run, initial_run):
            gradients = _gradients(scalar, run.calls, retain=more_passes)
            if "ptk" in self.needs:
                for call, g in zip(run.calls, gradients, strict=True):
                    if g is not None:  # this output depends on this call
                        ptk[group].add(call.layer, self._rows(call, at_least_float32(g), mask))
            if initial_run is not None and initial_scalar is not None:
                initial_gradients = _gradients(initial_scalar, initial_run.calls, retain=more_passes)
                for call, g, initial_g in zip(run.calls, gradients, initial_gradients, strict=True):
                    if g is not None and initial_g is not None:
                        change = at_least_float32(g) - at_least_float32(initial_g)
                        centered[group].add(call.layer, self._rows(call, change, mask))
        if "ptk" in self.needs:
            self._add_groups("ptk", ptk)
            for name, count in self.cotangents.omitted_identity(run, initial_run, self.network.layers).items():
                self.sums[name]["ptk"].diagonal(dim1=-2, dim2=-1).add_(count if batch.is_counted else 0.0)
        if centred:
            self._add_groups("centered_ptk", centered)

    def _passes(self, batch: Batch, run: Run, initial_run: Run | None) -> Iterator[Pass]:
        """Yield the passes of a batch.

        Processes in step all make the largest number, with zero gradients in the extra passes.
        """
        assert self.cotangents is not None
        passes = self.cotangents.passes(run, initial_run, batch.start)
        if self.processes is None or (batch.is_counted and not self.processes.in_step):
            yield from passes
            return
        count = self.cotangents.count(run, initial_run)
        most_passes = max(self.processes.gather(count)) if self.processes.in_step else count
        for number, (scalar, initial_scalar, group, _) in enumerate(passes):
            if not batch.is_counted:
                scalar, initial_scalar = scalar * 0.0, None if initial_scalar is None else initial_scalar * 0.0
            yield scalar, initial_scalar, group, number < most_passes - 1
        for number in range(count, most_passes):
            initial_zero = None if initial_run is None else initial_run.outputs.sum() * 0.0
            yield run.outputs.sum() * 0.0, initial_zero, 0, number < most_passes - 1

    def _add_groups(self, key: str, groups: list[BatchSums]) -> None:
        """Add the sums of exact cotangents, or of each group of random ones."""
        assert self.cotangents is not None
        for number, group in enumerate(groups):
            if not self.cotangents.random:
                group.add_to(self.sums, key)
                continue
            for name, total in group.totals.items():
                group_sums = self.group_sums.setdefault(name, {})
                if key not in group_sums:
                    shape = (len(groups), *total.shape)
                    group_sums[key] = torch.zeros(shape, dtype=torch.float64, device=total.device)
                group_sums[key][number] += total

    def _rows(self, call: LayerCall, g: Tensor, mask: Tensor | None) -> Tensor:
        """The rows of a gradient at the output of a call, (groups, rows, k)."""
        return self.network.layers[call.layer].output_rows(call.part(g), mask, call.input)


def _gradients(
    scalar: Tensor, calls: list[LayerCall], retain: bool, others: Sequence[Tensor] = ()
) -> Sequence[Tensor | None]:
    # torch takes two seconds to import its symbolic shapes before it differentiates a vector, and none for a scalar
    places: list[Any] = [*(call.edge for call in calls if call.edge is not None), *others]
    return torch.autograd.grad(scalar, places, retain_graph=retain, allow_unused=True)


def _weight(layer: Layer) -> Tensor:
    return single(layer.weight_matrices().double().clone())
