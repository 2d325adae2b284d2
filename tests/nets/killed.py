"""What the children of test_faults run: a training that kills itself at a chosen moment. Light to import."""

import hashlib
import os
import signal
from pathlib import Path

import torch

from gramlab.data import DataSet
from gramlab.nets import Fit, build, checkpoint, fit
from gramlab.nets.team import Team

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


def die(*_: object) -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(moment: str | None) -> None:
    """Set the trap: "middle" of the second epoch, its "end", or while the checkpoint "write" is half done."""
    plain_step, plain_rows, plain_save, plain_file = Team.step, Team.evaluate, checkpoint.save, checkpoint.save_file

    def step(self, index, number, *given):
        return die() if number == 4 else plain_step(self, index, number, *given)

    def evaluate(self, epoch):
        rows = plain_rows(self, epoch)
        return die() if epoch == 2 else rows

    def half(tensors, path, about):
        plain_file(tensors, path, about)
        if about and '"step": 8' in about["about"]:
            whole = Path(path).read_bytes()
            Path(path).write_bytes(whole[: len(whole) // 2])
            die()

    # states are kept in the midst of an epoch, and what is lost is more than the last step
    Team.BLOCK = 2
    checkpoint.save = lambda folder, number, *given: plain_save(folder, number, *given) if number % 3 == 2 else None
    if moment == "middle":
        Team.step = step
    elif moment == "end":
        Team.evaluate = evaluate
    elif moment == "write":
        checkpoint.save_file = half


def train(model: str, optimizer: str, data: Path, scratch: Path) -> str:
    """Three epochs of three steps; hashes of all that they leave."""
    spec, more = MODELS[model]
    shared = {"lr": 0.01, "batch": 20, "epochs": 3, "snapshots": (0, 2, 3), "name": ("kill",)}
    how = Fit(**shared | OPTIMIZERS[optimizer] | more)
    found = DataSet.load(data)
    net = build(**spec, shape=found.x_train.shape[1:], outputs=found.outputs)
    snapshots, history = fit(net, found, how, 2, scratch, keep_seconds=0)
    left = [hashlib.sha256(path.read_bytes()).hexdigest() for path in snapshots.values()]
    return " ".join([*left, hashlib.sha256(repr(history).encode()).hexdigest()])


def child(runs: list[tuple[str, str, Path, str | None]], data: Path, out: Path) -> None:
    """Train each (model, optimizer, scratch, moment of death) and write their hashes, a line each."""
    torch.set_num_threads(1)
    arm(runs[-1][3])
    out.write_text("\n".join(train(model, optimizer, data, scratch) for model, optimizer, scratch, _ in runs))
