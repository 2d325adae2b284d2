"""Every layer's feature matrices in one streaming pass over the data."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from gramlab.arguments import Check
from gramlab.losses import all_finite
from gramlab.measures.accumulate import Accumulator
from gramlab.measures.arrays import as_number
from gramlab.measures.batches import Data, check_forward_option, iterate_batches, row_count
from gramlab.measures.capture import address_of, capture_calls
from gramlab.measures.captured import CapturedNetwork
from gramlab.measures.copies import copied_model, copied_tensors
from gramlab.measures.cotangents import Outputs, check_outputs
from gramlab.measures.identity import DataDigest, origin_digests
from gramlab.measures.kinds import Layer
from gramlab.measures.layers import NOT_NAMED, UNREACHED, Layers, find_layers, left_out
from gramlab.measures.losses import Loss, check_loss
from gramlab.measures.measurement import Measurement
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.processes import Processes
from gramlab.measures.readout import last_product
from gramlab.measures.results import NEEDS, OUTPUT_SUMS, names_of
from gramlab.measures.shards import (
    Shard,
    is_split,
    local_tensor,
    reduce_over_processes,
    resolve_shard,
    unwrapped,
    unwrapped_weights,
)
from gramlab.measures.used_elsewhere import USED_ELSEWHERE, tied_weights


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
    outputs: Outputs = None,
    initial: nn.Module | Mapping[str, Tensor] | None = None,
    mask: Any = None,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
    shard: Shard = None,
    max_memory: int | str | None = None,
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
    and for the AGOP family a pass for each output or fewer (``outputs``). Memory does not grow with n.

    Parameters
    ----------
    model : torch.nn.Module
        Runs in evaluation mode (a sample has no gradient of its own through batch statistics) and is left as it was:
        parameters, gradients, buffers, attributes, mode, hooks, and the random states, a DataLoader's own too. Other
        objects that attributes name, tensors within lists and dicts, and the state of a sampler or a data set are not
        set back.
    x : array of shape (n, ...), data frame, mapping of arrays, or iterable of batches
        A batch of an iterable, such as a DataLoader, is inputs, (inputs, targets), (inputs, targets, mask), or a
        mapping with "labels" and "attention_mask". Give no ``y`` and ``mask`` with an iterable.
    y : array of shape (n, ...), optional
        Targets. Without targets the quantities of the loss are left out.
    loss : {"mse", "signed_mse", "cross_entropy", "bce_with_logits"} or callable (outputs, targets) -> (n,) losses
        Default: "cross_entropy" if the targets are class indices, "mse" if they are floats, or integers beside one
        output. For booleans and integer one-hot rows it must be named. ``settings["loss"]`` of the result names it.
    layers : None, str, sequence of str, or predicate (name, module), default None
        None for every layer that multiplies by a weight: Linear, convolutions and transposed convolutions, Embedding,
        the projections of MultiheadAttention, Hugging Face's Conv1D, and Linear with low-rank adapters. Layers that no
        sample reaches are then left out; named ones must be reached.
    weight_decay : float, optional
        The λ of FACT; nothing else needs it.
    batch_size : int, default 4096
        Samples in a batch, if ``x`` is sliced.
    quantities : sequence of str, optional
        Names of ``LayerMeasures``' quantities, to save the work of the others. Default: all that the arguments allow.
    outputs : {"exact", "readout"}, int or None, default None
        How the AGOP family sums over outputs. "exact": a backward pass for each output. "readout": exact too, if the
        outputs are a linear layer's, with a pass for each of that layer's inputs at each position, and up to four with
        ``initial``. A number m: an estimate from m passes with random signs, drawn independently for each sample. None
        takes the cheapest exact way, and the estimate with m = 16 beyond 4,096 passes; ``settings["outputs"]`` of the
        result says which.
    initial : torch.nn.Module or state dict, optional
        The network's initial weights, for paper B's centred quantities.
    mask : array of shape (n, T), optional
        Booleans, or 0 and 1. Tokens where it is False count in no layer that sees (n, T, ..., d), in no outputs
        (n, T, ...), and in no named loss. Outputs (n, T) are tokens if the last layer gives one output per token. A
        mask that fits no tokens is refused.
    forward : callable (model, inputs) -> outputs, optional
        How to call the model, if not as ``model(inputs)`` or ``model(**inputs)``.
    shard : (int, int) or "process", optional
        (i, n) measures part i of n of the data: consecutive rows of arrays, or every n-th batch of an iterable.
        ``gramlab.merge`` makes the measurement of the whole from all parts. It knows the data, weights and functions
        of a part by their digests, and refuses parts that differ in them. "process" gives each process of
        torch.distributed its part, and all of them get the measurement of the whole.
    max_memory : int or str, optional
        Bytes, such as 10**9 or "1GB", for the sums of layers that are measured together. Layers are split into rounds,
        which repeat the passes; results on an accelerator move to the CPU after each round (``gramlab.plan``).

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
    weight_decay = as_number(weight_decay)
    quantities = None if quantities is None else names_of(quantities)  # an iterator is read once
    needs = needed_sums(quantities, weight_decay, initial is not None)
    weight_decay = None if weight_decay is None else float(weight_decay)  # a saved file holds Python's numbers only
    check_loss(loss)
    check_outputs(outputs)
    check_forward_option(forward)
    model = unwrapped(model)
    options = {"loss": loss, "layers": layers, "weight_decay": weight_decay, "batch_size": batch_size,
               "quantities": quantities, "outputs": outputs, "initial": initial, "mask": mask,
               "forward": forward}  # fmt: skip
    if max_memory is not None:
        measurement = _in_rounds(model, x, y, shard, max_memory, options)
    else:
        measurement = _in_one_round(model, x, y, shard, needs, layers is not None, **options)
    if not measurement.layers:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in measurement.left_out.items())
        raise ValueError(f"no layer can be measured here: {reasons}")
    return measurement


def _in_one_round(
    model: nn.Module,
    x: Data,
    y: Any,
    shard: Shard,
    needs: frozenset[str],
    are_required: bool,
    may_be_empty: bool = False,
    *,
    loss: Loss | None,
    layers: Layers,
    weight_decay: float | None,
    batch_size: int,
    quantities: Sequence[str] | None,
    outputs: Outputs,
    initial: nn.Module | Mapping[str, Tensor] | None,
    mask: Any,
    forward: Callable[[nn.Module, Any], Tensor] | None,
) -> Measurement:
    """Measure all layers together.

    Raises ValueError if they are required and no sample reaches one of them, and if none can be measured, unless the
    result may be empty.
    """
    part = resolve_shard(shard)
    with preserved_state(model, x), captured_networks(model, layers, initial, needs, outputs, forward) as networks:
        last = networks[0].last
        digest = None if part is None else DataDigest()
        digests = None if part is None else origin_digests(model, initial, loss, forward)
        processes = Processes(is_split(model)) if shard == "process" else None
        batches = iterate_batches(model, x, y, mask, batch_size, part, digest, stand_in=processes is not None)
        if processes is not None:
            batches = processes.batches(batches)
        accumulator = Accumulator(
            *networks, loss, needs, quantities is not None, outputs, processes, may_be_empty=may_be_empty
        )
        error: Exception | None = None
        try:
            for number, batch in enumerate(batches):
                accumulator.add(batch, number, all_targets=y)
        except Exception as reason:
            if processes is None or processes.in_step:  # processes in step have failed together already
                raise
            error = reason
        if processes is not None:
            processes.fail_together(error)
        settings: dict[str, Any] = {"weight_decay": weight_decay, "quantities": _sorted_names(quantities)}
        if part is not None and digest is not None and digests is not None:
            digests |= digest.result()
            if shard == "process":
                reduce_over_processes(accumulator, settings, digests)
            else:
                settings |= {"shard": part, "rows": row_count(x), "made_from": digests}
        captured, reasons = networks[0].layers, dict(accumulator.unmeasured)
        unreached = {name: layer for name, layer in captured.items() if name not in {*accumulator.reached, *reasons}}
        if unreached and are_required:
            raise ValueError(
                f"no sample reaches layers {list(unreached)}: the model does not call them; name other layers in"
                " layers="
            )
        if part is not None and shard != "process":  # samples of another part may reach them: their sums here are zero
            settings["unreached"] = list(unreached)
        else:
            accumulator.unmeasured |= {name: UNREACHED.format(name) for name in unreached}
        measured = {name: layer for name, layer in captured.items() if name not in {*reasons, *unreached}}
        unmeasured = {
            id(p): reason for name, reason in reasons.items() for p in captured[name].parameters() if p.ndim > 1
        }
        notes = dict.fromkeys(sorted(accumulator.used_elsewhere), USED_ELSEWHERE)
        if "weight_gradient" in accumulator.needs:
            notes |= tied_weights(model, measured, unreached)
        left_out_reasons = left_out(model, measured, notes | ({} if last is None else last.bare), unreached)
        left_out_reasons |= {name: unmeasured[id(p)] for name, p in model.named_parameters() if id(p) in unmeasured}
        return accumulator.result(weight_decay, settings, left_out_reasons)


def _in_rounds(
    model: nn.Module, x: Data, y: Any, shard: Shard, max_memory: int | str, options: dict[str, Any]
) -> Measurement:
    """Measure the layers in rounds; results on an accelerator move to the CPU after each of them."""
    from gramlab.measures.plan import plan

    rounds = plan(model, x, y, **options, max_memory=max_memory).rounds
    needs = needed_sums(options["quantities"], options["weight_decay"], options["initial"] is not None)
    results = []
    for names in rounds:
        are_required = options["layers"] is not None
        result = _in_one_round(
            model, x, y, shard, needs, are_required, len(rounds) > 1, **(options | {"layers": names})
        )
        results.append(result if len(rounds) == 1 else result.cpu())
    layers = {name: layer for result in results for name, layer in result.items()}
    with preserved_state(model):
        left_out_reasons = left_out(model, find_layers(model, list(layers)) if layers else {})
    for result in results:  # the layers of the other rounds are not named in a round
        left_out_reasons |= {name: reason for name, reason in result.left_out.items() if reason != NOT_NAMED}
    first = next((result for result in results if result.layers), results[0])
    settings = dict(first.settings)
    if "unreached" in settings:
        settings["unreached"] = [name for result in results for name in result.settings["unreached"]]
    return replace(first, layers=layers, left_out=left_out_reasons, settings=settings)


def _check_widths(layers: Mapping[str, Layer]) -> None:
    """Raise ValueError for a layer without inputs or without outputs, which has no matrices."""
    for name, layer in layers.items():
        if shapes := [tuple(p.shape) for p in layer.parameters() if p.ndim > 1 and not p.numel()]:
            raise ValueError(
                f"layer {name!r} has a weight of shape {shapes[0]}, without entries, so that there is nothing to"
                " measure; name the layers to measure in layers="
            )


@contextmanager
def captured_networks(
    model: nn.Module,
    layers: Layers,
    initial: nn.Module | Mapping[str, Tensor] | None,
    needs: frozenset[str],
    outputs: Outputs,
    forward: Callable[[nn.Module, Any], Tensor] | None,
) -> Iterator[tuple[CapturedNetwork, CapturedNetwork | None]]:
    """Capture the layers of the model, and of its copy with the initial weights if they are needed."""
    with ExitStack() as stack:
        measured = find_layers(model, layers)
        _check_widths(measured)
        for name, parameter in model.named_parameters():
            if not all_finite(local_tensor(parameter.detach())):
                raise ValueError(f"the model's parameter {name!r} holds a NaN or an infinity")
            if parameter.is_inference():
                raise ValueError(
                    f"the model's parameter {name!r} was made under torch.inference_mode(), so that nothing can be"
                    " differentiated: build or load the model outside of it"
                )

        def captured(module: nn.Module, selected: dict[str, Layer]) -> CapturedNetwork:
            needs_readout = outputs in (None, "readout") and bool(needs & OUTPUT_SUMS)
            last = stack.enter_context(last_product(module, needs_readout))
            return CapturedNetwork(module, selected, stack.enter_context(capture_calls(selected)), forward, last)

        initial_model, initial_network = None, None
        if initial is not None and "initial" in needs:
            is_run = "centered_ptk" in needs or any(layer.has_computed_weight() for layer in measured.values())
            initial_model = _with_initial_weights(model, initial, is_run)  # before the model has hooks to copy
        network = captured(model, measured)
        if initial_model is not None:
            initial_network = captured(initial_model, find_layers(initial_model, list(measured)))
        yield network, initial_network


def _sorted_names(quantities: Sequence[str] | None) -> list[str] | None:
    return None if quantities is None else sorted(names_of(quantities))


def needed_sums(quantities: Sequence[str] | None, weight_decay: float | None, centred: bool) -> frozenset[str]:
    """Return the sums that the quantities need. Raises ValueError if an argument is missing for them."""
    check = Check(ValueError)
    if weight_decay is not None:
        check.number("weight_decay", weight_decay, "a number of at least 0")
    names = list(NEEDS) if quantities is None else names_of(quantities)
    check.choices("quantities", names, sorted(NEEDS))
    needs: frozenset[str] = frozenset().union(*(NEEDS[name] for name in names))
    if quantities is None:
        return needs if centred else needs - {"initial", "centered_ptk"}
    if any(name in ("fact", "back_fact") for name in names) and not weight_decay:
        raise ValueError(f"FACT needs a positive weight_decay (its λ), not {weight_decay}")
    if "initial" in needs and not centred:
        centred_names = [name for name in names if "initial" in NEEDS[name]]
        raise ValueError(f"{centred_names} need the initial weights: pass initial=, a module or its state dict")
    return needs


def _with_initial_weights(model: nn.Module, initial: nn.Module | Mapping[str, Tensor], is_run: bool) -> nn.Module:
    """A copy of the model with the initial weights. If it is not run, it shares all other attributes with the model."""
    if not isinstance(initial, (nn.Module, Mapping)):
        raise ValueError(f"initial must be a module or its state dict, not {initial!r}")
    weights = unwrapped(initial).state_dict() if isinstance(initial, nn.Module) else initial
    weights = unwrapped_weights(weights, model.state_dict().keys())
    for name, tensor in model.state_dict().items():
        if name not in weights:
            raise ValueError(f"the initial weights lack {name!r}")
        if not isinstance(tensor, Tensor):
            continue
        if not isinstance(weights[name], Tensor) or weights[name].is_meta:
            kind = "on the meta device, without numbers" if isinstance(weights[name], Tensor) else "no tensor of torch"
            raise ValueError(f"the initial {name!r} is {kind}")
        if weights[name].shape != tensor.shape:
            shapes = f"{tuple(weights[name].shape)}, the model's {tuple(tensor.shape)}"
            raise ValueError(f"the initial {name!r} has shape {shapes}")
        if not all_finite(weights[name]):
            raise ValueError(f"the initial {name!r} holds a NaN or an infinity")
    same_memory = [_is_same_memory(weights[name], p) for name, p in model.named_parameters() if name in weights]
    if same_memory and all(same_memory):
        warnings.warn(
            "the initial weights are the model's own tensors, so that W - W₀ is zero: copy them before training, as"
            " copy.deepcopy(model.state_dict())",
            stacklevel=2,
        )
    initial_model = copied_model(model) if is_run else copied_tensors(model)
    # tensors alone, so that nothing else, such as an extra state, goes into attributes that may be the model's own
    state = {name: weights[name] for name, value in model.state_dict().items() if is_run or isinstance(value, Tensor)}
    initial_model.load_state_dict(state, strict=is_run)
    return initial_model


def _is_same_memory(a: Tensor, b: Tensor) -> bool:
    return a is b or (b.numel() > 0 and address_of(a) is not None and address_of(a) == address_of(b))
