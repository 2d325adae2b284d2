"""Train networks of one architecture together; an interrupted training continues to the same bytes."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gramlab.data import DataSet
from gramlab.nets import checkpoint
from gramlab.nets.config import TrainingConfig
from gramlab.nets.ensemble import Ensemble

PROGRESS_EVERY = 50  # steps between two calls of `progress`
Progress = Callable[[int, int, float], None]  # (steps so far, steps in all, mean loss of the last step)


@contextmanager
def _deterministic() -> Iterator[None]:
    """Switch torch's deterministic algorithms on, and restore the setting afterwards."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic  # torch's annotations lack the setting
    filled_before = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    # otherwise every operation first fills its result with NaN, which takes time and shows only errors of torch's own
    memory.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory = filled_before


@_deterministic()
def fit(
    model: nn.Module,
    data: DataSet,
    config: TrainingConfig,
    seeds: int,
    scratch: Path | str,
    device: str = "cpu",
    checkpoint_seconds: float = 20.0,
    progress: Progress = lambda step, steps, loss: None,
) -> tuple[dict[int, Path], list[dict]]:
    """Train networks of one architecture for several seeds and all cases of a grid.

    Each member has its own initial weights, batches, noise and labels, from random streams named after its seed and not
    its case. So a member trains as it would alone, and the cases of a seed differ in the grid's values only. The loss
    is the mean over samples, or ``sum_i w_i l_i`` if the data set has weights.

    Parameters
    ----------
    model : nn.Module
        The architecture; it does not change.
    data : DataSet
    config : TrainingConfig
    seeds : int
        Number of seeds.
    scratch : Path or str
        Folder of checkpoints and snapshots, for this training only. A later call with the same arguments continues
        from its last checkpoint and ends in the same bytes.
    device : str, optional
    checkpoint_seconds : float, optional
        Seconds between two checkpoints.
    progress : callable, optional
        Called now and then with the steps so far, the steps in all and the mean loss of the last step.

    Returns
    -------
    snapshots : dict of int to Path
        safetensors files by epoch. Their tensors (members, ...) have the names of the parameters and buffers, or
        ``observer:NAME``; the members have the order of `gramlab.nets.members.members`.
    history : list of dict
        A row for each epoch, member and kind of loss or accuracy; its ``case`` names the grid's values.

    Raises
    ------
    NetError
        If the settings do not fit each other, the model or the data set.
    Diverged
        If a loss is not a finite number; the message names member and step.
    CheckpointError
        If the folder holds checkpoints of another training, or only damaged ones, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.torch import load_file
    >>> from gramlab.data import prepare
    >>> from gramlab.nets import mlp
    >>> data = prepare("digits", "", train=200)
    >>> config = TrainingConfig(lr=0.1, epochs=2, snapshots=(2,), name=("example",))
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     snapshots, history = fit(mlp(64, [16], 10), data, config, seeds=3, scratch=scratch)
    ...     load_file(snapshots[2])["0.weight"].shape
    torch.Size([3, 16, 64])
    >>> history[-1]["quantity"]
    'test_accuracy'
    """
    scratch = Path(scratch)
    ensemble = Ensemble(model, data, config, seeds, device)
    batches = ensemble.batches
    snapshots = {epoch: scratch / "snapshots" / f"epoch-{epoch:06d}.safetensors" for epoch in sorted(config.snapshots)}
    if newest := checkpoint.newest(scratch):
        path, state, metadata = newest
        ensemble.restore(path, state, metadata)
        step, history = metadata["step"], metadata["history"]
    else:
        # snapshots without a checkpoint belong to no known state; other files in the folder are the caller's
        shutil.rmtree(scratch / "snapshots", ignore_errors=True)
        for incomplete in scratch.glob("*step-*"):
            incomplete.unlink()
        step, history = 0, ensemble.evaluate(0)
        if 0 in snapshots:
            checkpoint.write(snapshots[0], ensemble.weights())
    steps, last_checkpoint, loss = batches.per_epoch * config.epochs, time.monotonic(), math.nan
    last_progress, epoch_batches = -1, batches.epoch(step // batches.per_epoch)
    while step < steps:
        epoch, position = divmod(step, batches.per_epoch)
        if position == 0:
            epoch_batches = batches.epoch(epoch)
        next_batches = epoch_batches[position : position + ensemble.steps_per_call]
        factors = [_schedule_factor(config, number, steps) for number in range(step, step + len(next_batches))]
        losses = ensemble.advance(step, factors, next_batches)
        step += len(next_batches)
        if step // PROGRESS_EVERY > last_progress:
            last_progress, loss = step // PROGRESS_EVERY, float(losses.mean())
            progress(step, steps, loss)
        if step % batches.per_epoch == 0:
            epoch += 1
            ensemble.check_finite()
            if epoch % config.history_every == 0 or epoch == config.epochs:
                history += ensemble.evaluate(epoch)
            if epoch in snapshots:
                checkpoint.write(snapshots[epoch], ensemble.weights())
        if time.monotonic() - last_checkpoint >= checkpoint_seconds and step < steps:
            ensemble.check_finite()
            checkpoint.save(scratch, step, ensemble.state(), {**ensemble.identity, "history": history})
            last_checkpoint = time.monotonic()
    progress(steps, steps, loss)
    return snapshots, history


def _schedule_factor(config: TrainingConfig, step: int, steps: int) -> float:
    """The factor by which the schedule multiplies the learning rate in a step."""
    return 0.5 * (1 + math.cos(math.pi * step / steps)) if config.schedule == "cosine" else 1.0
