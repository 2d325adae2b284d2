"""Interrupted and uninterrupted training give the same bytes; damaged and foreign checkpoints; a full disk."""

import itertools
import json
import multiprocessing
import resource
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from killed import MODELS, OPTIMIZERS, child
from safetensors.torch import save_file

from gramlab.data import prepare
from gramlab.files import sha256
from gramlab.nets import TrainingConfig, checkpoint, fit, mlp
from gramlab.nets.checkpoint import CheckpointError

COMBINATIONS = list(itertools.product(MODELS, OPTIMIZERS))
CONFIG = TrainingConfig(lr=0.05, batch=20, epochs=2, snapshots=(0, 2), name=("faults",))


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=60, test=20)


@pytest.fixture(scope="module")
def trained(digits, tmp_path_factory):
    """A function that trains in a process of its own and returns hashes of the results, or None if it was killed.

    SIGKILL is real. The processes are forked from one that has imported torch.
    """
    folder = tmp_path_factory.mktemp("trained")
    digits.save(folder / "digits.safetensors")
    context = multiprocessing.get_context("forkserver")
    # the first step of a training imports torch's compiler, which takes seconds
    context.set_forkserver_preload(["gramlab.nets", "torch._dynamo", "pytest"])

    def run(*runs):
        (folder / "out").unlink(missing_ok=True)
        process = context.Process(target=child, args=(runs, folder / "digits.safetensors", folder / "out"))
        process.start()
        process.join(120)
        assert process.exitcode == (-signal.SIGKILL if runs[-1][3] else 0)
        return None if runs[-1][3] else (folder / "out").read_text().split("\n")

    return run


@pytest.fixture(scope="module")
def uninterrupted(trained, tmp_path_factory):
    """Hashes of the results of each combination, if nothing interrupts it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    hashes = trained(*((*names, folder / "-".join(names), None) for names in COMBINATIONS))
    assert len(set(hashes)) == len(COMBINATIONS)
    return dict(zip(COMBINATIONS, hashes, strict=True))


@pytest.mark.parametrize("names", COMBINATIONS, ids="-".join)
def test_killed_and_resumed_training_ends_in_the_same_bytes(trained, uninterrupted, tmp_path, names):
    """It is killed within an epoch, resumed and killed at its end, resumed and killed while it writes a checkpoint."""
    for moment in ("middle", "end", "write"):
        assert trained((*names, tmp_path / "killed", moment)) is None
    assert list((tmp_path / "killed").glob(".*.part"))  # half a checkpoint is there
    assert trained((*names, tmp_path / "killed", None)) == [uninterrupted[names]]


@pytest.mark.parametrize(
    ("names", "change"),
    [
        (("mlp", "adam"), {"exp_avg": 0.0}),  # the moments of the gradient
        (("cnn", "whitened"), {"momentum_buffer": 0.0}),
        (("mlp", "sgd"), {"observer": 0.0}),  # the sums over all steps
        (("vae", "sgd"), {"step": -1}),  # the name of every random stream: batches, the VAE's noise
    ],
)
def test_resume_depends_on_every_part_of_the_state(trained, uninterrupted, tmp_path, names, change):
    """The comparison of bytes can fail: if one part of the state is lost, the resumed training gives other bytes."""
    trained((*names, tmp_path, "middle"))
    path, tensors, metadata = checkpoint.newest(tmp_path)
    step = metadata.pop("step") + change.get("step", 0)
    changed = {key: value * 0 if any(part in key for part in change) else value for key, value in tensors.items()}
    path.unlink()
    checkpoint.save(tmp_path, step, changed, metadata)
    assert trained((*names, tmp_path, None)) != [uninterrupted[names]]


@pytest.fixture
def saved(digits, tmp_path):
    """A folder with two checkpoints of a training."""
    fit(mlp(64, [8], 10), digits, CONFIG, 2, tmp_path, checkpoint_seconds=0)
    assert len(list(tmp_path.glob("step-*.safetensors"))) == 2
    return tmp_path


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(saved, caplog):
    before, newest = sorted(saved.glob("step-*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-100])
    path, _, metadata = checkpoint.newest(saved)
    assert (path, metadata["step"]) == (before, 4)
    assert str(newest) in caplog.text


def test_a_training_does_not_restart_silently_if_every_checkpoint_is_damaged(saved, digits):
    for file in saved.glob("step-*.safetensors"):
        file.write_bytes(b"")
    with pytest.raises(CheckpointError, match=f"{saved}.*every checkpoint is damaged"):
        fit(mlp(64, [8], 10), digits, CONFIG, 2, saved)


@pytest.mark.parametrize(
    ("model", "change", "says"),
    [
        (mlp(64, [9], 10), {}, r"with architecture .*0.weight.*\[2, 8, 64\].*\[2, 9, 64\]"),
        (mlp(64, [8, 8], 10), {}, r"with architecture .*4.weight"),
        (mlp(64, [8], 10), {"optimizer": "adam"}, "with settings {'optimizer': 'sgd'}; .* {'optimizer': 'adam'}"),
        (
            mlp(64, [8], 10),
            {"momentum": 0.5},
            "with settings {'momentum': 0.0}; .* {'momentum': 0.5}",
        ),
        (mlp(64, [8], 10), {"lr": 0.06}, "with settings {'lr': .*}; this training has {'lr': 0.06}"),
        (mlp(64, [8], 10, "relu"), {}, "with model .*GELU.*ReLU"),
        (mlp(64, [8], 10), {"loss": "mse"}, "with settings {'loss': 'cross_entropy'}; .* {'loss': 'mse'}"),
        (mlp(64, [8], 10), {"batch": 31}, "with settings {'batch': .*; this training has {'batch': 31}"),
        (mlp(64, [8], 10), {"schedule": "cosine"}, "with settings .*'cosine'"),
        (mlp(64, [8], 10), {"name": ("other",)}, r"with settings .*\['other'\]"),
        (mlp(64, [8], 10), {"dtype": "float64"}, "with settings .*'float64'"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_with_the_difference(saved, digits, model, change, says):
    newest = sorted(saved.glob("step-*.safetensors"))[-1]
    with pytest.raises(CheckpointError, match=f"{newest}: .*{says}"):
        fit(model, digits, replace(CONFIG, **change), 2, saved)


def test_other_files_in_the_folder_stay(digits, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "epoch-000009.safetensors").write_bytes(b"of no known state")
    fit(mlp(64, [8], 10), digits, CONFIG, 2, tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "mine"
    assert not (tmp_path / "snapshots" / "epoch-000009.safetensors").exists()


def test_a_checkpoint_of_other_data_is_refused(saved, digits):
    other = digits.rows(train=torch.arange(len(digits.x_train)).flip(0))
    with pytest.raises(CheckpointError, match="with data"):
        fit(mlp(64, [8], 10), other, CONFIG, 2, saved)


def test_a_checkpoint_of_another_version_is_refused_by_name(saved, digits):
    path, tensors, metadata = checkpoint.newest(saved)
    save_file(tensors, path, {"about": json.dumps({**metadata, "version": 1})})
    path.with_suffix(".sha256").write_text(sha256(path))
    with pytest.raises(CheckpointError, match=f"{path}: version 1, this is version 3"):
        fit(mlp(64, [8], 10), digits, CONFIG, 2, saved)


@contextmanager
def no_file_above(limit):
    """Make writes beyond a number of bytes fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("limit", [1000, 10])  # the checkpoint is too large; its checksum is
def test_a_full_disk_leaves_the_state_as_it_was(saved, limit):
    _, tensors, metadata = checkpoint.newest(saved)
    before = {file.name: file.read_bytes() for file in saved.iterdir() if file.is_file()}
    small = {"weight": torch.zeros(1)} if limit == 10 else tensors
    with no_file_above(limit), pytest.raises(CheckpointError, match=r"step-000000099.*not written"):
        checkpoint.save(saved, 99, small, {"history": []})
    assert {file.name: file.read_bytes() for file in saved.iterdir() if file.is_file()} == before
    assert checkpoint.newest(saved)[2] == metadata


def test_a_full_disk_is_one_clear_error_and_the_training_can_start_later(digits, tmp_path):
    expected = fit(mlp(64, [8], 10), digits, CONFIG, 2, tmp_path / "enough", checkpoint_seconds=0)
    with no_file_above(8000), pytest.raises(CheckpointError, match=r"safetensors: not written \(.*\)"):
        fit(mlp(64, [64], 10), digits, CONFIG, 2, tmp_path / "full", checkpoint_seconds=0)
    assert not list((tmp_path / "full").rglob("*.safetensors"))
    snapshots, history = fit(mlp(64, [8], 10), digits, CONFIG, 2, tmp_path / "full", checkpoint_seconds=0)
    assert history == expected[1]
    assert [path.read_bytes() for path in snapshots.values()] == [path.read_bytes() for path in expected[0].values()]
