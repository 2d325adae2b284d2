"""A training that kills its own process at a chosen moment, for the child processes of test_faults; light to import."""

import hashlib
import os
import signal
from pathlib import Path

import torch

from gramlab.data import DataSet
from gramlab.nets import TrainingConfig, build, checkpoint, fit
from gramlab.nets.ensemble import Ensemble

MODELS = {
    "mlp": ({"kind": "mlp", "hidden": [16], "activation": "gelu"}, {"observe": ("virtual_shift",)}),
    "cnn": ({"kind": "cnn", "channels": 4}, {}),
    "vae": ({"kind": "vae", "hidden": [16], "latent": 3}, {"loss": "vae", "grid": {"beta": [0.5, 2.0]}}),
}
OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "schedule": "cosine"},
    "adam": {"optimizer": "adam", "weight_decay": 0.01},
    "whitened": {"optimizer": "whitened", "momentum": 0.9},
}


def kill_self(*_: object) -> None:
    """End this process as abruptly as a power cut."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(moment: str | None) -> None:
    """Prepare to die in the "middle" or at the "end" of the second epoch, or within the "write" of a checkpoint."""
    step, evaluate, save, save_file = Ensemble.step, Ensemble.evaluate, checkpoint.save, checkpoint.save_file

    def step_or_die(self, index, number, *arguments):
        return kill_self() if number == 4 else step(self, index, number, *arguments)

    def evaluate_and_die(self, epoch):
        rows = evaluate(self, epoch)
        return kill_self() if epoch == 2 else rows

    def save_half_and_die(tensors, path, metadata):
        save_file(tensors, path, metadata)
        if metadata and '"step": 8' in metadata["about"]:
            content = Path(path).read_bytes()
            Path(path).write_bytes(content[: len(content) // 2])
            kill_self()

    # checkpoints lie within epochs, and more than the last step is lost
    Ensemble.STEPS_PER_TURN = 2
    checkpoint.save = lambda folder, number, *options: save(folder, number, *options) if number % 3 == 2 else None
    if moment == "middle":
        Ensemble.step = step_or_die
    elif moment == "end":
        Ensemble.evaluate = evaluate_and_die
    elif moment == "write":
        checkpoint.save_file = save_half_and_die


def train(model: str, optimizer: str, data: Path, scratch: Path) -> str:
    """Train for three epochs of three steps, and return hashes of all results."""
    architecture, options = MODELS[model]
    shared = {"lr": 0.01, "batch": 20, "epochs": 3, "snapshots": (0, 2, 3), "name": ("kill",)}
    config = TrainingConfig(**shared | OPTIMIZERS[optimizer] | options)
    digits = DataSet.load(data)
    network = build(**architecture, shape=digits.x_train.shape[1:], outputs=digits.outputs)
    snapshots, history = fit(network, digits, config, 2, scratch, checkpoint_seconds=0)
    results = [*(path.read_bytes() for path in snapshots.values()), repr(history).encode()]
    return " ".join(hashlib.sha256(content).hexdigest() for content in results)


def child(runs: list[tuple[str, str, Path, str | None]], data: Path, out: Path) -> None:
    """Train each (model, optimizer, scratch, moment of death), and write a line of hashes for each."""
    torch.set_num_threads(1)
    kill_at(runs[-1][3])
    out.write_text("\n".join(train(model, optimizer, data, scratch) for model, optimizer, scratch, _ in runs))
