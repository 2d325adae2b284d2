"""Training by CUDA graphs on a real GPU: the weights of plain steps. Run by hand: ``pytest tests/gpu/graphs.py``."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from gramlab.data import prepare
from gramlab.nets import TrainingConfig, build, fit
from gramlab.nets.ensemble import Ensemble
from gramlab.nets.graphs import Replayed

MODELS = {
    "mlp": {"kind": "mlp", "hidden": [16, 12], "activation": "gelu"},
    "cnn": {"kind": "cnn", "channels": 4},
    "vae": {"kind": "vae", "hidden": [16], "latent": 3},
    "batch normalisation": {"kind": "resnet18", "width": 8, "depth": 2, "channels": 4},
}
OPTIMIZERS = {
    "sgd": {"lr": 0.02, "momentum": 0.9, "schedule": "cosine", "weight_decay": 0.01},
    "grid": {"grid": {"lr": [0.01, 0.02], "label_noise": [0.0, 0.5]}},
    "adam": {"optimizer": "adam", "lr": 0.001},
}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=110, test=20)


@pytest.mark.parametrize(
    ("kind", "optimizer"),
    # a vae has no labels
    [(kind, optimizer) for kind in MODELS for optimizer in OPTIMIZERS if (kind, optimizer) != ("vae", "grid")],
)
def test_replayed_steps_are_plain_steps(digits, tmp_path, monkeypatch, kind, optimizer):
    """The last batch of an epoch is smaller: 55 steps have two graphs for each group."""
    settings = {"batch": 20, "epochs": 9, "snapshots": (9,), "name": ("graphs",), **OPTIMIZERS[optimizer]}
    config = TrainingConfig(**settings, **({"loss": "vae"} if kind == "vae" else {}))
    model = build(**MODELS[kind], shape=digits.x_train.shape[1:], outputs=digits.outputs)
    replays = []
    original = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: (replays.append(1), original(graph))[1])
    replayed, history = fit(model, digits, config, 2, tmp_path / "replayed", "cuda")
    assert len(replays) >= 50
    monkeypatch.setattr(Replayed, "__call__", Replayed._call_plainly)
    plain, plain_history = fit(model, digits, config, 2, tmp_path / "plain", "cuda")
    assert replayed[9].read_bytes() == plain[9].read_bytes()
    assert history == plain_history
    cpu, _ = fit(model, digits, config, 2, tmp_path / "cpu", "cpu")
    if kind != "batch normalisation":  # it amplifies round-off
        for name, value in load_file(cpu[9]).items():
            torch.testing.assert_close(load_file(replayed[9])[name], value, rtol=2e-2, atol=1e-3)


def test_an_interrupted_training_ends_in_the_same_bytes(digits, tmp_path):
    config = TrainingConfig(lr=0.05, momentum=0.9, batch=20, epochs=9, snapshots=(9,), name=("graphs",))
    model = build("mlp", digits.x_train.shape[1:], digits.outputs, hidden=[16], activation="gelu")
    whole, _ = fit(model, digits, config, 2, tmp_path / "whole", "cuda")

    class Stop(Exception):
        pass

    def stop(step, steps, loss):
        if step >= 50:
            raise Stop

    with pytest.raises(Stop):
        fit(model, digits, config, 2, tmp_path / "resumed", "cuda", checkpoint_seconds=0, progress=stop)
    resumed, _ = fit(model, digits, config, 2, tmp_path / "resumed", "cuda")
    assert whole[9].read_bytes() == resumed[9].read_bytes()


def test_whitened_steps_are_not_replayed(digits):
    config = TrainingConfig(optimizer="whitened", lr=0.05)
    model = build("mlp", digits.x_train.shape[1:], digits.outputs, hidden=[16], activation="gelu")
    assert Ensemble(model, digits, config, 1, "cuda").replayed_step is None
    assert Ensemble(model, digits, replace(config, optimizer="adam"), 1, "cuda").replayed_step is not None
