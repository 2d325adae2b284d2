"""All members of a training at one moment: their data, weights, optimizer and what is observed of them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gramlab.data import DataSet
from gramlab.data.select import random_labels
from gramlab.losses import LOSSES, correct, vae_terms
from gramlab.nets.checkpoint import CheckpointError
from gramlab.nets.errors import Diverged, NetError
from gramlab.nets.init import initialize
from gramlab.nets.members import members
from gramlab.nets.models import samples_for
from gramlab.nets.observers import OBSERVERS
from gramlab.nets.stacks import Group, Stack
from gramlab.nets.updates import Updates
from gramlab.nets.vae import VAE
from gramlab.streams import stream

if TYPE_CHECKING:
    from gramlab.nets.fit import Fit


class Team:
    """The members, and one step of all of them.

    ``about`` says what a checkpoint of this team belongs to; ``per_epoch`` is the number of steps in an epoch;
    ``block`` that of the steps best taken in one call of ``advance``.
    """

    # networks that are computed one after the other take so many steps each before the next one's turn: meanwhile
    # its weights stay in the processor's cache
    BLOCK = 50

    def __init__(self, model: nn.Module, data: DataSet, how: Fit, seeds: int, device: str):
        if (how.loss == "vae") != isinstance(model, VAE):
            raise NetError(f"the loss {how.loss} does not fit a {type(model).__name__}")
        self.how, self.device = how, device
        self.dtype = getattr(torch, how.dtype)
        shared = {axis: getattr(how, axis) for axis in ("lr", "weight_decay", "label_noise", "beta")}
        self.members = members(seeds, how.grid, **shared)
        self.sets = {
            part: (
                samples_for(model, data.numbers(x, self.dtype)).to(device),
                (y.to(self.dtype) if y.is_floating_point() else y).to(device),
            )
            for part, x, y in (("train", data.x_train, data.y_train), ("test", data.x_test, data.y_test))
            if len(x)
        }
        self.labels: Tensor | None = None  # each member's own, (members, n)
        if any(member.label_noise for member in self.members):
            if not data.classes:
                raise NetError(f"label_noise needs classes, and the targets of {data.source} are numbers")
            drawn = [
                random_labels(data.y_train, data.classes, one.label_noise, *how.name, one.seed, "label noise")
                for one in self.members
            ]
            self.labels = torch.stack(drawn).to(device)
        self.n = len(data.x_train)
        self.batch = min(how.batch or self.n, self.n)
        self.per_epoch = -(-self.n // self.batch)
        self.shares: Tensor | None = None  # each training sample's share in the loss, where they differ
        if data.weight_train is not None:
            if self.batch < self.n:
                raise NetError(f"the samples of {data.source} have weights: it takes full batches, batch: null")
            self.shares = data.weight_train.to(device, self.dtype)
        initial = [initialize(model, (*how.name, one.seed), how.init, how.init_scale) for one in self.members]
        self.stack = Stack(model, initial, self.batch, self.dtype, device)
        if how.observe and self.stack.buffers:
            raise NetError("observers look at a step twice, and batch normalisation must see it once")
        self.block = self.BLOCK if len(self.stack.groups) > 1 else 1
        self.latent = model.latent if isinstance(model, VAE) else None
        self.updates = Updates(self.stack, self.members, how.optimizer, how.momentum, how.betas, how.method,
                               how.parametrization)  # fmt: skip
        self.compiled = self._compiled(how.compile) if how.compile else None
        self.beta = torch.tensor([one.beta for one in self.members], dtype=self.dtype, device=device)
        self.sums: list[dict[str, Tensor]] = [{} for _ in self.stack.groups]  # the observers', of each group
        self.unchecked: list[tuple[int, Tensor]] = []  # first step, losses (members, steps) that nobody has looked at
        shapes = {name: list(value.shape) for name, value in {**self.stack.values, **self.stack.buffers}.items()}
        self.about = {
            "architecture": shapes,
            "model": " ".join(re.sub(r" at 0x[0-9a-f]+", "", repr(model)).split()),
            "settings": json.loads(json.dumps(asdict(how), default=repr)),
            "seeds": seeds,
            "data": _digest(data),
        }

    def batches(self, epoch: int) -> tuple[Tensor, ...]:
        """Row numbers (members, b) of each batch; full-batch training keeps the samples' order."""
        if self.batch == self.n:
            return (torch.arange(self.n, device=self.device).expand(len(self.members), -1),)
        return self.permutations("order", epoch, self.n).split(self.batch, dim=1)

    def permutations(self, purpose: str, draw: int, n: int) -> Tensor:
        """One permutation a member, (members, n); the same for the members of one seed."""
        drawn = {
            seed: torch.from_numpy(stream(*self.how.name, seed, purpose, draw).permutation(n))
            for seed in {member.seed for member in self.members}
        }
        return torch.stack([drawn[member.seed] for member in self.members]).to(self.device)

    def noise(self, draw: str | int, n: int, group: Group) -> tuple[Tensor, ...]:
        """What a VAE samples with, (g, n, latent), one stream for each seed and draw; nothing for other networks."""
        if self.latent is None:
            return ()
        drawn = [
            stream(*self.how.name, member.seed, "latent noise", draw).normal(size=(n, self.latent))
            for member in self.members[group.members]
        ]
        return (torch.stack([torch.from_numpy(one) for one in drawn]).to(self.device, self.dtype),)

    def losses(self, group: Group, noise: tuple[Tensor, ...], x: Tensor, y: Tensor) -> Tensor:
        """Mean losses (g,) of a group on a training batch x (g, b, ...), y (g, b, ...)."""
        if group.alone and self.latent is None:  # as below, with fewer of the small operations that small steps feel
            found = LOSSES[self.how.loss](group.module(x[0]), y[0])[None]
            return found.mean(1) if self.shares is None else found @ self.shares
        outputs = group.run(x, *noise)
        if self.latent is not None:
            reconstruction, divergence = vae_terms(outputs, x)
            return (reconstruction + self.beta[group.members][:, None] * divergence).mean(1)
        flat = LOSSES[self.how.loss](outputs.flatten(0, 1), y.flatten(0, 1))
        found = flat.view(len(x), -1)
        return found.mean(1) if self.shares is None else found @ self.shares

    def advance(self, first: int, factors: Sequence[float], batches: Sequence[Tensor]) -> Tensor:
        """Steps ``first``, ``first`` + 1, … on these batches (members, b); the last one's losses before it, (members,).

        ``factors`` are the schedule's, one a step. Every group takes all steps before the next one's turn.
        """
        self.stack.train(True)
        found: list[list[Tensor]] = []
        for index in range(len(self.stack.groups)):
            steps = enumerate(zip(factors, batches, strict=True), first)
            found.append([self.step(index, step, factor, rows) for step, (factor, rows) in steps])
        table = torch.cat([torch.stack(losses, 1) for losses in found])
        self.unchecked.append((first, table))
        return table[:, -1]

    def step(self, index: int, step: int, factor: float, rows: Tensor) -> Tensor:
        """One optimizer step of one group on the batch ``rows`` (members, b); the losses before it, (g,)."""
        group = self.stack.groups[index]
        if self.how.observe:
            self.observe(index, step, factor, rows)
        x, y = self.pick(group, rows)
        noise = self.noise(step, rows.shape[1], group)
        if self.compiled is None:
            return self.move(group, noise, x, y, step, factor)
        # tensors, for what is compiled holds for one value of every plain number
        return self.compiled(group, noise, x, y, *torch.tensor([step, factor], dtype=torch.float64).to(self.device))

    def move(
        self, group: Group, noise: tuple[Tensor, ...], x: Tensor, y: Tensor, step: int | Tensor, factor: float | Tensor
    ) -> Tensor:
        """Move a group's weights by the gradients of its losses, and return these, (g,)."""
        losses = self.losses(group, noise, x, y)
        gradients = torch.autograd.grad(losses if group.alone else losses.sum(), group.parameters)
        self.updates.step(group, step, factor, gradients)
        return losses.detach()

    def _compiled(self, mode: str) -> Callable[..., Tensor] | None:
        """``move`` in one piece of machine code; None where members are computed one after the other."""
        if "whitened" in self.how.optimizer:
            raise NetError(f"compile: torch.compile cannot take the optimizer {self.how.optimizer} in one piece")
        if len(self.stack.groups) > 1:
            return None
        own: dict[str, Any] = {"isolate_recompiles": True}  # which torch's annotations lack
        compiled = torch.compile(self.move, fullgraph=True, dynamic=False, mode=mode, **own)
        config = torch._dynamo.config

        def step(*given: Any) -> Tensor:
            # or it stops at the gradients, and gains nothing; config.patch would take four times as long, 17 µs
            before, config.trace_autograd_ops = config.trace_autograd_ops, True
            try:
                return compiled(*given)
            finally:
                config.trace_autograd_ops = before

        return step

    def pick(self, group: Group, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The samples (g, b, ...) with these numbers (members, b), and this group's targets of them."""
        x, y = self.sets["train"]
        own = rows[group.members]
        picked = x.index_select(0, own.reshape(-1)).view(*own.shape, *x.shape[1:])
        if self.labels is not None:
            return picked, self.labels[group.members].gather(1, own)
        return picked, y.index_select(0, own.reshape(-1)).view(*own.shape, *y.shape[1:])

    def observe(self, index: int, step: int, factor: float, rows: Tensor) -> None:
        """Let every observer add this step of this group to its sums."""
        group = self.stack.groups[index]
        other = rows.gather(1, self.permutations("shuffle", step, rows.shape[1]))
        (x, y), (_, shuffled) = self.pick(group, rows), self.pick(group, other)
        rates = torch.tensor([one.lr * factor for one in self.members[group.members]], dtype=self.dtype)
        rates = rates.to(self.device).view(-1, *[1] * (x.ndim - 1))
        losses = partial(self.losses, group, self.noise(step, rows.shape[1], group))
        for name in self.how.observe:
            OBSERVERS[name](self.sums[index], losses, x, y, shuffled, rates)

    def check_finite(self) -> None:
        """Raise Diverged if a loss since the last look was not a finite number (one look an epoch, not a step)."""
        for first, losses in self.unchecked:
            if not bool(losses.isfinite().all()):
                at, which = (int(number) for number in (~losses.isfinite()).T.nonzero()[0])
                raise Diverged(f"the loss of {self.members[which]} is not a finite number at step {first + at}")
        self.unchecked.clear()

    @torch.no_grad()
    def evaluate(self, epoch: int) -> list[dict[str, Any]]:
        """Rows of mean loss and, for classes, accuracy on the training and test sets; a VAE's two terms beside it.

        Training labels are those that a member trains on. A VAE samples with the same noise at every epoch.
        """
        self.stack.train(False)
        rows: list[dict[str, Any]] = []
        for part, (x, y) in self.sets.items():
            sums: dict[str, Tensor] = {}
            for group in self.stack.groups:
                noise = self.noise(part, len(x), group)
                # so few that a convolution's outputs stay in the processor's cache
                for some in torch.arange(len(x), device=self.device).split(min(8192, max(1, 2**19 // x[0].numel()))):
                    for quantity, values in self._quantities(group, part, x, y, some, noise).items():
                        total = sums.setdefault(quantity, torch.zeros(len(self.members), dtype=torch.float64))
                        total[group.members] += values.double().sum(1).cpu() / len(x)
            for quantity, total in sums.items():
                rows += [
                    {"step": epoch * self.per_epoch, "seed": member.seed, "case": member.case, "x": float(epoch),
                     "quantity": f"{part}_{quantity}", "value": float(value)}
                    for member, value in zip(self.members, total, strict=True)
                ]  # fmt: skip
        for row in rows:
            if not math.isfinite(row["value"]):
                where = f"seed {row['seed']}" + (f" ({row['case']})" if row["case"] else "")
                raise Diverged(f"the loss of {where} is not a finite number at step {row['step']}")
            if not self.how.grid:
                del row["case"]
        return rows

    def _quantities(self, group: Group, part: str, x: Tensor, y: Tensor, some: Tensor, noise) -> dict[str, Tensor]:
        """By name, one number a sample, (g, rows)."""
        count = len(self.members[group.members])
        inputs = x[some].expand(count, *x[some].shape)
        outputs = group.run(inputs, *(one[:, some] for one in noise))
        if self.latent is not None:
            reconstruction, divergence = vae_terms(outputs, inputs)
            loss = reconstruction + self.beta[group.members][:, None] * divergence
            return {"loss": loss, "reconstruction": reconstruction, "divergence": divergence}
        if part == "train" and self.labels is not None:
            targets = self.labels[group.members][:, some]
        else:
            targets = y[some].expand(count, *y[some].shape)
        losses = LOSSES[self.how.loss](outputs.flatten(0, 1), targets.flatten(0, 1)).view(count, -1)
        hits = correct(outputs, targets)
        if part == "train" and self.shares is not None:
            losses = losses * (self.shares[some] * self.n)
        return {"loss": losses} if hits is None else {"loss": losses, "accuracy": hits}

    def weights(self) -> dict[str, Tensor]:
        """What a snapshot holds: parameters, buffers and the observers' sums."""
        keys = self.sums[0]
        observed = {f"observer:{key}": torch.cat([sums[key] for sums in self.sums]) for key in keys}
        return {**self.stack.values, **self.stack.buffers, **observed}

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on, beside its number: every random stream is named by that."""
        moments = {
            f"optimizer:{slot}:{name}": value
            for slot, values in self.updates.state.items()
            for name, value in values.items()
        }
        return {**self.weights(), **moments}

    def restore(self, path: Path, saved: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Take up a state as ``state`` gave it. Raises CheckpointError if it is of another training."""
        for what, ours in self.about.items():
            if about.get(what) != ours:
                theirs = about.get(what)
                if isinstance(ours, dict) and isinstance(theirs, dict):
                    odd = sorted({key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)})
                    theirs, ours = ({key: made[key] for key in odd if key in made} for made in (theirs, ours))
                raise CheckpointError(f"{path}: is of another {what}, {theirs}; this training's is {ours}")
        mine = self.state()
        for key, value in saved.items():
            if key.startswith("observer:"):
                for group, sums in zip(self.stack.groups, self.sums, strict=True):
                    # a copy, since products that add to a sum round by where it lies in memory
                    sums[key.removeprefix("observer:")] = value[group.members].to(self.device, copy=True)
            elif key in mine and mine[key].shape == value.shape:
                mine.pop(key).copy_(value)
            else:
                raise CheckpointError(f"{path}: holds {key}, which this training has not")
        if mine:
            raise CheckpointError(f"{path}: lacks {', '.join(sorted(mine))}")


def _digest(data: DataSet) -> str:
    """Of what is trained on."""
    digest = hashlib.sha256(repr((data.classes, data.factor)).encode())
    for name, one in data.tensors().items():
        digest.update(f"{name} {one.dtype} {tuple(one.shape)}".encode())
        digest.update(memoryview(one.cpu().contiguous().numpy()))  # type: ignore[arg-type]
    return digest.hexdigest()
