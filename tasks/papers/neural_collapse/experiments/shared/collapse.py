"""What paper D plots of the five hidden layers at the end of its networks: NC1 through their parts, and the NFA.

The paper does not define its "initialization" g (Appendix C). In the authors' code g is the gain of Xavier's uniform
initialisation, for all five layers of an MLP and for the last four of the other networks; the readout keeps torch's
default. ``init_scale`` in params.yaml multiplies torch's default U(±1/√k) for k inputs, so that it is
g √(6k / (k + k')) for k' outputs: √3 g in square layers. The paper has no large initialisation; here it is g = √2.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import gramlab
from gramlab.losses import signed_mse
from gramlab.streams import stream
from tasks.measuring.nulls import DRAWS, in_random_directions
from tasks.measuring.run import Run

HEADS = {"mlp": "", "resnet18": "fc", "vgg11": "head"}  # the module with those layers and the readout after them
ARMS = {"small": "claim", "large": "control: large initialisation"}
AUTHORS = "control: traces divided as in the authors' code"
SHUFFLED, TURNED = "control: labels shuffled at the measure", "control: the AGOPs' eigenvectors drawn at random"
JUDGED = ("within", "between", "nfa", "nfa/null", "train_loss")  # quantities that the claims on Figures 10 to 12 judge
OF_LABELS = ("within", "between", "train_loss")  # those of them that depend on the labels


def collapse(run: Run) -> Iterator[dict]:
    """Rows by data set (case), arm, seed and epoch (x) on the training set. For each hidden layer 1, 2, …

        nc1/input, nc1/projected, nc1/output   tr(S_W)/tr(S_B) of h, of S V^T h, of sigma(U S V^T h)
        nfa                                    Pearson correlation of W^T W with the square root of the AGOP

    for all layers together

        fall/projection, fall/activation       what S V^T and the activation take from log NC1, summed over the layers
        nfa/mean                               mean of nfa over the layers
        within, between                        tr(S_W)/tr(S_T), tr(S_B)/tr(S_T) of the last layer's output
        nfa/null                               at the end: 97.5 % quantile of nfa/mean for random matrices with the
                                               same spectra

    and the losses. tr(S_T) is computed independently, so that within + between = 1 tests all three traces. Controls: a
    large initialisation; the traces of the authors' code, which divides the sums within classes and in total by
    classes x n instead of n, and the sum between classes by the number of classes; shuffled labels, to which features
    do not collapse and for which the loss does not fall; and AGOPs with random eigenvectors, whose correlation is what
    the paper calls trivial.
    """
    for name, variant in run.variants.items():
        part, source = variant.settings.part, variant.data.source
        case = f"{part} ({source})" if source == "digits" else part  # at the quick scale digits stand for the data set
        arm = ARMS[name.rpartition(" ")[2]]  # a variant's name is its data set and its initialisation: "MNIST small"
        losses = (row for row in run.history if row["case"] == name and row["quantity"] == "train_loss")
        for row in chain(_measurements(run.key, name, variant, arm), _losses(arm, losses)):
            # a control has an arm for each data set, since it must be rejected on each
            yield {**row, "case": case, "arm": row["arm"] if row["arm"] == "claim" else f"{row['arm']}, {part}"}


def _measurements(key: str, name: str, run: Run, arm: str) -> Iterator[dict]:
    """Rows of one variant, and of the controls that are measured on the same networks."""
    x, labels = run.data.numbers(run.data.x_train, torch.float32), run.data.y_train
    head_name = HEADS[run.settings.model.kind]
    for epoch in run.epochs:
        for seed in run.seeds:
            model = run.model(epoch, seed)
            head = model.get_submodule(head_name)
            h = x.flatten(1) if head is model else _inputs(model, x, f"{head_name}.0")
            draw = stream(key, "null", name, seed)
            labelled = {"seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
            rows = list(_of_head(head, h, labels, draw if epoch == run.epochs[-1] else None))
            for row in rows:
                if arm == "claim" or "arm" not in row:
                    yield {**labelled, **row, "arm": row.get("arm", arm)}
            if arm == "claim":
                yield from ({**labelled, **row} for row in _controls(rows, run.data.classes))
                order = stream(key, "shuffled", seed).permutation(len(labels))
                for row in _of_classes(head, h, labels[torch.from_numpy(order)]):
                    yield {**labelled, **row, "arm": SHUFFLED}


def _controls(rows: list[dict], classes: int) -> Iterator[dict]:
    """The judged rows again in the arms of the controls, where the control does not measure its own."""
    for row in rows:
        if row["quantity"] in JUDGED and "arm" not in row:
            factor = classes if row["quantity"] == "between" else 1
            yield {**row, "arm": AUTHORS, "value": factor * row["value"]}
            if row["quantity"] not in OF_LABELS:
                yield {**row, "arm": SHUFFLED}
            if row["quantity"] != "nfa":
                yield {**row, "arm": TURNED}


def _losses(arm: str, history: Iterable[dict]) -> Iterator[dict]:
    for row in history:
        for name in (arm, AUTHORS, TURNED) if arm == "claim" else (arm,):
            yield {**row, "arm": name}


def _inputs(model: nn.Module, x: Tensor, layer: str) -> Tensor:
    """A layer's inputs for all samples."""
    return gramlab.features(model, x, [layer])[layer]


def _of_head(head: Any, h: Tensor, labels: Tensor, draw: np.random.Generator | None) -> Iterator[dict]:
    """NC1, the NFA and the traces of the head with inputs ``h``; with ``draw`` also the NFA of random matrices."""
    layers = gramlab.denoising(head, h, labels)
    falls = np.zeros(2)
    for number, places in enumerate(layers.values(), 1):
        nc1 = {"input": places.input.nc1, "projected": places.projected.nc1, "output": places.output.nc1}
        falls -= np.diff(np.log([*nc1.values()]))
        for place, value in nc1.items():
            yield {"layer": str(number), "quantity": f"nc1/{place}", "value": value}
    yield from (row for row in _of_classes(head, h, labels) if row["quantity"] != "train_loss")  # the history has it
    for part, fall in zip(("projection", "activation"), falls, strict=True):
        yield {"quantity": f"fall/{part}", "value": float(fall)}
    measured = gramlab.measure(head, h, layers=list(layers), quantities=["gram", "ptk"])
    pairs = [(layer.gram, *_root(layer.ptk, head.get_submodule(name).weight)) for name, layer in measured.items()]
    nfa = [gramlab.pearson(gram, (frame * size) @ frame.mT) for gram, size, frame in pairs]
    for number, correlation in enumerate(nfa, 1):
        yield {"layer": str(number), "quantity": "nfa", "value": correlation}
    yield {"quantity": "nfa/mean", "value": float(np.mean(nfa))}
    if draw is None:
        return
    null = np.array([[gramlab.pearson(gram, in_random_directions(size, len(gram), draw)) for gram, size, _ in pairs]
                     for _ in range(DRAWS)])  # fmt: skip
    yield {"quantity": "nfa/null", "value": float(np.quantile(null.mean(1), 0.975))}
    for number, correlation in enumerate(null[0], 1):
        yield {"layer": str(number), "quantity": "nfa", "value": float(correlation), "arm": TURNED}


def _root(ptk: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues other than 0 of (W^T K W)^{1/2}, the AGOP's root, (r,), and its eigenvectors (d, r)."""
    _, size, frame = torch.linalg.svd(gramlab.psd_power(ptk, 0.5) @ weight.detach().double(), full_matrices=False)
    return size, frame.mT


def _of_classes(head: Any, h: Tensor, labels: Tensor) -> Iterator[dict]:
    """The traces of the readout's inputs over their total variance, and the training loss."""
    *_, (name, readout) = ((name, part) for name, part in head.named_modules() if isinstance(part, nn.Linear))
    features = _inputs(head, h, name)
    traces = gramlab.neural_collapse(features, labels)
    total = float((features.double() - features.double().mean(0)).square().sum()) / len(features)
    yield {"quantity": "within", "value": traces.within / total}
    yield {"quantity": "between", "value": traces.between / total}
    with torch.no_grad():
        yield {"quantity": "train_loss", "value": float(signed_mse(readout(features), labels).mean())}
