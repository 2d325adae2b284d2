"""Paper D's quantities of the last five hidden layers of its networks: NC1 through the layers' parts, and the NFA.

The paper does not define its "initialization" g (Appendix C). In the authors' code g is the gain of Xavier's uniform
initialisation, for all five layers of an MLP and for the last four of the other networks; the readout keeps torch's
default. ``init_scale`` in params.yaml multiplies torch's default U(±1/√k) for k inputs, so that it is
g √(6k / (k + k')) for k' outputs, and √3 g in square layers.
"""

import copy
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import gramlab
from gramlab.losses import signed_mse
from gramlab.streams import stream
from tasks.measuring.invariants import check_rotated_collapse, check_traces, error_context
from tasks.measuring.nulls import DRAWS, collapse_nulls, in_random_directions
from tasks.measuring.roots import root_of_product
from tasks.measuring.run import Run

HEADS = {"mlp": "", "resnet18": "fc", "vgg11": "head"}  # the module with those layers and the readout after them
SHUFFLED, UNTRAINED = "control: labels shuffled at the measure", "control: before training"
RANDOM = "control: trained on random labels"
TURNED, NEXT = "control: right singular vectors drawn at random", "control: the AGOP of the next layer"
LABEL_QUANTITIES = ("within", "train_loss", "train_accuracy", "fall/projection", "fall/activation", "fall/agop",
                    "nc2/output")  # fmt: skip
RANDOM_LABEL_QUANTITIES = ("nfa/mean", "within", "train_loss")  # of networks that train on random labels
Layer = tuple[Tensor, Tensor, Tensor]  # W^T W (d, d); the AGOP's root: its eigenvalues (r,) and eigenvectors (d, r)


def collapse(run: Run) -> Iterator[dict]:
    """Rows by data set (case), arm, seed and epoch (x) on the training set. For each hidden layer 1, 2, …

        nc1/input, nc1/projected, nc1/output   tr(S_W)/tr(S_B) of h, of S V^T h, of sigma(U S V^T h)
        nc1/agop                               the same of AGOP^{1/4} h, which is like S V^T h if the NFA holds
        nc2/output                             NC2 of sigma(U S V^T h)
        nfa                                    Pearson correlation of W^T W with the square root of the AGOP

    for all layers together

        fall/projection, fall/activation       what S V^T and the activation take from log NC1, summed over the layers
        fall/agop                              what AGOP^{1/4} takes from it
        nfa/mean                               mean of nfa over the layers
        within, between                        tr(S_W)/tr(S_T), tr(S_B)/tr(S_T) of the last layer's output
        train_accuracy                         of the readout

    and the losses. After training also the values by chance

        null/nc1/..., null/within              2.5 % quantile of nc1/... and within for permuted labels
        null/nfa, nfa/null                     97.5 % quantile of nfa and nfa/mean for random matrices with the same
                                               spectra

    Controls: measurements with shuffled labels, to which features do not collapse and for which the loss does not fall;
    the falls before training; networks that train on random labels, if the run has this variant; after training, the
    falls with random right singular vectors in every W = U S V^T, and the correlation of W^T W with the AGOP of the
    next layer of the same width.
    """
    for name, variant in run.variants.items():
        part, source = variant.settings.part, variant.data.source
        case = source if source == "digits" else part  # at the quick scale the sets of all names are digits
        losses = [row for row in run.history if row["case"] == name and row["quantity"] == "train_loss"]
        for row in [*_measurements(run.key, name, variant), *({**row, "arm": "claim"} for row in losses)]:
            if variant.settings.label_noise:
                if row["arm"] != "claim" or row["quantity"] not in RANDOM_LABEL_QUANTITIES:
                    continue
                row = {**row, "arm": RANDOM}
            # each data set has an arm of the control, because the rule must reject the control on each
            yield {**row, "case": case, "arm": row["arm"] if row["arm"] == "claim" else f"{row['arm']}, {case}"}


def _measurements(key: str, name: str, run: Run) -> Iterator[dict]:
    """Rows of one variant, and of the controls that are measured on the same networks."""
    for epoch in run.epochs:
        for seed in run.seeds:
            with error_context(case=name, epoch=epoch, seed=seed):
                yield from run.part(epoch, seed, measure=partial(_rows_of_network, key, name, run, epoch, seed))


def _rows_of_network(key: str, name: str, run: Run, epoch: int, seed: int) -> Iterator[dict]:
    x, labels = run.data.scaled(run.data.x_train, torch.float32), run.data.y_train
    model = run.model(epoch, seed)
    head_name = HEADS[run.settings.model.kind]
    head = model.get_submodule(head_name)
    h = x.flatten(1) if head is model else gramlab.features(model, x, [f"{head_name}.0"])[f"{head_name}.0"]
    last = epoch == run.epochs[-1]
    draw = stream(key, "null", name, seed) if last else None
    labelled = {"seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
    layers = _grams_and_roots(head, h)
    for row in _head_rows(head, h, labels, layers, draw, ends=epoch in (run.epochs[0], run.epochs[-1])):
        if row["quantity"] != "train_loss":  # the history has it
            yield {"arm": "claim", **labelled, **row}
        if epoch == run.epochs[0] and row["quantity"].startswith("fall/"):
            yield {"arm": UNTRAINED, **labelled, **row}
    for row in _chance_rows(head, h, labels, stream(key, "classes by chance", name, seed)) if last else ():
        yield {"arm": "claim", **labelled, **row}
        if row["quantity"] == "null/within":  # the same features
            yield {"arm": SHUFFLED, **labelled, **row}
    if last and seed == run.seeds[0]:
        _check_rotations(head, h, labels, stream(key, "turned features", name))
    order = torch.from_numpy(stream(key, "shuffled", seed).permutation(len(labels)))
    shuffled = labels[order]
    for row in (*_trace_rows(head, h, shuffled), *_denoising_rows(head, h, shuffled),
                *_agop_rows(head, h, shuffled, layers)):  # fmt: skip
        if row["quantity"] in LABEL_QUANTITIES:
            yield {"arm": SHUFFLED, **labelled, **row}


def _grams_and_roots(head: Any, h: Tensor) -> list[Layer]:
    """By hidden layer W^T W, the eigenvalues of the square root of the AGOP, and its eigenvectors."""
    measured = gramlab.measure(head, h, layers=_hidden(head), quantities=["gram", "ptk"])
    return [(layer.gram, *root_of_product(head.get_submodule(name).weight.detach(), layer.ptk))
            for name, layer in measured.items()]  # fmt: skip


def _head_rows(
    head: Any, h: Tensor, labels: Tensor, layers: list[Layer], draw: np.random.Generator | None, ends: bool = True
) -> Iterator[dict]:
    """NC1, the NFA and the traces of the head with inputs ``h``; with ``draw`` also the controls at the end.

    Before training and at the end (``ends``) also the correlation with the AGOP of the next layer.
    """
    yield from _denoising_rows(head, h, labels)
    yield from _agop_rows(head, h, labels, layers)
    yield from _trace_rows(head, h, labels)
    nfa = [gramlab.pearson(gram, (frame * size) @ frame.mT) for gram, size, frame in layers]
    for number, correlation in enumerate(nfa, 1):
        yield {"layer": str(number), "quantity": "nfa", "value": correlation}
    yield {"quantity": "nfa/mean", "value": float(np.mean(nfa))}
    others = [gramlab.pearson(gram, (frame * size) @ frame.mT) for gram, size, frame in _paired_with_next(layers)]
    if others and ends:
        yield {"arm": NEXT, "quantity": "nfa/mean", "value": float(np.mean(others))}
    if draw is None:
        return
    random_nfa = [[gramlab.pearson(gram, in_random_directions(size, len(gram), draw)) for gram, size, _ in layers]
                  for _ in range(DRAWS)]  # fmt: skip
    for number, by_chance in enumerate(np.quantile(random_nfa, 0.975, axis=0).tolist(), 1):
        yield {"layer": str(number), "quantity": "null/nfa", "value": by_chance}
    null = float(np.quantile(np.mean(random_nfa, axis=1), 0.975))
    yield {"quantity": "nfa/null", "value": null}
    if others:
        yield {"arm": NEXT, "quantity": "nfa/null", "value": null}
    turned = with_random_right_vectors(head, draw)
    for row in (*_denoising_rows(turned, h, labels), *_agop_rows(turned, h, labels, _grams_and_roots(turned, h))):
        if row["quantity"].startswith("fall/"):
            yield {**row, "arm": TURNED}


def _chance_rows(head: Any, h: Tensor, labels: Tensor, draw: np.random.Generator) -> Iterator[dict]:
    """nc1/... of every hidden layer and ``within`` for permuted labels."""
    names = _linear(head)
    inputs = gramlab.features(head, h, names)
    for number, (name, after) in enumerate(pairwise(names), 1):
        before = inputs[name].double()
        # U is orthogonal, so that S V^T h and the layer's own output W h have the same NC1
        places = {"input": before, "projected": before @ head.get_submodule(name).weight.detach().double().T,
                  "output": inputs[after]}  # fmt: skip
        for place, features in places.items():
            nc1 = collapse_nulls(features, labels, draw)["nc1"]
            yield {"layer": str(number), "quantity": f"null/nc1/{place}", "value": nc1}
    yield {"quantity": "null/within", "value": nc1 / (nc1 + 1)}  # tr(S_W)/tr(S_T) rises with NC1


def _paired_with_next(layers: list[Layer]) -> Iterator[Layer]:
    """W^T W of each layer with the AGOP's root of the next layer of the same width; the first follows the last."""
    for width in sorted({len(gram) for gram, _, _ in layers}):
        alike = [layer for layer in layers if len(layer[0]) == width]
        if len(alike) > 1:
            for (gram, _, _), (_, size, frame) in zip(alike, [*alike[1:], alike[0]], strict=True):
                yield gram, size, frame


def with_random_right_vectors(head: nn.Module, draw: np.random.Generator) -> nn.Module:
    """A copy of the head, with W of every hidden layer times a random rotation from the right."""
    head = copy.deepcopy(head)
    for name in _hidden(head):
        layer: Any = head.get_submodule(name)
        size = layer.weight.shape[1]
        rotation, _ = torch.linalg.qr(torch.from_numpy(draw.normal(size=(size, size))).to(layer.weight.device))
        with torch.no_grad():
            layer.weight.copy_(layer.weight.double() @ rotation)
    return head


def _hidden(head: nn.Module) -> list[str]:
    """The names of the linear layers but the readout."""
    return _linear(head)[:-1]


def _linear(head: nn.Module) -> list[str]:
    return [name for name, part in head.named_modules() if isinstance(part, nn.Linear)]


def _denoising_rows(head: Any, h: Tensor, labels: Tensor) -> Iterator[dict]:
    """NC1 of the input, of S V^T h and of the output of each hidden layer, NC2 of the output, and log NC1's falls."""
    falls = np.zeros(2)
    for number, places in enumerate(gramlab.denoising(head, h, labels).values(), 1):
        nc1 = {"input": places.input.nc1, "projected": places.projected.nc1, "output": places.output.nc1}
        falls -= np.diff(np.log([*nc1.values()]))
        for place, value in nc1.items():
            yield {"layer": str(number), "quantity": f"nc1/{place}", "value": value}
        yield {"layer": str(number), "quantity": "nc2/output", "value": places.output.nc2}
    for part, fall in zip(("projection", "activation"), falls, strict=True):
        yield {"quantity": f"fall/{part}", "value": float(fall)}


def _agop_rows(head: Any, h: Tensor, labels: Tensor, layers: list[Layer]) -> Iterator[dict]:
    """NC1 of AGOP^{1/4} times the input of each hidden layer, and the fall of log NC1 there, summed over the layers.

    The NFA says that W^T W is proportional to AGOP^{1/2}. Then S V^T h is AGOP^{1/4} h, up to a rotation and a factor.
    """
    fall = 0.0
    inputs = gramlab.features(head, h, _hidden(head)).values()
    for number, (features, (_, root, frame)) in enumerate(zip(inputs, layers, strict=True), 1):
        before, after = (gramlab.neural_collapse(part, labels).nc1
                         for part in (features.double(), features.double() @ frame * root.sqrt()))  # fmt: skip
        fall += float(np.log(before / after))
        yield {"layer": str(number), "quantity": "nc1/agop", "value": after}
    yield {"quantity": "fall/agop", "value": fall}


def _check_rotations(head: Any, h: Tensor, labels: Tensor, draw: np.random.Generator) -> None:
    """Check that rotating and scaling the inputs of every linear layer leaves NC1 and NC2 as they are."""
    for layer, features in gramlab.features(head, h, _linear(head)).items():
        with error_context(layer=layer):
            check_rotated_collapse(features, labels, draw)


def _trace_rows(head: Any, h: Tensor, labels: Tensor) -> Iterator[dict]:
    """The traces of the readout's inputs over their total variance, the training loss and the accuracy.

    Raises
    ------
    BrokenInvariant
        If tr(S_W) + tr(S_B) is not tr(S_T), which is computed without the classes.
    """
    name = _linear(head)[-1]
    readout = head.get_submodule(name)
    features = gramlab.features(head, h, [name])[name]
    traces = gramlab.neural_collapse(features, labels)
    total = float((features.double() - features.double().mean(0)).square().sum()) / len(features)
    check_traces(traces.within, traces.between, total)
    yield {"quantity": "within", "value": traces.within / total}
    yield {"quantity": "between", "value": traces.between / total}
    with torch.no_grad():
        outputs = readout(features)
    yield {"quantity": "train_loss", "value": float(signed_mse(outputs, labels).mean())}
    yield {"quantity": "train_accuracy", "value": float((outputs.argmax(1) == labels).double().mean())}
