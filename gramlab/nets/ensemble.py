"""The networks of all seeds and grid cases, trained together."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.data import DataSet
from gramlab.losses import LOSSES, correct_predictions, vae_terms
from gramlab.nets.batches import Batches
from gramlab.nets.checkpoint import CheckpointError, content_hash
from gramlab.nets.config import TrainingConfig
from gramlab.nets.errors import Diverged, NetError
from gramlab.nets.graphs import Replayed, repeats_its_operations
from gramlab.nets.init import initialize
from gramlab.nets.members import AXES, members
from gramlab.nets.observers import OBSERVERS
from gramlab.nets.optimizers import StackedOptimizer
from gramlab.nets.stacked import Group, StackedParameters
from gramlab.nets.vae import VAE
from gramlab.streams import stream_root


class Ensemble:
    """The members of a training at one moment: weights, optimizer state and observers' sums.

    Parameters
    ----------
    model : nn.Module
        The architecture; it does not change.
    data : DataSet
    config : TrainingConfig
    seeds : int
        Number of seeds.
    device : str

    Attributes
    ----------
    members : list of Member
    batches : Batches
    stacked : StackedParameters
    identity : dict
        Architecture, settings and data of the training; a checkpoint must have the same.
    steps_per_call : int
        How many steps `advance` best takes in one call.

    Raises
    ------
    NetError
        If the settings do not fit the model or the data set.

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> from gramlab.nets import mlp
    >>> data = prepare("digits", "", train=100)
    >>> ensemble = Ensemble(mlp(64, [8], 10), data, TrainingConfig(grid={"lr": [0.1, 0.2]}), seeds=3, device="cpu")
    >>> ensemble.advance(0, [1.0], ensemble.batches.epoch(0)[:1]).shape
    torch.Size([6])
    """

    # Members that are computed one after the other take this many steps each before it is the next one's turn, so that
    # the weights stay in the processor's cache.
    STEPS_PER_TURN = 50

    def __init__(self, model: nn.Module, data: DataSet, config: TrainingConfig, seeds: int, device: str):
        if (config.loss == "vae") != isinstance(model, VAE):
            raise NetError(f"the loss {config.loss} does not fit a {type(model).__name__}")
        self.config, self.device = config, device
        self.members = members(seeds, config.grid, **{axis: getattr(config, axis) for axis in AXES})
        self.batches = Batches(model, data, config, self.members, device)
        self.dtype, self.is_vae = self.batches.dtype, isinstance(model, VAE)
        initial = [
            initialize(model, (*config.name, member.seed), config.init, config.init_scale) for member in self.members
        ]
        sample = self.batches.parts["train"][0][:1]
        self.stacked = StackedParameters(model, initial, self.batches.size, self.dtype, device, sample)
        if config.observe and self.stacked.buffers:
            raise NetError("observers compute a batch twice, but batch normalisation must see it once")
        self.steps_per_call = self.STEPS_PER_TURN if len(self.stacked.groups) > 1 else 1
        self.optimizer = StackedOptimizer(self.stacked, self.members, config.optimizer, config.momentum, config.betas,
                                          config.method, config.parametrization)  # fmt: skip
        self.compiled_update = self._compile(config.compile) if config.compile else None
        can_replay = torch.device(device).type == "cuda" and repeats_its_operations(model, config)
        self.replayed_step = Replayed(self.pick_and_update, device) if can_replay else None
        self.optimizer.is_fused &= can_replay
        self.beta = torch.tensor([member.beta for member in self.members], dtype=self.dtype, device=device)
        self.sums: list[dict[str, Tensor]] = [{} for _ in self.stacked.groups]  # the observers' sums of each group
        self.unchecked_losses: list[tuple[int, Tensor]] = []  # (first step, losses of shape (members, steps))
        shapes = {name: list(value.shape) for name, value in {**self.stacked.values, **self.stacked.buffers}.items()}
        self.identity = {
            "architecture": shapes,
            "model": " ".join(re.sub(r" at 0x[0-9a-f]+", "", repr(model)).split()),
            "settings": json.loads(json.dumps(asdict(config), default=repr)),
            "seeds": seeds,
            "data": content_hash(data.tensors(), data.classes, data.factor),
            "stream root": stream_root(),
        }

    def losses(self, group: Group, noise: tuple[Tensor, ...], x: Tensor, y: Tensor) -> Tensor:
        """Mean loss of each member of a group on a training batch.

        Parameters
        ----------
        group : Group
        noise : tuple of Tensor
            From `Batches.noise`.
        x, y : Tensor of shape (members, b, ...)

        Returns
        -------
        Tensor of shape (members,)
        """
        if self.is_vae:
            reconstruction, divergence = vae_terms(group.run(x, *noise), x)
            return (reconstruction + self.beta[group.members][:, None] * divergence).mean(1)
        if group.is_single:  # the same with fewer small operations, which cost time in small steps
            losses = LOSSES[self.config.loss](group.module(x[0]), y[0])[None]
        else:
            losses = LOSSES[self.config.loss](group.run(x).flatten(0, 1), y.flatten(0, 1)).view(len(x), -1)
        return losses.mean(1) if self.batches.weights is None else losses @ self.batches.weights

    def advance(self, first: int, factors: Sequence[float], batches: Sequence[Tensor]) -> Tensor:
        """Take several steps. Each group takes all of them before the next group's turn.

        Parameters
        ----------
        first : int
            Number of the first step.
        factors : sequence of float
            Factor of the learning rates in each step, from the schedule.
        batches : sequence of Tensor of shape (members, b)
            Row numbers of the batch of each step.

        Returns
        -------
        Tensor of shape (members,)
            Losses before the last step.
        """
        self.stacked.train(True)
        steps = list(enumerate(zip(factors, batches, strict=True), first))
        losses = torch.cat([
            torch.stack([self.step(index, step, factor, rows) for step, (factor, rows) in steps], 1)
            for index in range(len(self.stacked.groups))
        ])  # fmt: skip
        self.unchecked_losses.append((first, losses))
        return losses[:, -1]

    def step(self, index: int, step: int, factor: float, rows: Tensor) -> Tensor:
        """Take one step of one group.

        Parameters
        ----------
        index : int
            Number of the group.
        step : int
            Number of the step.
        factor : float
            Factor of the learning rates, from the schedule.
        rows : Tensor of shape (members, b)
            Row numbers of the batch.

        Returns
        -------
        Tensor of shape (members of the group,)
            Losses before the step.
        """
        group = self.stacked.groups[index]
        if self.config.observe:
            self._observe(index, step, factor, rows)
        noise = self.batches.noise(group.members, step, rows.shape[1])
        # as a tensor, since compiled code and graphs are specific to the value of each plain number
        numbers = torch.tensor([step, factor], dtype=torch.float64)
        if self.replayed_step is not None:
            return self.replayed_step(index, numbers, rows, *noise)
        x, y = self.batches.pick(group.members, rows)
        if self.compiled_update is not None:
            return self.compiled_update(group, noise, x, y, *numbers.to(self.device))
        return self._update(group, noise, x, y, step, factor)

    def pick_and_update(self, index: int, numbers: Tensor, rows: Tensor, *noise: Tensor) -> Tensor:
        """Take one step of one group, from tensors alone.

        Parameters
        ----------
        index : int
            Number of the group.
        numbers : Tensor of shape (2,)
            Number of the step, and the factor of the learning rates.
        rows : Tensor of shape (members, b)
            Row numbers of the batch.
        *noise : Tensor
            From `Batches.noise`.

        Returns
        -------
        Tensor of shape (members of the group,)
            Losses before the step.
        """
        group = self.stacked.groups[index]
        return self._update(group, noise, *self.batches.pick(group.members, rows), *numbers)

    def _update(
        self, group: Group, noise: tuple[Tensor, ...], x: Tensor, y: Tensor, step: int | Tensor, factor: float | Tensor
    ) -> Tensor:
        """Change a group's weights by the gradients of its losses, and return these losses."""
        losses = self.losses(group, noise, x, y)
        gradients = torch.autograd.grad(losses if group.is_single else losses.sum(), group.parameters)
        self.optimizer.step(group, step, factor, gradients)
        return losses.detach()

    def _compile(self, mode: str) -> Callable[..., Tensor] | None:
        """`_update` compiled as one graph; None where members are computed one after the other."""
        if "whitened" in self.config.optimizer:
            raise NetError(f"compile: torch.compile cannot compile the optimizer {self.config.optimizer} as one graph")
        if len(self.stacked.groups) > 1:
            return None
        untyped_options: dict[str, Any] = {"isolate_recompiles": True}  # missing in torch's annotations
        compiled = torch.compile(self._update, fullgraph=True, dynamic=False, mode=mode, **untyped_options)
        dynamo = torch._dynamo.config

        def update(*arguments: Any) -> Tensor:
            # without this setting the graph ends at the gradients; its context manager takes four times as long, 17 µs
            before, dynamo.trace_autograd_ops = dynamo.trace_autograd_ops, True
            try:
                return compiled(*arguments)
            finally:
                dynamo.trace_autograd_ops = before

        return update

    def _observe(self, index: int, step: int, factor: float, rows: Tensor) -> None:
        """Let every observer add a step of a group to its sums."""
        group = self.stacked.groups[index]
        shuffled_rows = rows.gather(1, self.batches.permutations("shuffle", step, rows.shape[1]))
        x, y = self.batches.pick(group.members, rows)
        shuffled = self.batches.pick(group.members, shuffled_rows)[1]
        rates = torch.tensor([member.lr * factor for member in self.members[group.members]], dtype=self.dtype)
        rates = rates.to(self.device).view(-1, *[1] * (x.ndim - 1))
        losses = partial(self.losses, group, self.batches.noise(group.members, step, rows.shape[1]))
        for name in self.config.observe:
            OBSERVERS[name](self.sums[index], losses, x, y, shuffled, rates)

    def check_finite(self) -> None:
        """Check the losses since the last check: once an epoch costs less than once a step.

        Raises
        ------
        Diverged
            If a loss is not a finite number; the message names member and step.
        """
        if self.unchecked_losses:
            first = self.unchecked_losses[0][0]
            is_finite = torch.cat([losses for _, losses in self.unchecked_losses], 1).isfinite()
            self.unchecked_losses.clear()
            if not bool(is_finite.all()):
                step, index = (int(number) for number in (~is_finite).T.nonzero()[0])
                raise Diverged(f"the loss of {self.members[index]} is not a finite number at step {first + step}")

    @torch.no_grad()
    def evaluate(self, epoch: int) -> list[dict[str, Any]]:
        """Mean loss and, for classes, accuracy on the training and test sets; for a VAE also the loss's two terms.

        Training labels are those that a member trains on. A VAE samples with the same noise at every epoch.

        Parameters
        ----------
        epoch : int
            Epochs so far.

        Returns
        -------
        list of dict
            Rows with step, seed, case (if there is a grid), x (the epoch), quantity and value.

        Raises
        ------
        Diverged
            If a mean loss is not a finite number.
        """
        self.stacked.train(False)
        step = epoch * self.batches.per_epoch
        history: list[dict[str, Any]] = []
        for part, (x, _) in self.batches.parts.items():
            means: dict[str, Tensor] = {}
            for group in self.stacked.groups:
                noise = self.batches.noise(group.members, part, len(x))
                # so few images that a CPU's cache holds the outputs of a convolution of all members
                is_grouped = self.device == "cpu" and x.ndim > 2 and not group.is_single
                most_numbers = 2**24 if self.replayed_step else 2**19
                count = 128 if is_grouped else min(8192, max(1, most_numbers // x[0].numel()))
                for rows in torch.arange(len(x), device=self.device).split(count):
                    for quantity, values in self._sample_values(group, part, rows, noise).items():
                        mean = means.setdefault(quantity, torch.zeros(len(self.members), dtype=torch.float64))
                        mean[group.members] += values.double().sum(1).cpu() / len(x)
            for quantity, mean in means.items():
                for member, value in zip(self.members, mean.tolist(), strict=True):
                    if not math.isfinite(value):
                        raise Diverged(f"the loss of {member} is not a finite number at step {step}")
                    row = {"step": step, "seed": member.seed, "case": member.case, "x": float(epoch),
                           "quantity": f"{part}_{quantity}", "value": value}  # fmt: skip
                    history.append(row if self.config.grid else {key: row[key] for key in row if key != "case"})
        return history

    def _sample_values(self, group: Group, part: str, rows: Tensor, noise: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """The evaluated quantities by name, one value per member and sample, (members, rows)."""
        x = self.batches.parts[part][0][rows]
        inputs = x.expand(len(self.members[group.members]), *x.shape)
        outputs = group.run(inputs, *(numbers[:, rows] for numbers in noise))
        if self.is_vae:
            reconstruction, divergence = vae_terms(outputs, inputs)
            loss = reconstruction + self.beta[group.members][:, None] * divergence
            return {"loss": loss, "reconstruction": reconstruction, "divergence": divergence}
        targets = self.batches.targets(group.members, part, rows)
        losses = LOSSES[self.config.loss](outputs.flatten(0, 1), targets.flatten(0, 1)).view(len(inputs), -1)
        if part == "train" and self.batches.weights is not None:
            losses = losses * (self.batches.weights[rows] * self.batches.n)
        is_correct = correct_predictions(outputs, targets)
        return {"loss": losses} if is_correct is None else {"loss": losses, "accuracy": is_correct}

    def weights(self) -> dict[str, Tensor]:
        """What a snapshot holds: parameters, buffers and the observers' sums.

        Returns
        -------
        dict of str to Tensor of shape (members, ...)
        """
        sums = {f"observer:{key}": torch.cat([group_sums[key] for group_sums in self.sums]) for key in self.sums[0]}
        return {**self.stacked.values, **self.stacked.buffers, **sums}

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on besides its number, which names its random streams.

        Returns
        -------
        dict of str to Tensor of shape (members, ...)
        """
        slots = {
            f"optimizer:{slot}:{name}": value
            for slot, values in self.optimizer.state.items()
            for name, value in values.items()
        }
        return {**self.weights(), **slots}

    def restore(self, path: Path, saved: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        """Continue from a checkpoint.

        Parameters
        ----------
        path : Path
            Its file, for error messages.
        saved : dict of str to Tensor
            What `state` returned.
        metadata : dict
            With the `identity` of the training.

        Raises
        ------
        CheckpointError
            If it belongs to another training.
        """
        for key, current in self.identity.items():
            stored = metadata.get(key)
            if stored != current:
                if isinstance(current, dict) and isinstance(stored, dict):
                    names = sorted(name for name in {**current, **stored} if current.get(name) != stored.get(name))
                    stored, current = ({name: content[name] for name in names if name in content}
                                        for content in (stored, current))  # fmt: skip
                raise CheckpointError(f"{path}: belongs to a training with {key} {stored}; this training has {current}")
        state = self.state()
        for key, value in saved.items():
            if key.startswith("observer:"):
                for group, sums in zip(self.stacked.groups, self.sums, strict=True):
                    # a copy, since the rounding of products that add to a sum depends on its memory address
                    sums[key.removeprefix("observer:")] = value[group.members].to(self.device, copy=True)
            elif key in state and state[key].shape == value.shape:
                state.pop(key).copy_(value)
            else:
                raise CheckpointError(f"{path}: holds {key}, which this training does not have")
        if state:
            raise CheckpointError(f"{path}: lacks {', '.join(sorted(state))}")
