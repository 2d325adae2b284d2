"""What paper D plots of the five hidden layers that end its networks: NC1 through their parts, and the NFA."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import gramlab
from gramlab.losses import signed_mse
from gramlab.streams import stream
from tasks.measuring.run import Run

# where a network keeps those layers and the readout after them; an MLP is nothing else
HEADS = {"mlp": "", "resnet18": "fc", "vgg11": "head"}
ARMS = {"small": "claim", "large": "control: large initialisation"}
AUTHORS = "control: traces divided as in the authors' code"
SHUFFLED, TURNED = "control: labels shuffled at the measure", "control: the AGOPs' eigenvectors drawn at random"
TRACES = ("within", "between", "nfa", "nfa/null", "train_loss")  # what the rule on these figures reads
CLASSES = ("within", "between", "train_loss")  # of these, what depends on the labels
NULLS = 40  # random matrices of the same spectra


def collapse(run: Run) -> Iterator[dict]:
    """Rows by data set (case), arm, seed and epoch (x) on the training set; of each hidden layer 1, 2, …

        nc1/input, nc1/projected, nc1/output   tr(S_W)/tr(S_B) of h, of S V^T h, of sigma(U S V^T h)
        nfa                                    Pearson of W^T W with the AGOP's square root

    of all of them

        fall/projection, fall/activation       what both parts take from log NC1, summed over the layers
        nfa/mean                               the mean of their nfa
        within, between                        tr(S_W)/tr(S_T), tr(S_B)/tr(S_T) of the last one's output
        nfa/null                               at the end: 97.5 % quantile of it for random matrices of the same spectra

    and the losses. tr(S_T) is computed by itself, so that within + between = 1 tests all three. The authors' code
    divides the sums within classes and in total by classes x n instead of n, and those between by classes. With labels
    shuffled, features do not collapse to classes, and the loss does not fall; with other eigenvectors of each AGOP
    its correlation is what the paper calls trivial.
    """
    for variant, one in run.variants.items():
        part, source = one.settings.part, one.data.source
        case = f"{part} ({source})" if source == "digits" else part  # what stands for it at the quick scale
        own = (row for row in run.history if row["case"] == variant and row["quantity"] == "train_loss")
        for row in chain(_measured(run.key, variant, one), _losses(_arm(variant), own)):
            # a control by its data set too: it must be rejected on each
            yield {**row, "case": case, "arm": row["arm"] if row["arm"] == "claim" else f"{row['arm']}, {part}"}


def _arm(variant: str) -> str:
    """Variants are named after their data set and how they begin: "MNIST small"."""
    return ARMS[variant.rpartition(" ")[2]]


def _measured(key: str, variant: str, run: Run) -> Iterator[dict]:
    arm = _arm(variant)
    x, labels = run.data.numbers(run.data.x_train, torch.float32), run.data.y_train
    place = HEADS[run.settings.model.kind]
    for epoch in run.epochs:
        for seed in run.seeds:
            model = run.model(epoch, seed)
            head = model.get_submodule(place)
            h = x.flatten(1) if head is model else _given(model, x, f"{place}.0")
            null = stream(key, "null", variant, seed)
            about = {"seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
            found = list(_through(head, h, labels, null if epoch == run.epochs[-1] else None))
            for row in found:
                if arm == "claim" or "arm" not in row:
                    yield {**about, **row, "arm": row.get("arm", arm)}
            if arm == "claim":
                order = stream(key, "shuffled", seed).permutation(len(labels))
                shuffled = list(_classes(head, h, labels[torch.from_numpy(order)]))
                for row in (one for one in found if one["quantity"] in TRACES and "arm" not in one):
                    wrong = run.data.classes if row["quantity"] == "between" else 1
                    yield {**about, **row, "arm": AUTHORS, "value": wrong * row["value"]}
                    if row["quantity"] not in CLASSES:
                        yield {**about, **row, "arm": SHUFFLED}
                    if row["quantity"] != "nfa":
                        yield {**about, **row, "arm": TURNED}
                for row in shuffled:
                    yield {**about, **row, "arm": SHUFFLED}


def _losses(arm: str, history: Iterable[dict]) -> Iterator[dict]:
    for row in history:
        for each in (arm, AUTHORS, TURNED) if arm == "claim" else (arm,):
            yield {**row, "arm": each}


def _given(model: nn.Module, x: Tensor, layer: str) -> Tensor:
    return gramlab.features(model, x, [layer])[layer]


def _through(head: Any, h: Tensor, labels: Tensor, null: np.random.Generator | None) -> Iterator[dict]:
    parts = gramlab.denoising(head, h, labels)
    falls = np.zeros(2)
    for layer, one in enumerate(parts.values(), 1):
        nc1 = {"input": one.input.nc1, "projected": one.projected.nc1, "output": one.output.nc1}
        falls -= np.diff(np.log([*nc1.values()]))
        for name, value in nc1.items():
            yield {"layer": str(layer), "quantity": f"nc1/{name}", "value": value}
    yield from (row for row in _classes(head, h, labels) if row["quantity"] != "train_loss")  # history has that
    for name, fall in zip(("projection", "activation"), falls, strict=True):
        yield {"quantity": f"fall/{name}", "value": float(fall)}
    measured = gramlab.measure(head, h, layers=list(parts), quantities=["gram", "ptk"])
    pairs = [(layer.gram, *_root(layer.ptk, head.get_submodule(name).weight)) for name, layer in measured.items()]
    nfa = [gramlab.pearson(gram, (frame * size) @ frame.mT) for gram, size, frame in pairs]
    for layer, value in enumerate(nfa, 1):
        yield {"layer": str(layer), "quantity": "nfa", "value": value}
    yield {"quantity": "nfa/mean", "value": float(np.mean(nfa))}
    if null is None:
        return
    drawn = np.array([[gramlab.pearson(gram, turned(size, len(gram), null)) for gram, size, _ in pairs]
                      for _ in range(NULLS)])  # fmt: skip
    yield {"quantity": "nfa/null", "value": float(np.quantile(drawn.mean(1), 0.975))}
    for layer, value in enumerate(drawn[0], 1):
        yield {"layer": str(layer), "quantity": "nfa", "value": float(value), "arm": TURNED}


def _root(ptk: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues other than 0 of (W^T K W)^{1/2}, the AGOP's root, (r,), and its eigenvectors (d, r)."""
    _, size, frame = torch.linalg.svd(gramlab.psd_power(ptk, 0.5) @ weight.detach().double(), full_matrices=False)
    return size, frame.mT


def nulls(
    matrices: dict[str, Tensor], gram: Tensor, random: np.random.Generator,
    alike: Callable[[Tensor, Tensor], float] = gramlab.pearson,
) -> dict[str, float]:  # fmt: skip
    """Each matrix's correlation with a random one of the Gram's spectrum: its 97.5 % quantile. All are (d, d)."""
    size = torch.linalg.eigvalsh(gram)
    size = size[size > len(size) * torch.finfo(size.dtype).eps * size[-1]]  # the directions of a 0 make no difference
    drawn = []
    for _ in range(NULLS):
        other = turned(size, len(gram), random)
        drawn.append([alike(matrix, other) for matrix in matrices.values()])
    return dict(zip(matrices, np.quantile(drawn, 0.975, axis=0).tolist(), strict=True))


def turned(size: Tensor, d: int, random: np.random.Generator) -> Tensor:
    """The same spectrum in uniformly random directions, (d, d)."""
    frame, _ = torch.linalg.qr(torch.from_numpy(random.normal(size=(d, len(size)))).to(size.device))
    return (frame * size) @ frame.mT


def _classes(head: Any, h: Tensor, labels: Tensor) -> Iterator[dict]:
    *_, (name, readout) = ((name, part) for name, part in head.named_modules() if isinstance(part, nn.Linear))
    features = _given(head, h, name)
    found = gramlab.neural_collapse(features, labels)
    total = float((features.double() - features.double().mean(0)).square().sum()) / len(features)
    yield {"quantity": "within", "value": found.within / total}
    yield {"quantity": "between", "value": found.between / total}
    with torch.no_grad():
        yield {"quantity": "train_loss", "value": float(signed_mse(readout(features), labels).mean())}
