"""All of the library on a fake GPU: the same numbers as on the CPU."""

import copy
import dataclasses
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import fake_gpu
import numpy as np
import pytest
import torch
from fake_gpu import DEVICE, FakeGPU
from safetensors.torch import load_file
from torch import Tensor, nn
from typer.testing import CliRunner

import gramlab
from gramlab.cli import app
from gramlab.data import DataSet, prepare
from gramlab.kernels.functions import Kernel
from gramlab.kernels.updates import iterates
from gramlab.nets import TrainingConfig, build, fit
from gramlab.tables import read

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 5))
Y = X[:, 0] * X[:, 1]
CLASSES = (Y > 0).astype(int)


@pytest.fixture(autouse=True)
def one_thread_and_determinism():
    """The settings of a stage."""
    threads, determinism = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(determinism)
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + torch.ones(4, 4),
        lambda x: torch.ones(4, 4).add_(x),
        lambda x: torch.cat([x, torch.ones(1, 4)]),
        lambda x: torch.ones(4, 4)[(x > 0)],
        lambda x: x.index_put((torch.tensor([0]),), torch.ones(1, 4)),
        lambda x: x.normal_(generator=torch.Generator()),
        lambda x: torch.randn(2, device=DEVICE, generator=torch.Generator()),
        lambda x: torch.bincount((x[0] > 0).long(), weights=x[0]),
        lambda x: torch.linalg.lstsq(x, x),
        lambda x: np.asarray(x),
        lambda x: nn.Linear(4, 2)(x),
        lambda x: torch.ops.aten._adaptive_avg_pool2d_backward(x[None, :2, :2], x[None]),
    ],
)
def test_the_fake_gpu_refuses_what_a_gpu_refuses(operation: Callable[[Tensor], Any]) -> None:
    with FakeGPU(), pytest.raises((RuntimeError, TypeError)):
        operation(torch.eye(4, device=DEVICE))


def test_the_fake_gpu_accepts_what_a_gpu_accepts() -> None:
    with FakeGPU():
        x = torch.eye(4).to(DEVICE)
        assert x.device == DEVICE
        assert (x * torch.tensor(2.0))[torch.tensor([0, 1])].cpu().equal(2 * torch.eye(4)[:2])
        x[:, 0].copy_(torch.zeros(4))
        assert float(x.sum()) == 3
        assert x.cpu().numpy().shape == (4, 4)


KERNELS = ("laplace", "gaussian", "exponential", "polynomial", "quadratic")


@pytest.mark.parametrize(
    "settings",
    [
        *({"kernel": kernel, "update": update} for kernel, update in zip(
            KERNELS, ("agop", "fact", "fact-geometric", "fact-simplified", None), strict=True)),
        {"dtype": "float32", "update": "fact"},
        {"ridge": 0.0, "kernel": "gaussian", "bandwidth": 100.0},  # a singular kernel matrix
        {"solver": "iterative", "early_stopping": False},
        {"task": "classification"},
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rfm(settings: dict[str, Any], tmp_path: Path) -> None:
    targets = CLASSES if "task" in settings else Y
    on_cpu = gramlab.RFM(device="cpu", **settings).fit(X, targets)
    with FakeGPU():
        on_gpu = gramlab.RFM(device="fake_gpu", **settings).fit(X, targets)
        predicted = on_gpu.predict(X[::2])
        on_gpu.save(tmp_path / "rfm")
    assert np.array_equal(predicted, on_cpu.predict(X[::2]))
    assert np.array_equal(on_gpu.features_, on_cpu.features_)
    loaded = gramlab.RFM.load(tmp_path / "rfm")
    loaded.device = "cpu"
    assert np.array_equal(loaded.predict(X[::2]), predicted)


@pytest.mark.parametrize(
    "settings",
    [{"kernel": "gaussian"}, {"features": "fourier"}, {"dtype": "mixed"}, {"dtype": "float32"}, {"agop": False}],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_deep_rfm(settings: dict[str, Any]) -> None:
    settings = {"n_layers": 2, "n_features": 40, **settings}
    on_cpu = gramlab.DeepRFM(device="cpu", **settings).fit(X, CLASSES)
    with FakeGPU():
        on_gpu = gramlab.DeepRFM(device="fake_gpu", **settings).fit(X, CLASSES)
        transformed, predicted = on_gpu.transform(X), on_gpu.predict(X)
    assert np.array_equal(transformed, on_cpu.transform(X))
    assert np.array_equal(predicted, on_cpu.predict(X))
    for layer, expected in zip(on_gpu.layers_, on_cpu.layers_, strict=True):
        for name in ("nc1", "nc2", "within", "across"):
            assert getattr(layer, name) == getattr(expected, name)
        assert np.array_equal(layer.gram, expected.gram)


def test_the_iterates_of_rfm() -> None:
    x, y, kernel = torch.from_numpy(X), torch.from_numpy(Y)[:, None], Kernel("gaussian", 3.0)
    expected = [iterate.M for iterate in islice(iterates("fact", kernel, x, y, 0.1, leave_one_out=True), 3)]
    with FakeGPU():
        on_gpu = iterates("fact", kernel, x.to(DEVICE), y.to(DEVICE), 0.1, leave_one_out=True)
        features = [iterate.M.cpu() for iterate in islice(on_gpu, 3)]
    assert all(M.equal(M_on_cpu) for M, M_on_cpu in zip(features, expected, strict=True))


DIGITS = prepare("digits", Path(), train=64, test=32)


def images(side: int) -> DataSet:
    x_train, x_test = (nn.functional.interpolate(x.float(), size=(side, side)) for x in (DIGITS.x_train, DIGITS.x_test))
    return dataclasses.replace(DIGITS, x_train=x_train, x_test=x_test)


NETWORKS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "GD, NTK": ("mlp", {"hidden": [16]}, {"loss": "mse", "parametrization": "ntk", "batch": None}, 2),
    "SGD": ("mlp", {"hidden": [16]}, {"momentum": 0.9, "grid": {"label_noise": [0.0, 0.5]}}, 2),
    "AdamW": ("mlp", {"hidden": [16]}, {"optimizer": "adamw", "grid": {"weight_decay": [0.0, 0.1]}}, 2),
    "cosine": ("deep_linear", {"hidden": [16]}, {"schedule": "cosine", "init": "orthogonal"}, 3),
    "whitened": ("mlp", {"hidden": [16]}, {"optimizer": "whitened", "method": "svd"}, 2),
    "observed": ("mlp", {"hidden": [16]}, {"observe": ("virtual_shift",)}, 2),
    "unrolled": ("mlp", {"hidden": [16]}, {"observe": ("virtual_update",), "batch": None}, 2),
    "VAE": ("vae", {"hidden": [16], "latent": 2}, {"loss": "vae", "optimizer": "adam", "grid": {"beta": [0.5, 2]}}, 2),
    "CNN, whitened": ("cnn", {}, {"optimizer": "whitened_complement"}, 2),
    "one ResNet-18": ("resnet18", {"channels": 4, "width": 16, "depth": 2}, {"optimizer": "adam"}, 1),
    "ResNet-18": ("resnet18", {"channels": 4, "width": 16, "depth": 2}, {}, 2),
    "VGG-11": ("vgg11", {"channels": 4, "width": 16, "depth": 2}, {"optimizer": "adam"}, 2),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_training(name: str, tmp_path: Path) -> None:
    kind, shape, settings, seeds = NETWORKS[name]
    data = images(32 if kind in ("resnet18", "vgg11") else 8)
    model = build(kind, data.x_train.shape[1:], 64 if kind == "vae" else 10, **shape)
    shared = {"lr": 0.01, "batch": 16, "epochs": 2, "snapshots": (0, 2), "dtype": "float64"}
    config = TrainingConfig(**{**shared, **settings})
    on_cpu, expected_history = fit(model, data, config, seeds, tmp_path / "cpu")
    with FakeGPU():
        on_gpu, history = fit(model, data, config, seeds, tmp_path / "gpu", "fake_gpu")
    weights, expected = load_file(on_gpu[2]), load_file(on_cpu[2])
    assert weights.keys() == expected.keys()
    for key, value in expected.items():  # members that are computed together are summed in another order
        assert torch.allclose(weights[key], value, rtol=1e-9, atol=1e-12), key
    for row, expected_row in zip(history, expected_history, strict=True):
        assert row == {**expected_row, "value": pytest.approx(expected_row["value"], rel=1e-9)}


@pytest.mark.parametrize("name", ["SGD", "AdamW", "observed"])
def test_an_interrupted_training_ends_in_the_same_bytes(name: str, tmp_path: Path) -> None:
    kind, shape, settings, seeds = NETWORKS[name]
    model = build(kind, DIGITS.x_train.shape[1:], 10, **shape)
    config = TrainingConfig(**{"lr": 0.01, "batch": 16, "epochs": 26, "snapshots": (26,), **settings})

    def interrupt(step: int, steps: int, loss: float) -> None:
        if 50 <= step < steps:
            raise KeyboardInterrupt

    with FakeGPU():
        uninterrupted, _ = fit(model, DIGITS, config, seeds, tmp_path / "uninterrupted", "fake_gpu")
        with pytest.raises(KeyboardInterrupt):
            fit(model, DIGITS, config, seeds, tmp_path / "resumed", "fake_gpu", 0.0, interrupt)
        assert list((tmp_path / "resumed").glob("step-*"))
        resumed, _ = fit(model, DIGITS, config, seeds, tmp_path / "resumed", "fake_gpu")
    assert resumed[26].read_bytes() == uninterrupted[26].read_bytes()


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 6), nn.Tanh(),
                         nn.Linear(6, 10)).eval()  # fmt: skip


@pytest.mark.parametrize("samples_on_gpu", [True, False])
def test_measure(samples_on_gpu: bool) -> None:
    model, x, y = network(), DIGITS.x_train.float(), DIGITS.y_train
    start = {key: value + 0.1 for key, value in model.state_dict().items()}
    names = ["gram", "agop", "ptk", "enfa", "fact", "back_fact", "centered_agop", "centered_ptk",
             "double_centered_agop"]  # fmt: skip

    def quantities(model: nn.Module, x: Tensor, y: Tensor) -> list[Tensor]:
        layers = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=0.1, initial=start, batch_size=40,
                                 quantities=names)  # fmt: skip
        return [getattr(layer, name).cpu() for layer in layers.values() for name in names]

    expected = quantities(model, x, y)
    with FakeGPU():
        device = DEVICE if samples_on_gpu else "cpu"
        on_gpu = quantities(copy.deepcopy(model).to(DEVICE), x.to(device), y.to(device))
    assert all(value.equal(value_on_cpu) for value, value_on_cpu in zip(on_gpu, expected, strict=True))


def collapse(H: Tensor, labels: Tensor) -> tuple[float, ...]:
    running = gramlab.RunningCollapse()
    for features, classes in zip(H.split(20), labels.split(20), strict=True):
        running.add(features, classes)
    at_once, in_parts = gramlab.neural_collapse(H, labels), running.collapse()
    return at_once.nc1, at_once.nc2, at_once.total, in_parts.nc1, in_parts.nc2


A = torch.from_numpy(X[:40])
LABELS = torch.from_numpy(CLASSES[:40])


@pytest.mark.parametrize(
    "function",
    [
        lambda H, y: gramlab.cosine(H, H.roll(1, 0)),
        lambda H, y: gramlab.pearson(H.T @ H, H.T @ H.roll(1, 0), diagonal=True),
        lambda H, y: gramlab.cosine_null(H.T @ H, H.roll(1, 0).T @ H.roll(1, 0)),
        lambda H, y: gramlab.random_eigenvectors(H.T @ H, np.random.default_rng(0)).cpu(),
        lambda H, y: gramlab.psd_power(H.T @ H, 0.5).cpu(),
        lambda H, y: gramlab.target_linearity(H, y.double()[:, None], center=True),
        lambda H, y: gramlab.surrogate(H, H[:3], y.double()),
        # one of the matrices is on the CPU
        lambda H, y: gramlab.cosine(H, H.roll(1, 0).cpu()),
        lambda H, y: gramlab.cosine_null(H.T @ H, H.cpu().roll(1, 0).T @ H.cpu().roll(1, 0)),
        lambda H, y: gramlab.target_linearity(H, y.double()[:, None].cpu()),
        lambda H, y: gramlab.surrogate(H, H[:3].cpu(), y.double().cpu()),
        lambda H, y: gramlab.k_norm(H, H[:, :2].cpu()),
        lambda H, y: gramlab.k_norm(H, H[:, :2]),
        collapse,
        lambda H, y: collapse(H, y.cpu()),
        lambda H, y: gramlab.features(nn.Sequential(nn.Linear(5, 3).double()).to(H.device), H, ["0"]),
    ],
)
def test_measures_of_matrices(function: Callable[[Tensor, Tensor], Any]) -> None:
    torch.manual_seed(0)
    expected = function(A, LABELS)
    with FakeGPU():
        torch.manual_seed(0)
        result = function(A.to(DEVICE), LABELS.to(DEVICE))
        if isinstance(result, dict):
            result = {key: value.cpu() for key, value in result.items()}
    torch.testing.assert_close(result, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["float32", "float64", "ill-conditioned"])
def test_many_samples_take_few_operations(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting an operation on a GPU takes longer than a product of a few hundred rows."""
    draw = np.random.default_rng(1)
    H = draw.normal(size=(30_000, 8)).astype("float32" if kind == "float32" else "float64")
    H += 1e7 * (kind == "ill-conditioned")
    Y = H[:, :1].astype("float64") ** 2 + draw.normal(size=(30_000, 2))
    fit = H.astype("float64") @ np.linalg.lstsq(H.astype("float64"), Y)[0]
    expected = 1 - ((Y - fit) ** 2).sum() / ((Y - Y.mean(0)) ** 2).sum()
    started = []
    run = fake_gpu.run

    def counted(operation: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        started.append(operation)
        return run(operation, args, kwargs)

    with FakeGPU():
        features, targets = torch.from_numpy(H).to(DEVICE), torch.from_numpy(Y).to(DEVICE)
        monkeypatch.setattr(fake_gpu, "run", counted)
        linearity = gramlab.target_linearity(features, targets)
        surrogate = gramlab.surrogate(features, features[:3], targets)
        norm = gramlab.k_norm(features, targets)
    assert len(started) < 500  # with blocks of the size for a CPU: more than a thousand
    assert linearity == pytest.approx(expected, rel=1e-9, abs=1e-9)
    projected = H.astype("float64").T @ Y
    assert surrogate == pytest.approx(((H[:3].astype("float64") @ projected) ** 2).sum(), rel=1e-12)
    assert norm == pytest.approx(np.linalg.norm(projected), rel=1e-12)


def recorded(model: nn.Module, x: Tensor, y: Tensor, path: Path) -> list[dict[str, Any]]:
    """The rows of a Recorder in a user's training loop with WhitenedSGD."""
    optimizer = gramlab.WhitenedSGD(model.parameters(), lr=0.1)
    with gramlab.Recorder(model, x, y, path, every=2, loss="cross_entropy", lr=0.1) as recorder:
        for _ in range(4):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            recorder.step()
    return read(path).to_pylist()


def test_gramlab_probe(tmp_path: Path) -> None:
    network = "nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))"
    (tmp_path / "net.py").write_text(f"from torch import nn\ndef net(): return {network}\n")
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    np.save(tmp_path / "y.npy", CLASSES)
    for device in ("cpu", "fake_gpu"):
        arguments = ["probe", f"{tmp_path}/net.py:net", "--data", str(tmp_path), "--out", f"{tmp_path}/{device}"]
        torch.manual_seed(0)
        with FakeGPU():
            result = CliRunner().invoke(app, [*arguments, "--device", device], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert read(tmp_path / "fake_gpu/probe.parquet").equals(read(tmp_path / "cpu/probe.parquet"))


def test_a_recorder_in_a_training_loop(tmp_path: Path) -> None:
    x, y = DIGITS.x_train.float(), DIGITS.y_train
    expected = recorded(network(), x, y, tmp_path / "cpu.parquet")
    with FakeGPU():
        rows = recorded(network().to(DEVICE), x.to(DEVICE), y.to(DEVICE), tmp_path / "gpu.parquet")
    assert rows == expected
