"""Train the networks of a cell together, and accumulate the sums over steps that some laws need."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.optimize import least_squares
from torch import Tensor, nn
from torch.func import functional_call, jacfwd

from gramlab.data import DataSet
from gramlab.nets import TrainingConfig
from gramlab.nets.ensemble import Ensemble
from gramlab.nets.errors import NetError
from gramlab.nets.polar import orthogonal_factor
from gramlab.nets.stacked import Group
from tasks.atlas.cells import Cell

Key = TypeVar("Key")
MOMENTUM = 0.9  # of "momentum" and of "muon"
LAST = 100  # the gradient is averaged over so many steps at the end
NAMES = {"momentum": "sgd", "muon": "sgd", "none": "sgd"}  # the optimizer of gramlab.nets that a cell's starts from


@dataclass(frozen=True)
class Snapshot:
    """All networks of a cell after some steps.

    Attributes
    ----------
    step : int
    weights : dict of str to Tensor of shape (seeds, ...)
        By the parameter's name.
    sums : dict of str to dict of (str, str) to Tensor
        ``sums[layer][side, name]``, (seeds, d, d) or (seeds, k, k); empty without a `Follower`.
    """

    step: int
    weights: dict[str, Tensor]
    sums: dict[str, dict[tuple[str, str], Tensor]]

    def network(self, model: nn.Module, seed: int) -> nn.Module:
        """The network of one seed."""
        copied = copy.deepcopy(model)
        copied.load_state_dict({name: value[seed] for name, value in self.weights.items()})
        return copied.eval()


class Muon:
    """Orthogonalised momentum with decoupled weight decay (Jordan et al. 2024).

        B ← μB + G,   W ← (1 − γλ) W − γ √max(1, k/d) orth(μB + G)

    orth is the orthogonal factor of the matrix, by ten Newton–Schulz steps; kernels of a convolution are flat rows.
    Biases take plain gradient steps.
    """

    def __init__(self, names: Sequence[str], lr: float, weight_decay: float):
        self.names, self.lr, self.weight_decay = names, lr, weight_decay
        self.buffers: dict[tuple[int, str], Tensor] = {}

    @torch.no_grad()
    def step(self, group: Group, step: int, factor: float, gradients: Sequence[Tensor]) -> None:
        """Take one step of one group of networks."""
        rate, extra = self.lr * factor, 0 if group.is_single else 1
        for name, p, g in zip(self.names, group.parameters, gradients, strict=True):
            if p.ndim - extra < 2:
                p.sub_(rate * g)
                continue
            key = group.members.start, name
            buffer = self.buffers.setdefault(key, torch.zeros_like(g)).mul_(MOMENTUM).add_(g)
            G = (g + MOMENTUM * buffer).flatten(1 + extra)
            scale = math.sqrt(max(1.0, G.shape[-2] / G.shape[-1]))
            p.mul_(1 - rate * self.weight_decay).sub_(rate * scale * orthogonal_factor(G, "ten-steps").view_as(p))


class Follower:
    """An optimizer that accumulates the first-order terms of WᵀW and WWᵀ of every layer as it steps.

    With the steps U = W⁺ − W, the loss's gradient G, the rate γ and the decay λ,

        steps       ← steps + WᵀU + UᵀW                            the change of WᵀW, exact to first order
        shifts      ← shifts − γ (WᵀG + GᵀW)                       paper A's virtual covariance shifts
        accumulated ← (1 − 2γλ) accumulated − γ (WᵀG + GᵀW)        gradient descent's form

    The sums steps and accumulated start from W₀ᵀW₀. On the backward side Wᵀ replaces W. The numbers are float64.
    From the step ``average_from`` on, ``averaged`` sums G + λW. If a minimum lies on a kink of the loss, as ReLU has
    them, the gradient jumps between the sides of the kink from step to step, and only its mean falls to 0.
    """

    def __init__(self, optimizer: Any, names: Sequence[str], layers: Sequence[str], weights: dict[str, Tensor],
                 lr: float, weight_decay: float, average_from: float = math.inf):  # fmt: skip
        self.optimizer, self.lr, self.weight_decay = optimizer, lr, weight_decay
        self.average_from = average_from
        self.averaged = {layer: torch.zeros_like(weights[f"{layer}.weight"].flatten(2)) for layer in layers}
        self.places = {layer: list(names).index(f"{layer}.weight") for layer in layers}
        self.sums: dict[str, dict[tuple[str, str], Tensor]] = {}
        for layer in layers:
            W = weights[f"{layer}.weight"].flatten(2)
            self.sums[layer] = {}
            for side, gram in (("forward", W.mT @ W), ("backward", W @ W.mT)):
                self.sums[layer] |= {(side, "steps"): gram.clone(), (side, "accumulated"): gram.clone(),
                                     (side, "shifts"): torch.zeros_like(gram)}  # fmt: skip

    @torch.no_grad()
    def step(self, group: Group, step: int, factor: float, gradients: Sequence[Tensor]) -> None:
        """Take the optimizer's step of one group of networks, and add it to the sums."""
        before = {layer: group.parameters[place].clone() for layer, place in self.places.items()}
        self.optimizer.step(group, step, factor, gradients)
        rate = self.lr * factor
        for layer, place in self.places.items():
            W, after, G = (
                matrix.reshape(len(range(*group.members.indices(10**9))), matrix.shape[0 if group.is_single else 1], -1)
                for matrix in (before[layer], group.parameters[place], gradients[place])
            )
            U = after - W
            if step >= self.average_from:
                self.averaged[layer][group.members].add_(G).add_(W, alpha=self.weight_decay)
            for side, A, steps, pulls in (("forward", W.mT, U, G), ("backward", W, U.mT, G.mT)):
                gram, accumulated, shifts = (
                    self.sums[layer][side, name][group.members] for name in ("steps", "accumulated", "shifts")
                )
                moved, pulled = A @ steps, A @ pulls
                gram.add_(moved).add_(moved.mT)
                accumulated.mul_(1 - 2 * rate * self.weight_decay)
                for total in (accumulated, shifts):
                    total.add_(pulled, alpha=-rate).add_(pulled.mT, alpha=-rate)


def layer_names(model: nn.Module) -> list[str]:
    """The linear and convolutional layers, in the model's order."""
    return [name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]


def train(cell: Cell, model: nn.Module, data: DataSet, seeds: int) -> tuple[list[Snapshot], list[dict[str, Any]]]:
    """Train all seeds of a cell on full batches; the learning rate falls to 0 along a cosine.

    Parameters
    ----------
    cell : Cell
    model : nn.Module
        The architecture, in float64.
    data : DataSet
    seeds : int

    Returns
    -------
    snapshots : list of Snapshot
    history : list of dict
        Losses and accuracies, and with decay a layer's "averaged_stationarity", ‖mean of G + λW‖ / ‖λW‖ over the last
        `LAST` steps: rows of a gramlab table.

    Raises
    ------
    Diverged
        If a loss is not a finite number.
    """
    if cell.optimizer == "least squares":
        return _minimise(cell, model, data, seeds)
    config = TrainingConfig(
        loss=cell.shared.loss, optimizer=NAMES.get(cell.optimizer, cell.optimizer), lr=cell.lr, batch=None,
        momentum=MOMENTUM if cell.optimizer == "momentum" else 0.0, weight_decay=cell.weight_decay,
        init=cell.shared.init, init_scale=cell.shared.init_scale, epochs=cell.last_step, dtype="float64",
        name=("atlas", cell.group),
    )  # fmt: skip
    ensemble = Ensemble(model, data, config, seeds, "cpu")
    names, layers, weights = ensemble.stacked.names, layer_names(model), ensemble.stacked.values
    optimizer: Any = ensemble.optimizer
    if cell.optimizer == "muon":
        optimizer = Muon(names, cell.lr, cell.weight_decay)
    average_from = max(cell.last_step - LAST, 0)
    follower = Follower(optimizer, names, layers, weights, cell.lr, cell.weight_decay, average_from)
    ensemble.optimizer = follower  # type: ignore[assignment]
    snapshots, history, rows = [], [], ensemble.batches.epoch(0)
    for step in range(cell.snapshots[-1] + 1):
        if step in cell.snapshots:
            ensemble.check_finite()
            history += ensemble.evaluate(step)
            sums = {
                layer: {key: value.clone() for key, value in by_side.items()}
                for layer, by_side in follower.sums.items()
            }
            snapshots.append(Snapshot(step, {name: value.clone() for name, value in weights.items()}, sums))
        if step < cell.snapshots[-1]:
            factor = 0.5 * (1 + math.cos(math.pi * step / cell.snapshots[-1]))
            ensemble.advance(step, [factor], rows)
    if cell.weight_decay and cell.optimizer != "none":
        for layer in layers:
            decay = cell.weight_decay * weights[f"{layer}.weight"].flatten(2)
            pulls = follower.averaged[layer] / (cell.last_step - average_from)
            distances = (pulls.norm(dim=(1, 2)) / decay.norm(dim=(1, 2))).tolist()
            history += [{"seed": seed, "step": cell.last_step, "layer": layer, "quantity": "averaged_stationarity",
                         "value": distance} for seed, distance in enumerate(distances)]  # fmt: skip
    return snapshots, history


def _minimise(cell: Cell, model: nn.Module, data: DataSet, seeds: int) -> tuple[list[Snapshot], list[dict[str, Any]]]:
    """Networks at a minimum of the weighted loss with decay, by Levenberg and Marquardt's method; no history sums."""
    if data.weight_train is None or cell.shared.loss != "mse":
        raise NetError(f"least squares takes a population with weights and the loss mse, not {data.source}")
    config = TrainingConfig(loss=cell.shared.loss, batch=None, weight_decay=cell.weight_decay, init=cell.shared.init,
                            init_scale=cell.shared.init_scale, dtype="float64", name=("atlas", cell.group))  # fmt: skip
    ensemble = Ensemble(model, data, config, seeds, "cpu")
    starts = _cloned(ensemble.stacked.values)
    history = ensemble.evaluate(0)
    x, y, p = data.scaled(data.x_train, torch.float64), data.y_train, data.weight_train
    shapes = {name: value.shape[1:] for name, value in starts.items()}
    sizes = [shape.numel() for shape in shapes.values()]

    def unflat(flat: Tensor) -> dict[str, Tensor]:
        return {name: part.view(shapes[name]) for name, part in zip(shapes, flat.split(sizes), strict=True)}

    # λ ‖residuals‖² / 2 is the loss with decay where the loss is the mean squared error of one output
    def residuals(flat: Tensor) -> Tensor:
        errors = (functional_call(model, unflat(flat), x) - y).flatten()
        return torch.cat([(2 * p / cell.weight_decay).sqrt() * errors, flat])

    slopes = jacfwd(residuals)
    for seed in range(seeds):
        flat = torch.cat([start[seed].flatten() for start in starts.values()]).numpy()
        minimum = least_squares(
            lambda flat: residuals(torch.from_numpy(flat)).numpy(), flat, method="lm",
            jac=lambda flat: slopes(torch.from_numpy(flat)).numpy(), xtol=1e-15, ftol=1e-15, gtol=1e-12,
        )  # fmt: skip
        for name, part in unflat(torch.from_numpy(np.asarray(minimum.x))).items():
            ensemble.stacked.values[name][seed] = part
    history += ensemble.evaluate(1)
    return [Snapshot(0, starts, {}), Snapshot(1, _cloned(ensemble.stacked.values), {})], history


def _cloned(tensors: Mapping[Key, Tensor]) -> dict[Key, Tensor]:
    return {key: tensor.clone() for key, tensor in tensors.items()}
