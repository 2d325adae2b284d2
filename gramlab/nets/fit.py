"""Train the same network from several seeds at once; stop anywhere and go on to the same bytes."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gramlab.data import DataSet
from gramlab.files import atomic
from gramlab.losses import LOSSES, correct
from gramlab.nets import checkpoint
from gramlab.nets.models import initialize
from gramlab.nets.observers import OBSERVERS
from gramlab.streams import stream


class Diverged(ArithmeticError):
    """A loss became NaN or infinite."""


@dataclass(frozen=True)
class Fit:
    """How to train. ``batch`` None is full-batch; ``snapshots`` are epochs, 0 being the initial weights."""

    loss: str = "cross_entropy"
    optimizer: str = "sgd"  # or "adam", "adamw"
    lr: float = 0.1
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: str = "constant"  # or "cosine", from lr down to 0 over all steps
    batch: int | None = 64
    epochs: int = 1
    init: str = "uniform"
    init_scale: float = 1.0
    snapshots: tuple[int, ...] = ()
    observe: tuple[str, ...] = ()
    dtype: str = "float32"
    name: tuple = ("fit",)  # what the random streams are named after: the experiment


Progress = Callable[[int, int, float], None]  # (steps done, of how many, the last step's mean loss)


def fit(
    model: nn.Module,
    data: DataSet,
    how: Fit,
    seeds: int,
    scratch: Path,
    device: str = "cpu",
    keep_seconds: float = 20.0,
    progress: Progress = lambda step, steps, loss: None,
) -> tuple[dict[int, Path], list[dict]]:
    """Train ``seeds`` networks of ``model``'s architecture together, each with its own initial weights and batches.

    Returns the snapshot files by epoch, with tensors (seeds, ...) named as the parameters and ``observer:NAME``
    sums, and the history: a row for each epoch, seed and kind of loss or accuracy. A checkpoint is left in
    ``scratch`` about every ``keep_seconds``; a later call with the same arguments goes on from it and ends in the
    same bytes. A ``scratch`` folder serves one setting only: name it after a fingerprint of all that matters.

    Raises Diverged naming the seed and the step, and CheckpointError.
    """
    torch.use_deterministic_algorithms(True)
    team = _Team(model, data, how, seeds, device)
    snapshots = scratch / "snapshots"
    begin, history = 0, []
    if found := checkpoint.newest(scratch):
        saved, about = found
        begin, history = about["epoch"], about["history"]
        team.restore(saved)
    else:
        shutil.rmtree(scratch, ignore_errors=True)  # snapshots without a checkpoint are of no known state
        history += team.evaluate(0)
        if 0 in how.snapshots:
            team.snapshot(snapshots / "epoch-000000.safetensors")
    steps, kept, loss = team.per_epoch * how.epochs, time.monotonic(), math.nan
    for epoch in range(begin, how.epochs):
        for step, rows in enumerate(team.batches(epoch), epoch * team.per_epoch):
            if how.schedule == "cosine":
                for group in team.optimizer.param_groups:
                    group["lr"] = how.lr * 0.5 * (1 + math.cos(math.pi * step / steps))
            losses = team.step(step, rows)
            if step % 50 == 0:
                loss = float(losses.mean())
                progress(step, steps, loss)
        team.check_finite()
        history += team.evaluate(epoch + 1)
        if epoch + 1 in how.snapshots:
            team.snapshot(snapshots / f"epoch-{epoch + 1:06d}.safetensors")
        if time.monotonic() - kept >= keep_seconds and epoch + 1 < how.epochs:
            checkpoint.save(scratch, epoch + 1, team.state(), {"history": history})
            kept = time.monotonic()
    progress(steps, steps, loss)
    return {epoch: snapshots / f"epoch-{epoch:06d}.safetensors" for epoch in sorted(how.snapshots)}, history


class _Team:
    """The networks of all seeds, stacked: an elementwise optimizer acts on the stack as it would on each alone."""

    def __init__(self, model: nn.Module, data: DataSet, how: Fit, seeds: int, device: str):
        self.model, self.how, self.seeds, self.device = model, how, seeds, device
        dtype = getattr(torch, how.dtype)
        initial = [initialize(model, (*how.name, seed), how.init, how.init_scale) for seed in range(seeds)]
        self.parameters = {
            key: torch.stack([drawn[key] for drawn in initial]).to(device, dtype).requires_grad_()
            for key, _ in model.named_parameters()
        }
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        options = {"momentum": how.momentum} if how.optimizer == "sgd" else {}
        self.optimizer = kinds[how.optimizer](
            list(self.parameters.values()), lr=how.lr, weight_decay=how.weight_decay, **options
        )
        self.sets = {
            part: (data.numbers(x, dtype).to(device), (y.to(dtype) if y.is_floating_point() else y).to(device))
            for part, x, y in (("train", data.x_train, data.y_train), ("test", data.x_test, data.y_test))
            if len(x)
        }
        self.n = len(data.x_train)
        self.batch = min(how.batch or self.n, self.n)
        self.per_epoch = -(-self.n // self.batch)
        self.loss = LOSSES[how.loss]
        self.sums: dict[str, Tensor] = {}
        self.diverged_at = torch.full((seeds,), -1, dtype=torch.int64, device=device)

    def forward(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (seeds, b, c) of x (seeds, b, ...)."""
        return vmap(lambda own, x: functional_call(self.model, own, (x.flatten(1),)))(parameters, x)

    def losses(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Mean losses (seeds,)."""
        return vmap(self.loss)(self.forward(parameters, x), y).mean(1)

    def batches(self, epoch: int) -> Iterator[Tensor]:
        """Row numbers (seeds, b) of each batch; full-batch training keeps the samples' order."""
        if self.batch == self.n:
            yield torch.arange(self.n, device=self.device).expand(self.seeds, -1)
        else:
            yield from self.permutations("order", epoch, self.n).split(self.batch, dim=1)

    def permutations(self, purpose: str, draw: int, n: int) -> Tensor:
        """One permutation a seed, (seeds, n)."""
        drawn = [stream(*self.how.name, seed, purpose, draw).permutation(n) for seed in range(self.seeds)]
        return torch.stack([torch.from_numpy(one) for one in drawn]).to(self.device)

    def step(self, step: int, rows: Tensor) -> Tensor:
        """One optimizer step on the batch ``rows``; returns the losses before it, (seeds,)."""
        x, y = (part[rows] for part in self.sets["train"])
        if self.how.observe:
            other = rows.gather(1, self.permutations("shuffle", step, rows.shape[1]))
            for name in self.how.observe:
                rate = self.optimizer.param_groups[0]["lr"]
                OBSERVERS[name](self.sums, self.losses, self.parameters, x, y, self.sets["train"][1][other], rate)
        losses = self.losses(self.parameters, x, y)
        self.diverged_at = torch.where((self.diverged_at < 0) & ~torch.isfinite(losses), step, self.diverged_at)
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach()

    def check_finite(self) -> None:
        """Raise Diverged if any loss since the beginning was not a finite number (one look an epoch, not a step)."""
        if bool((self.diverged_at >= 0).any()):
            seed = int((self.diverged_at >= 0).nonzero()[0, 0])
            raise Diverged(f"the loss of seed {seed} is not a finite number at step {int(self.diverged_at[seed])}")

    @torch.no_grad()
    def evaluate(self, epoch: int) -> list[dict[str, Any]]:
        """Rows of mean loss and, for classes, accuracy on the training and test sets."""
        rows: list[dict[str, Any]] = []
        for part, (x, y) in self.sets.items():
            total, right = torch.zeros(2, self.seeds, dtype=torch.float64)
            for some in torch.arange(len(x), device=self.device).split(8192):
                outputs = self.forward(self.parameters, x[some].expand(self.seeds, *x[some].shape))
                targets = y[some].expand(self.seeds, *y[some].shape)
                total += vmap(self.loss)(outputs, targets).double().sum(1).cpu()
                hits = correct(outputs, targets)
                right += 0 if hits is None else hits.double().sum(1).cpu()
            for quantity, sums in (("loss", total), ("accuracy", right)):
                if quantity == "loss" or not y.is_floating_point():
                    rows += [
                        {"step": epoch * self.per_epoch, "seed": seed, "x": float(epoch),
                         "quantity": f"{part}_{quantity}", "value": float(sums[seed]) / len(x)}
                        for seed in range(self.seeds)
                    ]  # fmt: skip
        bad = [row for row in rows if not math.isfinite(row["value"])]
        if bad:
            raise Diverged(f"the loss of seed {bad[0]['seed']} is not a finite number at step {bad[0]['step']}")
        return rows

    def observed(self) -> dict[str, Tensor]:
        return {f"observer:{key}": value for key, value in self.sums.items()}

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on, beside the streams, which have no state."""
        moments = {
            f"optimizer:{index}:{slot}": value
            for index, slots in self.optimizer.state_dict()["state"].items()
            for slot, value in slots.items()
            if isinstance(value, Tensor)
        }
        return {**self.parameters, **moments, **self.observed()}

    def restore(self, saved: dict[str, Tensor]) -> None:
        """Take up a state as ``state`` gave it."""
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in saved.items():
            if key.startswith("optimizer:"):
                _, index, slot = key.split(":")
                slots.setdefault(int(index), {})[slot] = value
            elif key.startswith("observer:"):
                self.sums[key.removeprefix("observer:")] = value.to(self.device)
            else:
                self.parameters[key].data.copy_(value)
        self.optimizer.load_state_dict({"state": slots, "param_groups": self.optimizer.state_dict()["param_groups"]})

    def snapshot(self, path: Path) -> None:
        """Write weights and observers' sums, whole or not at all."""
        kept = {key: value.detach().cpu().contiguous() for key, value in {**self.parameters, **self.observed()}.items()}
        with atomic(path) as temporary:
            save_file(kept, temporary)
