"""Every layer's feature matrices in one streaming pass over the data."""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.files import did_you_mean
from gramlab.measures.arrays import all_finite, as_tensor
from gramlab.measures.batches import Batch, Data, input_tensors, iterate_batches, run_model, sample_count
from gramlab.measures.capture import CallRecord, LayerCall, capture_calls
from gramlab.measures.kinds import Layer
from gramlab.measures.layers import Layers, at_least_float32, find_layers, left_out
from gramlab.measures.losses import Loss, check_loss, check_targets, default_loss, is_token_mask, per_sample
from gramlab.measures.measurement import Measurement
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.products import add_symmetric, mirrored
from gramlab.measures.results import NEEDS, LayerMeasures, single


def measure(
    model: nn.Module,
    x: Data,
    y: Any = None,
    *,
    loss: Loss | None = None,
    layers: Layers = None,
    weight_decay: float | None = None,
    batch_size: int = 4096,
    quantities: Sequence[str] | None = None,
    initial: nn.Module | Mapping[str, Tensor] | None = None,
    mask: Any = None,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> Measurement:
    """Measure the layers of any network: weight Gram, AGOP, PTK, eNFA, FACT, virtual covariance shift.

    For a layer z = W h, per-sample losses l_i with mean L, and all outputs f of the network, sums over samples i
    (and over tokens, image positions and calls of the layer) give

        gram = WᵀW                                                 papers A, B, C, D
        agop = (1/n) Σ ∂f/∂h ∂f/∂hᵀ = Wᵀ ptk W                     B (Proposition 2), C, D (Section 3.3)
        ptk  = (1/n) Σ ∂f/∂z ∂f/∂zᵀ                                B (Section 2.2), there without 1/n
        enfa = (1/n) Σ ∇_h l_i ∇_h l_iᵀ                            C (Section 2)
        fact = −(1/(nλ)) Σ ∇_h l_i hᵀ = −(1/λ) Wᵀ ∇_W L            C (Theorem 3.1)
        virtual_shift(γ) = Σ h⁺h⁺ᵀ − hhᵀ,  h⁺ = h − γ ∇_h L        A (Definition 1)

    and the others of ``LayerMeasures``. It takes one forward pass, one backward pass for all quantities of the loss,
    and one for each output for the AGOP family. Memory does not grow with n.

    Parameters
    ----------
    model : torch.nn.Module
        Runs in evaluation mode (a sample has no gradient of its own through batch statistics) and is left as it was:
        parameters, gradients, buffers, mode, hooks, and the global random states.
    x : array of shape (n, ...), data frame, mapping of arrays, or iterable of batches
        A batch of an iterable, such as a DataLoader, is inputs, (inputs, targets), (inputs, targets, mask), or a
        mapping with "labels" and "attention_mask". Give no ``y`` and ``mask`` with an iterable.
    y : array of shape (n, ...), optional
        Targets. Without targets the quantities of the loss are left out.
    loss : {"mse", "signed_mse", "cross_entropy", "bce_with_logits"} or callable (outputs, targets) -> (n,) losses
        Default: "cross_entropy" if the targets are classes, else "mse"; ``settings["loss"]`` of the result names it.
    layers : None, str, sequence of str, or predicate (name, module), default None
        None for every layer that multiplies by a weight: Linear, convolutions and transposed convolutions, Embedding,
        the projections of MultiheadAttention, Hugging Face's Conv1D, and Linear with low-rank adapters.
    weight_decay : float, optional
        The λ of FACT; nothing else needs it.
    batch_size : int, default 4096
        Rows of a batch that is sliced from ``x``.
    quantities : sequence of str, optional
        Names of ``LayerMeasures``' quantities, to save the work of the others. Default: all that the arguments allow.
    initial : torch.nn.Module or state dict, optional
        The network's initial weights, for paper B's centred quantities.
    mask : array of shape (n, T), optional
        Booleans, or 0 and 1. False leaves a token out of every layer that sees (n, T, d), out of outputs (n, T, c),
        and out of their losses by name.
    forward : callable (model, inputs) -> outputs, optional
        How to call the model, if not as ``model(inputs)`` or ``model(**inputs)``.

    Returns
    -------
    Measurement
        A mapping from layer names to ``LayerMeasures``. Products are taken in the model's precision, float32 at least,
        and summed over batches in float64.

    Raises
    ------
    ValueError
        On every argument that cannot be measured; the message names it.

    Examples
    --------
    >>> import torch, gramlab
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 3))
    >>> x, y = torch.randn(100, 8), torch.randint(0, 3, (100,))
    >>> measurement = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=1e-3)
    >>> print(str(measurement).splitlines()[0])
    Measurement of 2 layers: n = 100, 3 outputs, cross_entropy 1.1...
    >>> layer = measurement["0"]
    >>> bool(torch.allclose(layer.agop, layer.weight.T @ layer.ptk @ layer.weight))
    True
    >>> -1 < gramlab.cosine(layer.gram, layer.agop) < 1
    True
    """
    needs = _needs(quantities, weight_decay, initial is not None)
    check_loss(loss)
    with preserved_state(model), ExitStack() as stack:
        measured = find_layers(model, layers)
        for name, parameter in model.named_parameters():
            if not all_finite(parameter.detach()):
                raise ValueError(f"the model's parameter {name!r} holds a NaN or an infinity")
        batches = iterate_batches(model, x, y, mask, batch_size)
        current = _CapturedNetwork(model, measured, stack.enter_context(capture_calls(measured)), forward)
        before = None
        if initial is not None and "initial" in needs:
            initial_model = _with_initial_weights(model, initial)
            initial_layers = find_layers(initial_model, list(measured))
            record = stack.enter_context(capture_calls(initial_layers))
            before = _CapturedNetwork(initial_model, initial_layers, record, forward)
        accumulator = _Accumulator(current, before, loss, needs, loss_required=quantities is not None)
        for number, batch in enumerate(batches):
            accumulator.add(batch, number, all_targets=y)
        settings = {"weight_decay": weight_decay, "quantities": None if quantities is None else sorted(quantities)}
        return accumulator.result(weight_decay, settings, left_out(model, measured))


def _needs(quantities: Sequence[str] | None, weight_decay: float | None, centred: bool) -> frozenset[str]:
    """The sums that the quantities need. Raises ValueError if an argument is missing for them."""
    if weight_decay is not None and not (isinstance(weight_decay, Real) and 0.0 <= weight_decay < float("inf")):
        raise ValueError(f"weight_decay must be a positive finite number, not {weight_decay!r}")
    names = [quantities] if isinstance(quantities, str) else list(NEEDS if quantities is None else quantities)
    if unknown := [name for name in names if name not in NEEDS]:
        raise ValueError(f"unknown quantities {unknown}, not among {sorted(NEEDS)}{did_you_mean(unknown[0], NEEDS)}")
    needs: frozenset[str] = frozenset().union(*(NEEDS[name] for name in names))
    if quantities is None:
        return needs if centred else needs - {"initial", "centered_ptk"}
    if any(name in ("fact", "back_fact") for name in names) and not weight_decay:
        raise ValueError(f"FACT needs a positive weight_decay (its λ), not {weight_decay}")
    if "initial" in needs and not centred:
        centred_names = [name for name in names if "initial" in NEEDS[name]]
        raise ValueError(f"{centred_names} need the initial weights: pass initial=, a module or its state dict")
    return needs


def _with_initial_weights(model: nn.Module, initial: nn.Module | Mapping[str, Tensor]) -> nn.Module:
    """A copy of the model with the initial weights."""
    weights = initial.state_dict() if isinstance(initial, nn.Module) else initial
    for name, tensor in model.state_dict().items():
        if name not in weights:
            raise ValueError(f"the initial weights lack {name!r}")
        if not isinstance(tensor, Tensor):
            continue
        if weights[name].shape != tensor.shape:
            shapes = f"{tuple(weights[name].shape)}, the model's {tuple(tensor.shape)}"
            raise ValueError(f"the initial {name!r} has shape {shapes}")
        if not all_finite(weights[name]):
            raise ValueError(f"the initial {name!r} holds a NaN or an infinity")
    # weights that a hook computes (weight_norm of torch.nn.utils, pruning) are in a graph, which deepcopy refuses
    memo = {
        id(t): t.detach().clone()
        for module in model.modules()
        for t in vars(module).values()
        if isinstance(t, Tensor) and not t.is_leaf
    }
    copied = copy.deepcopy(model, memo)
    copied.load_state_dict({name: weights[name] for name in model.state_dict()})
    return copied


_Run = tuple[Tensor, list[LayerCall]]  # outputs (n, ...) and the calls of the layers


class _CapturedNetwork:
    """A network whose layers' calls are recorded."""

    def __init__(self, model: nn.Module, layers: dict[str, Layer], record: CallRecord, forward: Any) -> None:
        self.model, self.layers, self.record, self.forward = model, layers, record, forward
        record.recording = False

    def run(self, batch: Batch, number: int) -> _Run:
        """Return outputs (n, ...) in the graph, zero for masked tokens, and the calls of the layers."""
        self.record.recording = True
        try:
            outputs = run_model(self.model, batch.inputs, self.forward)
        except (RuntimeError, IndexError, TypeError) as error:  # torch's, on shapes, types and indices that do not fit
            if isinstance(error, torch.OutOfMemoryError):
                raise
            inputs = ", ".join(f"{tuple(t.shape)} of {t.dtype}" for t in input_tensors(batch.inputs))
            raise ValueError(f"the model fails on inputs of shape {inputs}: {str(error).splitlines()[0]}") from error
        self.record.recording = False  # a checkpointed block runs its layers again during the backward pass
        calls = self.record.take()
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
        return outputs, calls

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


@dataclass
class _Accumulator:
    """The sums over the data set, batch by batch."""

    current: _CapturedNetwork
    before: _CapturedNetwork | None
    loss: Loss | None  # None until the first targets decide
    needs: frozenset[str]
    loss_required: bool
    n: int = 0
    outputs: int = 0
    total_loss: float = 0.0
    sums: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    def add(self, batch: Batch, number: int, all_targets: Any = None) -> None:
        """Add a batch. With the first one, check that the targets of all batches fit the outputs."""
        if number == 0:
            self._allocate(batch)
        elif "loss" in self.needs and batch.targets is None:
            raise ValueError(f"batch {number} has no targets and the batches before it had")
        outputs, calls = self.current.run(batch, number)
        if number == 0 and self.loss is None and batch.targets is not None:
            self.loss = default_loss(tuple(outputs.shape), batch.targets)
        if number == 0 and all_targets is not None and isinstance(self.loss, str):
            targets = as_tensor(all_targets, "y")
            check_targets(self.loss, (len(targets), *outputs.shape[1:]), targets)
        self.n += len(outputs)
        self.outputs = outputs[0].numel()
        initial_run = self._run_initial(batch, number, outputs, calls)
        # the passes run under the caller's autocast, but the products are not rounded by it
        kind = outputs.device.type
        with torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext():
            self._add(batch, number, (outputs, calls), initial_run)

    def _add(self, batch: Batch, number: int, run: _Run, initial_run: _Run | None) -> None:
        outputs, calls = run
        by_output = bool(self.needs & {"ptk", "centered_ptk"})
        if batch.targets is not None and self.loss is not None and "loss" in self.needs:
            losses = per_sample(self.loss, outputs, batch.targets, batch.mask)
            if not all_finite(losses.detach()):
                row = int((~torch.isfinite(losses)).nonzero()[0])
                raise ValueError(f"the loss of row {row} of batch {number} is a NaN or an infinity")
            self.total_loss += float(losses.detach().double().sum())
            if self.needs & {"loss_outer", "weight_gradient"}:
                self._add_loss(calls, _gradients(losses.sum(), calls, retain=by_output), batch.mask)
        if by_output:
            self._add_outputs(batch.mask, run, initial_run)

    def result(self, weight_decay: float | None, settings: dict[str, Any], left_out: Mapping[str, str]) -> Measurement:
        """Return the measurement of all batches."""
        measured = {}
        for name, layer in self.current.layers.items():
            sums = {
                key: single((total if key == "weight_gradient" else mirrored(total)) / self.n)
                for key, total in self.sums[name].items()
            }
            for key, total in sums.items():
                if not all_finite(total):
                    raise ValueError(f"layer {name!r}: the sum for {key} overflowed or met a NaN gradient")
            initial_weight = None if self.before is None else _weight(self.before.layers[name])
            measured[name] = LayerMeasures(name, self.n, _weight(layer), sums, weight_decay, initial_weight, layer.kind)
        mean_loss = self.total_loss / self.n if "loss" in self.needs else None
        if mean_loss is not None:
            settings["loss"] = self.loss if isinstance(self.loss, str) else getattr(self.loss, "__name__", "callable")
        return Measurement(measured, self.n, self.outputs, mean_loss, left_out, settings)

    def _allocate(self, batch: Batch) -> None:
        """Decide by the first batch which sums can be measured, and allocate them in float64."""
        loss_sums = {"loss_outer", "weight_gradient"}
        if batch.targets is not None:
            self.needs = self.needs | {"loss"}
        elif self.needs & loss_sums:
            if self.loss_required:
                raise ValueError("enfa, fact and virtual_shift depend on the loss: targets y are needed")
            self.needs = self.needs - loss_sums
        for name, layer in self.current.layers.items():
            W = layer.weight_matrices()
            G, k, d = W.shape
            shapes = {"ptk": (k, k), "centered_ptk": (k, k), "loss_outer": (k, k), "weight_gradient": (k, d)}
            self.sums[name] = {
                key: torch.zeros(G, *shape, dtype=torch.float64, device=W.device)
                for key, shape in shapes.items()
                if key in self.needs
            }

    def _add_loss(self, calls: list[LayerCall], gradients: Sequence[Tensor | None], mask: Tensor | None) -> None:
        outer = _BatchSums()
        for call, g in zip(calls, gradients, strict=True):
            if g is None:  # the loss does not depend on this call
                continue
            layer, g = self.current.layers[call.layer], at_least_float32(call.part(g))
            if "loss_outer" in self.needs:
                outer.add(call.layer, layer.output_rows(g, mask, call.input))
            if "weight_gradient" in self.needs:
                if call.input._version != call.version:
                    raise ValueError(f"the input of layer {call.layer!r} is changed in place after its use")
                h = at_least_float32(call.input) if call.input.is_floating_point() else call.input
                total = layer.weight_gradient(h, g, mask)
                self.sums[call.layer]["weight_gradient"] += total
        outer.add_to(self.sums, "loss_outer")

    def _run_initial(self, batch: Batch, number: int, outputs: Tensor, calls: list[LayerCall]) -> _Run | None:
        """Run the initial network if its derivatives are needed, or if only a call computes its weights."""
        if self.before is None:
            return None
        centred = "centered_ptk" in self.needs
        if not centred and (number or not any(layer.has_computed_weight() for layer in self.before.layers.values())):
            return None
        outputs0, calls0 = self.before.run(batch, number)
        if outputs0.shape != outputs.shape or [call.layer for call in calls0] != [call.layer for call in calls]:
            raise ValueError("with the initial weights the model calls other layers or gives other outputs")
        return (outputs0, calls0) if centred else None

    def _add_outputs(self, mask: Tensor | None, run: _Run, initial_run: _Run | None) -> None:
        (outputs, calls), (outputs0, calls0) = run, initial_run or run
        flat = outputs.reshape(len(outputs), -1)
        flat0 = outputs0.reshape(len(outputs0), -1)
        ptk, centered = _BatchSums(), _BatchSums()
        for o in range(flat.shape[1]):
            more = o < flat.shape[1] - 1
            gradients = _gradients(flat[:, o].sum(), calls, retain=more)
            if "ptk" in self.needs:
                for call, g in zip(calls, gradients, strict=True):
                    if g is not None:  # this output depends on this call
                        ptk.add(call.layer, self._rows(call, at_least_float32(g), mask))
            if initial_run is not None:
                gradients0 = _gradients(flat0[:, o].sum(), calls0, retain=more)
                for call, g, g0 in zip(calls, gradients, gradients0, strict=True):
                    if g is not None and g0 is not None:
                        moved = at_least_float32(g) - at_least_float32(g0)
                        centered.add(call.layer, self._rows(call, moved, mask))
        ptk.add_to(self.sums, "ptk")
        centered.add_to(self.sums, "centered_ptk")

    def _rows(self, call: LayerCall, g: Tensor, mask: Tensor | None) -> Tensor:
        """The rows of a gradient at the output of a call, (groups, rows, k)."""
        return self.current.layers[call.layer].output_rows(call.part(g), mask, call.input)


class _BatchSums:
    """One batch's sums of outer products by layer, in the precision of its gradients."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}

    def add(self, name: str, z: Tensor) -> None:
        """Add the outer products of the rows of ``z`` (groups, rows, k)."""
        if name not in self.totals:
            self.totals[name] = z.new_zeros(z.shape[0], z.shape[2], z.shape[2])
        add_symmetric(self.totals[name], z, z)

    def add_to(self, sums: dict[str, dict[str, Tensor]], key: str) -> None:
        """Add to the float64 sums over the data set."""
        for name, total in self.totals.items():
            sums[name][key] += total


def _gradients(scalar: Tensor, calls: list[LayerCall], retain: bool) -> Sequence[Tensor | None]:
    # of a scalar: for vectors with given seeds torch first imports its symbolic shapes, which takes two seconds
    edges = [call.edge for call in calls if call.edge is not None]
    return torch.autograd.grad(scalar, edges, retain_graph=retain, allow_unused=True)


def _weight(layer: Layer) -> Tensor:
    return single(layer.weight_matrices().double().clone())
