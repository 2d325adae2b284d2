"""C.tab2, C.fig3, C.fig8, C.fig9, C.fig10: correlations of weight Grams with FACT, AGOP and eNFA.

Pearson correlations over all entries: of W^T W with FACT, AGOP and eNFA at a layer's input, and of W W^T with their
backward forms at its output. The control computes FACT and eNFA from the training labels in random order. After
training each correlation has a null: the correlation with the Gram's spectrum in random directions. ``stationarity`` is
||grad_W L_lambda|| / (lambda ||W||), which is 0 where W^T W = FACT. It is measured at every epoch, too.
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

import gramlab
from gramlab.losses import LOSSES
from gramlab.measures.results import LayerMeasures
from gramlab.streams import stream
from tasks.measuring.invariants import check_forms, check_network, check_shared_spectrum, error_context
from tasks.measuring.nulls import nulls
from tasks.measuring.roots import root_of_product
from tasks.measuring.run import Run

ARMS = ("claim", "control: shuffled labels")
CORRECTED = " corrected"  # ends the name of a variant of the corrected form
SIDES = {"": "gram", "back_": "back_gram"}


def first_layer(run: Run) -> Iterator[dict]:
    """Rows of Table 2: pearson/NAME of the first layer after training by column (case), seed and arm; the history."""
    for name, variant in run.variants.items():
        for seed in variant.seeds:
            for arm in ARMS[:1] if name + CORRECTED in run.variants else ARMS:  # each column has the control once
                epoch = variant.epochs[-1]
                rows = partial(correlations, variant, seed, epoch, arm, ["0"])
                for row in variant.part(epoch, seed, arm, measure=rows):
                    yield {**row, **_column(name, arm)}
    yield from ({**row, **_column(row["case"], ARMS[0])} for row in run.history)


def _column(variant: str, arm: str) -> dict[str, str]:
    """The column of Table 2 and the arm of a variant."""
    form = "corrected" if variant.endswith(CORRECTED) and arm == ARMS[0] else arm
    return {"case": variant.removesuffix(CORRECTED), "arm": form}


def correlations(run: Run, seed: int, epoch: int, arm: str, layers: list[str] | None = None) -> Iterator[dict]:
    """Rows pearson/NAME by layer of this seed's network after this epoch; null/NAME too after the last epoch."""
    x, y = run.data.scaled(run.data.x_train, torch.float32).flatten(1), run.labels(seed)
    if arm != ARMS[0]:
        y = y[torch.from_numpy(stream(run.key, "shuffled", seed).permutation(len(y)))]
    model = run.model(epoch, seed)
    measured = gramlab.measure(model, x, y, loss=run.settings.loss, layers=layers,
                               weight_decay=run.settings.weight_decay, batch_size=8192)  # fmt: skip
    place = {"arm": arm, "seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
    for name, layer in measured.items():
        with error_context(arm=arm, epoch=epoch, seed=seed, layer=name):
            check_shared_spectrum(layer.fact, layer.back_fact)
            check_forms(layer)
        labels = {**place, "layer": name}
        for side, gram_name in SIDES.items():
            gram, matrices = getattr(layer, gram_name), features(layer, side)
            values = {"pearson": {feature: gramlab.pearson(matrix, gram) for feature, matrix in matrices.items()}}
            if epoch == run.epochs[-1]:
                values["null"] = nulls(matrices, gram, stream(run.key, "null", seed, name, side))
            for kind, by_feature in values.items():
                for feature, value in by_feature.items():
                    yield {**labels, "quantity": f"{kind}/{side}{feature}", "value": value}
    if arm == ARMS[0]:
        if epoch == run.epochs[-1] and seed == run.seeds[0]:
            with error_context(epoch=epoch, seed=seed):
                check_network(model, x, y, run.settings.loss, run.settings.weight_decay, stream(run.key, "other units"))
        for name, value in stationarity(model, x, y, run.settings.loss, run.settings.weight_decay).items():
            if name in measured:
                yield {**place, "layer": name, "quantity": "stationarity", "value": value}


def stationarity(model: nn.Module, x: Tensor, y: Tensor, loss: str, weight_decay: float) -> dict[str, float]:
    """||grad_W L_lambda|| / (lambda ||W||) of every linear layer by name, at the loss of all samples."""
    weights = {name.removesuffix(".weight"): W for name, W in model.named_parameters() if W.ndim == 2}
    gradients = [weight_decay * W.detach() for W in weights.values()]
    for inputs, targets in zip(x.split(8192), y.split(8192), strict=True):
        total = LOSSES[loss](model(inputs.to(next(iter(weights.values())).dtype)), targets).sum() / len(x)
        for gradient, part in zip(gradients, torch.autograd.grad(total, [*weights.values()]), strict=True):
            gradient += part
    return {
        name: float(gradient.norm() / (weight_decay * W.detach().norm()))
        for (name, W), gradient in zip(weights.items(), gradients, strict=True)
    }


def features(layer: LayerMeasures, side: str) -> dict[str, Tensor]:
    """The matrices that Table 2 and Figures 3 and 9 compare with the weight's Gram."""
    fact, agop, enfa = (getattr(layer, side + name) for name in ("fact", "agop", "enfa"))
    k, d = layer.weight.shape
    if side or k >= d:
        roots = [gramlab.psd_power(matrix, 0.5) for matrix in (fact @ fact.T, agop, enfa)]
    else:  # FACT FACT^T, AGOP and eNFA are W^T K W, the latter with K their backward form
        _, G = layer.factor("scaled_gradient", "fact")
        spectra = [root_of_product(layer.weight, K) for K in (G @ G.T, layer.back_agop, layer.back_enfa)]
        roots = [(vectors * values) @ vectors.T for values, vectors in spectra]
    return {
        "fact": fact, "symmetric fact": roots[0], "agop": agop, "root agop": roots[1], "enfa": enfa,
        "root enfa": roots[2],
    }  # fmt: skip
