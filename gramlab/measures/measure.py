"""Every layer's feature matrices in one streaming pass over the data."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures import losses
from gramlab.measures.arrays import as_tensor, finite
from gramlab.measures.batches import Batch, Data, call, leaves, rows_of, stream
from gramlab.measures.capture import Capture, Use, capture
from gramlab.measures.layers import Layer, Layers, computed, find, matrices, rows, weight_gradient, widened
from gramlab.measures.measured import NEEDS, LayerMeasures, Measurement, empty, single
from gramlab.measures.products import add_symmetric, mirrored
from gramlab.measures.untouched import untouched


def measure(
    model: nn.Module,
    x: Data,
    y: Any = None,
    *,
    loss: losses.Loss = "mse",
    layers: Layers = None,
    weight_decay: float | None = None,
    batch_size: int = 4096,
    quantities: Sequence[str] | None = None,
    initial: nn.Module | Mapping[str, Tensor] | None = None,
    mask: Any = None,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> Measurement:
    """Measure the layers of any network: weight Gram, AGOP, PTK, eNFA, FACT, virtual covariance shift.

    Returns a mapping from layer names to ``LayerMeasures``, which says what each quantity is.

    model: any module. It runs in evaluation mode (per-sample gradients have no meaning through batch statistics),
        and comes back as it was: parameters, gradients, buffers, mode, hooks, and the global random states.
    x, y: tensors, arrays or data frames of n rows, a mapping of them (a tokenizer's), or, without ``y``, any iterable
        of batches such as a DataLoader: inputs, (inputs, targets), (inputs, targets, mask), or mappings.
        Without targets the quantities of the loss are left out.
    loss: "mse", "signed_mse", "cross_entropy", "bce_with_logits", or a callable (outputs, targets) -> (n,) losses; L is
        their mean.
    layers: None for every Linear and Conv2d, or names, or a predicate (name, module).
    weight_decay: the λ of FACT; nothing else needs it.
    batch_size: rows a batch when ``x`` is given whole. Memory does not grow with n.
    quantities: names of ``LayerMeasures``' quantities, to save the work of the others; None for all that the
        arguments allow. The AGOP family costs one backward pass for each output, the rest one in all.
    initial: the network's initial weights (a module or its state dict), for paper B's centred quantities.
    mask: (n, T) booleans or 0 and 1; False leaves a token out of every layer that sees (n, T, d), out of outputs
        (n, T, c), and out of their losses by name.
    forward: how outputs come from (model, inputs), if not by calling the model.

    Products are taken in the model's precision, float32 at least, and summed over batches in float64.

    Raises ValueError, naming what was passed, on every argument that cannot be measured.
    """
    needs = _needs(quantities, weight_decay, initial is not None)
    losses.check(loss)
    with untouched(model), ExitStack() as stack:
        found = find(model, layers)
        for name, parameter in model.named_parameters():
            if not finite(parameter.detach()):
                raise ValueError(f"the model's parameter {name!r} holds a NaN or an infinity")
        batches = stream(model, x, y, mask, batch_size)
        now = _Network(model, found, stack.enter_context(capture(found)), forward)
        before = None
        if initial is not None and "initial" in needs:
            copied = _beginning(model, initial)
            theirs = find(copied, list(found))
            before = _Network(copied, theirs, stack.enter_context(capture(theirs)), forward)
        sums = _Sums(now, before, loss, needs, quantities is not None)
        for number, batch in enumerate(batches):
            sums.add(batch, number, all_targets=y)
        return sums.result(weight_decay)


def _needs(quantities: Sequence[str] | None, weight_decay: float | None, centred: bool) -> frozenset[str]:
    if weight_decay is not None and not (isinstance(weight_decay, Real) and 0.0 <= weight_decay < float("inf")):
        raise ValueError(f"weight_decay must be a positive finite number, not {weight_decay!r}")
    if isinstance(quantities, str):
        quantities = [quantities]
    asked = list(NEEDS) if quantities is None else list(quantities)
    if unknown := [name for name in asked if name not in NEEDS]:
        raise ValueError(f"unknown quantities {unknown}; there are {sorted(NEEDS)}")
    needs: frozenset[str] = frozenset().union(*(NEEDS[name] for name in asked))
    if quantities is None:
        return needs if centred else needs - {"initial", "centered_ptk"}
    if any(name in ("fact", "back_fact") for name in asked) and not weight_decay:
        raise ValueError(f"FACT needs a positive weight_decay (its λ), not {weight_decay}")
    if "initial" in needs and not centred:
        wanting = [name for name in asked if "initial" in NEEDS[name]]
        raise ValueError(f"{wanting} need the initial weights: pass initial=, a module or its state dict")
    return needs


def _beginning(model: nn.Module, initial: nn.Module | Mapping[str, Tensor]) -> nn.Module:
    """A copy of the model with the initial weights."""
    given = initial.state_dict() if isinstance(initial, nn.Module) else initial
    for name, own in model.state_dict().items():
        if name not in given:
            raise ValueError(f"the initial weights lack {name!r}")
        if not isinstance(own, Tensor):
            continue
        if given[name].shape != own.shape:
            raise ValueError(
                f"the initial {name!r} has shape {tuple(given[name].shape)}, the model's {tuple(own.shape)}"
            )
        if not finite(given[name]):
            raise ValueError(f"the initial {name!r} holds a NaN or an infinity")
    # weights that a hook computes (weight_norm of torch.nn.utils, pruning) are in a graph, where deepcopy stops
    memo = {
        id(t): t.detach().clone()
        for module in model.modules()
        for t in vars(module).values()
        if isinstance(t, Tensor) and not t.is_leaf
    }
    copied = copy.deepcopy(model, memo)
    copied.load_state_dict({name: given[name] for name in model.state_dict()})
    return copied


_Run = tuple[Tensor, list[Use]]  # outputs (n, ...) and the calls of the layers


class _Network:
    """A network whose layers are watched."""

    def __init__(self, model: nn.Module, layers: dict[str, Layer], seen: Capture, forward: Any) -> None:
        self.model, self.layers, self.seen, self.forward = model, layers, seen, forward

    def run(self, batch: Batch, number: int) -> tuple[Tensor, list[Use]]:
        """Outputs (n, ...) in the graph, zero for masked tokens, and the calls of the layers."""
        self.seen.recording = True
        try:
            outputs = call(self.model, batch.inputs, self.forward)
        except (RuntimeError, IndexError, TypeError) as error:  # torch's, of shapes, types and indices that do not fit
            if isinstance(error, torch.OutOfMemoryError):
                raise
            given = ", ".join(f"{tuple(one.shape)} of {one.dtype}" for one in leaves(batch.inputs))
            raise ValueError(f"the model fails on inputs of shape {given}: {str(error).splitlines()[0]}") from error
        self.seen.recording = False  # a checkpointed block runs its layers again during the backward pass
        uses = self.seen.take()
        if number == 0 and (missed := [name for name in self.layers if name not in {use.layer for use in uses}]):
            raise ValueError(
                f"the batch never reaches layers {missed}: the model does not call them;"
                " name the layers to measure in layers="
            )
        if frozen := [use.layer for use in uses if use.edge is None]:
            raise ValueError(
                f"layers {frozen} are called under torch.no_grad(), so nothing can be differentiated with respect"
                " to them; name the layers to measure in layers="
            )
        if not finite(outputs.detach()):
            row = int((~torch.isfinite(outputs)).reshape(len(outputs), -1).any(1).nonzero()[0])
            raise ValueError(f"the model's output for row {row} of batch {number} holds a NaN or an infinity")
        if not outputs.requires_grad:
            raise ValueError("the model's outputs are detached from its layers: nothing can be differentiated")
        for what, n in (("inputs", rows_of(batch.inputs)), ("targets", rows_of(batch.targets))):
            if n is not None and n != len(outputs):
                shapes = [tuple(t.shape) for t in leaves(batch.inputs if what == "inputs" else batch.targets)]
                raise ValueError(
                    f"the model gives outputs of shape {tuple(outputs.shape)} for {what} of shape {shapes[0]}: they"
                    f" need a row for each of the {n} samples, which forward= can arrange"
                )
        mask = batch.mask
        if mask is not None and number == 0:
            self._check_mask(mask, batch, outputs, uses)
        if mask is not None and losses.masks(mask, outputs):
            outputs = outputs.masked_fill(~mask.reshape(*mask.shape, *[1] * (outputs.ndim - 2)), 0.0)
        return outputs, uses

    def _check_mask(self, mask: Tensor, batch: Batch, outputs: Tensor, uses: list[Use]) -> None:
        """Raise ValueError if the mask (n, T) is of nothing that the model sees: it would be left unused."""
        of_layers = [use.input for use in uses if isinstance(self.layers[use.layer], nn.Linear)]
        tokens = {t.shape[:2] for t in [outputs, *of_layers] if t.ndim == 3}
        if mask.shape not in (tokens or {t.shape[:2] for t in leaves(batch.inputs)}):
            seen = sorted(map(tuple, tokens)) or [tuple(t.shape) for t in leaves(batch.inputs)]
            raise ValueError(f"the mask of shape {tuple(mask.shape)} fits no tokens (n, T): there are {seen}")


class _Sums:
    """The sums over the data set while they grow."""

    def __init__(
        self, now: _Network, before: _Network | None, loss: losses.Loss, needs: frozenset[str], insist: bool
    ) -> None:
        self.now, self.before, self.loss, self.needs, self.insist = now, before, loss, needs, insist
        self.n = self.outputs = 0
        self.total_loss = 0.0
        self.sums: dict[str, dict[str, Tensor]] = {}

    def add(self, batch: Batch, number: int, all_targets: Any = None) -> None:
        """Take in one batch; with the first one, look whether the targets of all of them fit."""
        if number == 0:
            self._settle(batch)
        elif "loss" in self.needs and batch.targets is None:
            raise ValueError(f"batch {number} has no targets and the batches before it had")
        outputs, uses = self.now.run(batch, number)
        if number == 0 and all_targets is not None and isinstance(self.loss, str):
            targets = as_tensor(all_targets, "y")
            losses.fit(self.loss, (len(targets), *outputs.shape[1:]), targets)
        self.n += len(outputs)
        self.outputs = outputs[0].numel()
        first = self._first(batch, number, outputs, uses)
        # the passes are the caller's own, under his autocast too; the products are not rounded by it
        kind = outputs.device.type
        with torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext():
            self._add(batch, number, outputs, uses, first)

    def _add(self, batch: Batch, number: int, outputs: Tensor, uses: list[Use], first: _Run | None) -> None:
        by_output = bool(self.needs & {"ptk", "centered_ptk"})
        if batch.targets is not None and "loss" in self.needs:
            per_sample = losses.per_sample(self.loss, outputs, batch.targets, batch.mask)
            if not finite(per_sample.detach()):
                row = int((~torch.isfinite(per_sample)).nonzero()[0])
                raise ValueError(f"the loss of row {row} of batch {number} is a NaN or an infinity")
            self.total_loss += float(per_sample.detach().double().sum())
            if self.needs & {"loss_outer", "weight_gradient"}:
                self._add_loss(uses, _gradients(per_sample.sum(), uses, keep=by_output), batch.mask)
        if by_output:
            self._add_outputs(batch.mask, outputs, uses, first)

    def result(self, weight_decay: float | None) -> Measurement:
        """The measurement, once all batches are in."""
        measured = {}
        for name, layer in self.now.layers.items():
            sums = {
                key: single((total if key == "weight_gradient" else mirrored(total)) / self.n)
                for key, total in self.sums[name].items()
            }
            for key, total in sums.items():
                if not finite(total):
                    raise ValueError(f"layer {name!r}: the sum for {key} overflowed or met a NaN gradient")
            measured[name] = LayerMeasures(
                name=name,
                n=self.n,
                weight=_weight(layer),
                sums=sums,
                weight_decay=weight_decay,
                initial_weight=None if self.before is None else _weight(self.before.layers[name]),
            )
        mean_loss = self.total_loss / self.n if "loss" in self.needs else None
        return Measurement(layers=measured, n=self.n, outputs=self.outputs, loss=mean_loss)

    def _settle(self, batch: Batch) -> None:
        """Decide by the first batch what can be measured, and make room for it."""
        of_loss = {"loss_outer", "weight_gradient"}
        if batch.targets is not None:
            self.needs = self.needs | {"loss"}
        elif self.needs & of_loss:
            if self.insist:
                raise ValueError("enfa, fact and virtual_shift are of the loss: targets y are needed")
            self.needs = self.needs - of_loss
        for name, layer in self.now.layers.items():
            W = matrices(layer, layer.weight)
            G, k, d = W.shape
            shapes = {"ptk": (k, k), "centered_ptk": (k, k), "loss_outer": (k, k), "weight_gradient": (k, d)}
            self.sums[name] = {key: empty(G, *shape, like=W) for key, shape in shapes.items() if key in self.needs}

    def _add_loss(self, uses: list[Use], gradients: Sequence[Tensor | None], mask: Tensor | None) -> None:
        outer = _Fresh()
        for use, g in zip(uses, gradients, strict=True):
            if g is None:  # the loss does not depend on this call
                continue
            layer, g = self.now.layers[use.layer], widened(g)
            if "loss_outer" in self.needs:
                outer.add(use.layer, rows(layer, g, mask))
            if "weight_gradient" in self.needs:
                if use.input._version != use.version:
                    raise ValueError(f"the input of layer {use.layer!r} is changed in place after its use")
                total = weight_gradient(layer, widened(use.input), g, mask)
                self.sums[use.layer]["weight_gradient"] += total
        outer.into(self.sums, "loss_outer")

    def _first(self, batch: Batch, number: int, outputs: Tensor, uses: list[Use]) -> _Run | None:
        """The same with the initial weights, where its derivatives are needed, or its weights come of a call."""
        if self.before is None:
            return None
        centred = "centered_ptk" in self.needs
        if not centred and (number or not any(computed(layer) for layer in self.before.layers.values())):
            return None
        outputs0, uses0 = self.before.run(batch, number)
        if outputs0.shape != outputs.shape or [u.layer for u in uses0] != [u.layer for u in uses]:
            raise ValueError("with the initial weights the model calls other layers or gives other outputs")
        return (outputs0, uses0) if centred else None

    def _add_outputs(self, mask: Tensor | None, outputs: Tensor, uses: list[Use], before: _Run | None) -> None:
        flat = outputs.reshape(len(outputs), -1)
        centred = before is not None
        outputs0, uses0 = before or (outputs, uses)
        first = outputs0.reshape(len(outputs0), -1)
        ptk, centered = _Fresh(), _Fresh()
        for o in range(flat.shape[1]):
            more = o < flat.shape[1] - 1
            gradients = _gradients(flat[:, o].sum(), uses, keep=more)
            if "ptk" in self.needs:
                for use, g in zip(uses, gradients, strict=True):
                    if g is not None:  # this output depends on this call
                        ptk.add(use.layer, rows(self.now.layers[use.layer], widened(g), mask))
            if centred:
                for use, g, g0 in zip(uses, gradients, _gradients(first[:, o].sum(), uses0, keep=more), strict=True):
                    if g is not None and g0 is not None:
                        moved = widened(g) - widened(g0)
                        centered.add(use.layer, rows(self.now.layers[use.layer], moved, mask))
        ptk.into(self.sums, "ptk")
        centered.into(self.sums, "centered_ptk")


class _Fresh:
    """One batch's sums of outer products by layer, in the precision of its gradients."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}

    def add(self, name: str, z: Tensor) -> None:
        """Add the outer products of the rows of ``z`` (groups, rows, k)."""
        if name not in self.totals:
            self.totals[name] = z.new_zeros(z.shape[0], z.shape[2], z.shape[2])
        add_symmetric(self.totals[name], z, z)

    def into(self, sums: dict[str, dict[str, Tensor]], key: str) -> None:
        """Add to the float64 sums over the data set."""
        for name, total in self.totals.items():
            sums[name][key] += total


def _gradients(of: Tensor, uses: list[Use], keep: bool) -> Sequence[Tensor | None]:
    # of a scalar: for vectors with given seeds torch first imports its symbolic shapes, which takes two seconds
    edges = [use.edge for use in uses if use.edge is not None]
    return torch.autograd.grad(of, edges, retain_graph=keep, allow_unused=True)


def _weight(layer: Layer) -> Tensor:
    return single(matrices(layer, layer.weight).double().clone())
