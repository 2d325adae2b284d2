"""Rows of the atlas's table for a cell: the scores of every law for every target, with nulls, and facts of networks."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gramlab
from gramlab.data import DataSet, prepare
from gramlab.data.polynomials import chain_monomial_egop
from gramlab.losses import LOSSES
from gramlab.nets.models import samples_for
from gramlab.streams import stream
from tasks.atlas.cells import Cell, seeds
from tasks.atlas.laws import LAWS, RANDOM, Law, badge
from tasks.atlas.layer import Layer
from tasks.atlas.measuring.kernel import error_on_test, kernel_error
from tasks.atlas.measuring.networks import network
from tasks.atlas.measuring.scores import Rotations, haar, scores
from tasks.atlas.measuring.standstill import OTHER_REST, distance_from_rest
from tasks.atlas.measuring.training import Snapshot, layer_names, train

SIDES = ("forward", "backward")
SCRAMBLES = 5  # random rotations of a layer's signals
KERNEL_ERRORS: dict[tuple[str, int], float] = {}  # by group and seed: a group's cells start from the same networks


def measure(cell: Cell) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train a cell's networks and measure them.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    scores : list of dict
        Rows of `tasks.atlas.table`.
    facts : list of dict
        Rows of a gramlab table: losses, accuracies, the test errors of the networks ("test_error") and of their
        kernels at initialisation ("kernel_test_error"), a layer's "stationarity" and "averaged_stationarity", and its
        "distance_from_rest" for optimizers that do not rest at critical points. For the chain monomial also the
        cosines of the first layer's WᵀW and AGOP with the target's EGOP.
    """
    data, model = problem(cell)
    snapshots, facts = train(cell, model, data, seeds())
    score_rows: list[dict[str, Any]] = []
    for seed in range(seeds()):
        rotations: dict[tuple[str, str], Rotations] = {}
        first = snapshots[0].network(model, seed)
        for snapshot in snapshots:
            layers = layers_of(cell, snapshot, model, first, data, seed)
            is_end = snapshot.step in (snapshots[0].step, snapshots[-1].step)
            score_rows += _score_rows(cell, layers, seed, snapshot.step, rotations, is_end)
            facts += _fact_rows(cell, layers, snapshot.network(model, seed), data, seed, snapshot.step)
        if len(data.x_test):
            if (cell.group, seed) not in KERNEL_ERRORS:
                KERNEL_ERRORS[cell.group, seed] = kernel_error(first, data)
            facts.append({"seed": seed, "quantity": "kernel_test_error", "value": KERNEL_ERRORS[cell.group, seed]})
    return score_rows, facts


def problem(cell: Cell) -> tuple[DataSet, nn.Module]:
    """The data and the architecture of a cell."""
    options = dict(cell.shared.data)
    data = prepare(options.pop("source"), Path(), **options)
    return data, network(shape=tuple(data.x_train.shape[1:]), outputs=data.outputs, **cell.shared.model)


def layers_of(
    cell: Cell, snapshot: Snapshot, model: nn.Module, first: nn.Module, data: DataSet, seed: int
) -> dict[tuple[str, str], Layer]:
    """The data that the laws read of each layer of a seed's network, by the layer's name and the side.

    Parameters
    ----------
    cell : Cell
    snapshot : Snapshot
    model : nn.Module
        The architecture.
    first : nn.Module
        The seed's network at initialisation.
    data : DataSet
    seed : int

    Returns
    -------
    dict of (str, str) to Layer
    """
    trained = snapshot.network(model, seed)
    x, y = samples_for(model, data.scaled(data.x_train, torch.float64)), data.y_train
    weights = data.weight_train
    names = layer_names(model)
    inputs_and_gradients = _inputs_and_gradients(trained, x, y, cell.shared.loss, names)
    layers: dict[tuple[str, str], Layer] = {}
    ptk = _kernels(trained, x, names, weights)
    for name, side in product(names, SIDES):
        h, g = inputs_and_gradients[name]
        if weights is not None:  # rows of a weighted population count by their probabilities
            scale = (len(x) * weights).sqrt().repeat_interleave(len(h) // len(x))[:, None]
            h, g = h * scale, g * scale
        sums = {key: value[seed] for (sum_side, key), value in snapshot.sums.get(name, {}).items() if sum_side == side}
        W, W0 = (net.get_parameter(f"{name}.weight").detach().flatten(1) for net in (trained, first))
        layers[name, side] = Layer(W, W0, h, g, ptk[name], len(x), cell.weight_decay, side, sums)
    for (name, side), layer in layers.items():
        later = names[names.index(name) + 1 :] + names[: names.index(name)]
        twin = next((other for other in later if layers[other, side].gram.shape == layer.gram.shape), None)
        if twin is not None:
            layers[name, side] = replace(layer, other_W=layers[twin, side].W, other_ptk=ptk[twin])
    return layers


def _inputs_and_gradients(
    model: nn.Module, x: Tensor, y: Tensor, loss: str, names: list[str]
) -> dict[str, tuple[Tensor, Tensor]]:
    """The inputs h (rows, d) of the layers, and the gradients ∇_z l (rows, k) of each sample's loss."""
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(name: str) -> Any:
        def hook(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
            output.retain_grad()
            seen[name] = inputs[0], output

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    LOSSES[loss](model(x.clone().requires_grad_()), y).sum().backward()
    for handle in handles:
        handle.remove()
    rows = {}
    for name, (h, z) in seen.items():
        module = model.get_submodule(name)
        assert z.grad is not None
        if isinstance(module, nn.Conv2d):
            patches = F.unfold(h.detach(), module.kernel_size, module.dilation, module.padding, module.stride)  # type: ignore[arg-type]
            rows[name] = patches.mT.flatten(0, 1), z.grad.flatten(2).mT.flatten(0, 1)
        else:
            rows[name] = h.detach().flatten(0, -2), z.grad.flatten(0, -2)
    return rows


def _kernels(model: nn.Module, x: Tensor, names: list[str], weights: Tensor | None) -> dict[str, Tensor]:
    """K of the layers. Samples of a weighted population count by their probabilities."""
    scale = 1.0 if weights is None else (len(x) * weights).sqrt()[:, None]
    measured = gramlab.measure(model, x, layers=names, quantities=["ptk"], outputs="exact",
                               forward=lambda network, inputs: network(inputs) * scale)  # fmt: skip
    return {name: layer.ptk for name, layer in measured.items()}


def _score_rows(
    cell: Cell, layers: dict[tuple[str, str], Layer], seed: int, step: int,
    rotations: dict[tuple[str, str], Rotations], is_end: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The rows of the table for all layers of a network at a snapshot."""
    depths = {name: depth for depth, name in enumerate(dict.fromkeys(name for name, _ in layers))}
    for (name, side), layer in layers.items():
        if side == "backward" and not is_end:
            continue  # the curves along training show the forward side alone
        if (name, side) not in rotations:
            rotations[name, side] = Rotations(len(layer.gram), stream("atlas", cell.name, seed, name, side, "null"))
        layer_rotations = rotations[name, side]
        matrices = {law: law.matrix(layer) for law in LAWS}
        scrambled = [
            {law: law.matrix(copy) for law in LAWS if not law.from_start and not law.control and not law.of_history}
            for copy in (_scrambles(cell, layer, seed, name, side) if is_end else ())
        ]
        for target_name, target in (("gram", layer.gram), ("change", layer.change)):
            if float(target.norm()) <= 1e-9 * float(layer.gram.norm()):
                continue  # without a change no correlation is defined
            matrices[RANDOM] = layer_rotations.random_entrant(target)
            law_scores = scores(_matrices_for(matrices, layer, target_name), target, layer_rotations.rotated(target))
            copies = [scores(_matrices_for(copy, layer, target_name), target, None) for copy in scrambled]
            for law in (law for law in LAWS if law.name in law_scores):
                copy_scores = [by_law[law.name] for by_law in copies if law.name in by_law]
                means = {f"scrambled_{score}": sum(by_score[score] for by_score in copy_scores) / len(copy_scores)
                         for score in (copy_scores[0] if copy_scores else ())}  # fmt: skip
                yield {"cell": cell.name, "seed": seed, "layer": name, "depth": depths[name], "step": step,
                       "side": side, "target": target_name, "entrant": law.name,
                       "badge": badge(law, cell.optimizer, cell.weight_decay, step),
                       **law_scores[law.name], **means}  # fmt: skip


def _matrices_for(matrices: dict[Law, Tensor | None], layer: Layer, target: str) -> dict[str, Tensor]:
    """The laws' matrices for a target, by the law's name, without undefined and zero matrices."""
    by_law = {}
    for law, matrix in matrices.items():
        if matrix is not None and law.from_start and target == "change":
            matrix = matrix - layer.initial_gram
        if matrix is not None and float(matrix.norm()) > 1e-12 * float(layer.gram.norm()):
            by_law[law.name] = matrix
    return by_law


def _scrambles(cell: Cell, layer: Layer, seed: int, name: str, side: str) -> list[Layer]:
    """Copies of a layer with randomly rotated signals."""
    draw = stream("atlas", cell.name, seed, name, side, "scramble")
    return [layer.scrambled(haar(len(layer.W), draw)) for _ in range(SCRAMBLES)]


def _fact_rows(
    cell: Cell, layers: dict[tuple[str, str], Layer], network: nn.Module, data: DataSet, seed: int, step: int
) -> Iterator[dict[str, Any]]:
    """Rows of the other numbers of a network at a snapshot."""
    labels = {"seed": seed, "step": step}
    if len(data.x_test):
        with torch.no_grad():
            outputs = network(samples_for(network, data.scaled(data.x_test, torch.float64)))
        yield {**labels, "quantity": "test_error", "value": error_on_test(outputs, data)}
    for (name, side), layer in layers.items():
        if side != "forward":
            continue
        if cell.weight_decay:
            pull = cell.weight_decay * layer.W
            value = float((layer.weight_gradient + pull).norm() / pull.norm())
            yield {**labels, "layer": name, "quantity": "stationarity", "value": value}
            if cell.optimizer in OTHER_REST:
                value = distance_from_rest(cell.optimizer, layer.W, layer.weight_gradient, cell.weight_decay)
                yield {**labels, "layer": name, "quantity": "distance_from_rest", "value": value}
        if cell.shared.data["source"] == "chain_monomial" and name == next(iter(layers))[0]:
            egop = torch.from_numpy(chain_monomial_egop(np.eye(data.inputs), cell.shared.data["rank"]))
            for quantity, matrix in (("egop_gram", layer.gram), ("egop_agop", layer.agop)):
                yield {**labels, "layer": name, "quantity": quantity, "value": gramlab.cosine(matrix, egop)}
