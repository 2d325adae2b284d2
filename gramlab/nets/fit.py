"""Train networks of one architecture together; stop anywhere and go on to the same bytes."""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path

import torch
from torch import nn

from gramlab.data import DataSet
from gramlab.losses import LOSSES
from gramlab.nets import checkpoint
from gramlab.nets.errors import NetError
from gramlab.nets.init import Scale
from gramlab.nets.observers import OBSERVERS
from gramlab.nets.polar import METHODS
from gramlab.nets.team import Team


@dataclass(frozen=True)
class Fit:
    """How to train. ``batch`` None is full-batch; ``snapshots`` are epochs, 0 being the initial weights.

    Raises NetError, naming the setting and what is allowed, on one that is unknown or out of range; for ``optimizer``,
    ``init`` and ``grid`` the training does.
    """

    loss: str = "cross_entropy"  # a name in gramlab.losses.LOSSES, or "vae"
    optimizer: str = "sgd"  # or "adam", "adamw", "whitened", "whitened_complement"
    lr: float = 0.1
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)  # Adam's
    weight_decay: float = 0.0
    method: str = "newton-schulz"  # of the whitened optimizers; or "svd", "ten-steps"
    schedule: str = "constant"  # or "cosine", from lr down to 0 over all steps
    parametrization: str = "standard"  # or "ntk"
    beta: float = 1.0  # of the VAE's loss
    label_noise: float = 0.0  # probability that a training label is drawn anew
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)  # values of lr, weight_decay, label_noise, beta
    batch: int | None = 64
    epochs: int = 1
    init: str = "uniform"
    init_scale: Scale = 1.0
    snapshots: tuple[int, ...] = ()
    history_every: int = 1  # epochs between two rows of the history
    observe: tuple[str, ...] = ()
    dtype: str = "float32"
    compile: str | None = None  # a mode of torch.compile, for steps of members that are computed at once
    name: tuple = ("fit",)  # what the random streams are named after: the experiment

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            given = getattr(self, name)
            for one in given if name == "observe" else (given,):
                if one not in allowed:
                    raise NetError(f"no {name} {one!r}; there are {', '.join(allowed)}")
        for name, least in (("batch", 1), ("epochs", 0), ("history_every", 1)):
            value = getattr(self, name)
            if (name != "batch" or value is not None) and not (isinstance(value, Integral) and int(value) >= least):
                or_none = ", or None for all samples" if name == "batch" else ""
                raise NetError(f"{name} must be a whole number of at least {least}{or_none}, not {value!r}")
        for epoch in self.snapshots:
            if not (isinstance(epoch, Integral) and 0 <= int(epoch) <= self.epochs):
                raise NetError(f"snapshots must be epochs from 0 to {self.epochs}, not {epoch!r}")


CHOICES = {  # of what is not looked up by name
    "loss": (*LOSSES, "vae"),
    "method": METHODS,
    "schedule": ("constant", "cosine"),
    "parametrization": ("standard", "ntk"),
    "observe": tuple(OBSERVERS),
    "dtype": ("float64", "float32", "bfloat16", "float16"),
}

SAY_EVERY = 50  # steps between two words on the progress
Progress = Callable[[int, int, float], None]  # (steps done, of how many, the last step's mean loss)


@contextmanager
def _deterministic() -> Iterator[None]:
    """Torch's deterministic algorithms, and afterwards whatever was asked for before."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@_deterministic()
def fit(
    model: nn.Module,
    data: DataSet,
    how: Fit,
    seeds: int,
    scratch: Path | str,
    device: str = "cpu",
    keep_seconds: float = 20.0,
    progress: Progress = lambda step, steps, loss: None,
) -> tuple[dict[int, Path], list[dict]]:
    """Train ``seeds`` networks of ``model``'s architecture for every case of ``how.grid``.

    Each has its own initial weights, batches, noise and labels, from streams named by its seed, not by its case:
    a member trains as it would alone, and cases of one seed differ in nothing but the grid's values.

    Returns the snapshot files by epoch, with tensors (members, ...) named as the parameters and buffers and
    ``observer:NAME`` sums, members in the order of ``members.members``; and the history: a row for each epoch, member
    and kind of loss or accuracy, whose ``case`` names the grid's values. A checkpoint is left in ``scratch`` about
    every ``keep_seconds``; a later call with the same arguments goes on from it and ends in the same bytes. A
    ``scratch`` folder serves one training only: one of another model, data set or setting is refused.

    The loss is the mean over samples, or Σ w_i l_i where the data set has weights w.

    Raises Diverged naming the member and the step, NetError, and CheckpointError.
    """
    scratch = Path(scratch)
    team = Team(model, data, how, seeds, device)
    snapshots = scratch / "snapshots"
    begin, history = 0, []
    if found := checkpoint.newest(scratch):
        path, saved, about = found
        team.restore(path, saved, about)
        begin, history = about["step"], about["history"]
    else:
        # snapshots without a checkpoint are of no known state; what else lies there is the caller's
        shutil.rmtree(scratch / "snapshots", ignore_errors=True)
        for left in scratch.glob("*step-*"):
            left.unlink()
        history += team.evaluate(0)
        if 0 in how.snapshots:
            checkpoint.write(snapshots / "epoch-000000.safetensors", team.weights())
    steps, kept, loss = team.per_epoch * how.epochs, time.monotonic(), math.nan
    step, said, batches = begin, -1, team.batches(begin // team.per_epoch)
    while step < steps:
        epoch, at = divmod(step, team.per_epoch)
        if at == 0:
            batches = team.batches(epoch)
        count = min(team.block, team.per_epoch - at)
        losses = team.advance(step, [_factor(how, step + one, steps) for one in range(count)], batches[at : at + count])
        step += count
        if step // SAY_EVERY > said:
            said, loss = step // SAY_EVERY, float(losses.mean())
            progress(step, steps, loss)
        if at + count == team.per_epoch:
            epoch += 1
            team.check_finite()
            if epoch % how.history_every == 0 or epoch == how.epochs:
                history += team.evaluate(epoch)
            if epoch in how.snapshots:
                checkpoint.write(snapshots / f"epoch-{epoch:06d}.safetensors", team.weights())
        if time.monotonic() - kept >= keep_seconds and step < steps:
            team.check_finite()
            checkpoint.save(scratch, step, team.state(), {**team.about, "history": history})
            kept = time.monotonic()
    progress(steps, steps, loss)
    return {epoch: snapshots / f"epoch-{epoch:06d}.safetensors" for epoch in sorted(how.snapshots)}, history


def _factor(how: Fit, step: int, steps: int) -> float:
    """The share of the learning rate that the schedule gives this step."""
    return 0.5 * (1 + math.cos(math.pi * step / steps)) if how.schedule == "cosine" else 1.0
