"""Training against a hand-written loop, seeds together against alone, and interruption against none."""

import hashlib
import itertools
import multiprocessing
import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from gramlab.data import DataSet, prepare
from gramlab.losses import LOSSES
from gramlab.nets import Diverged, Fit, checkpoint, fit, initialize, mlp
from gramlab.nets.checkpoint import CheckpointError
from gramlab.streams import stream

HOW = Fit(lr=0.05, batch=32, epochs=3, snapshots=(0, 1, 3), name=("test",), dtype="float64")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=150, test=40)


def weights(path, seed):
    return {key: value[seed] for key, value in load_file(path).items() if not key.startswith("observer:")}


@pytest.mark.parametrize(
    ("optimizer", "options", "make"),
    [
        ("sgd", {"momentum": 0.9, "weight_decay": 1e-3, "schedule": "cosine"}, torch.optim.SGD),
        ("adam", {}, torch.optim.Adam),
        ("adamw", {"weight_decay": 0.1}, torch.optim.AdamW),
    ],
)
def test_each_seed_trains_as_a_bare_loop_would(digits, tmp_path, optimizer, options, make):
    how = Fit(**{**vars(HOW), "optimizer": optimizer, **options, "lr": 0.01})
    snapshots, history = fit(mlp(64, [16, 12], 10), digits, how, 2, tmp_path)
    x, y = digits.numbers(digits.x_train, torch.float64).flatten(1), digits.y_train
    for seed in range(2):
        model = mlp(64, [16, 12], 10).double()
        model.load_state_dict(initialize(model, ("test", seed)))
        given = {key: value for key, value in options.items() if key != "schedule"}
        steps = make(model.parameters(), lr=0.01, **given)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(steps, 3 * 5) if "schedule" in options else None
        for epoch in range(3):
            order = torch.from_numpy(stream("test", seed, "order", epoch).permutation(150))
            for rows in order.split(32):
                steps.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                steps.step()
                if schedule:
                    schedule.step()
        for key, value in weights(snapshots[3], seed).items():
            torch.testing.assert_close(value, model.state_dict()[key], rtol=1e-9, atol=1e-11)
        right = float((model(x).argmax(1) == y).double().mean())
        last = [row["value"] for row in history if row["quantity"] == "train_accuracy" and row["seed"] == seed][-1]
        assert last == pytest.approx(right)


def test_seeds_differ_and_history_counts_steps(digits, tmp_path):
    snapshots, history = fit(mlp(64, [8], 10), digits, HOW, 3, tmp_path)
    first = [weights(snapshots[0], seed)["0.weight"] for seed in range(3)]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(first, 2))
    assert {row["step"] for row in history} == {0, 5, 10, 15}


def test_observers_sum_their_definitions(digits, tmp_path):
    """Virtual Covariance Shift and virtual update against sums of plain autograd over the same steps."""
    how = Fit(**{**vars(HOW), "epochs": 2, "snapshots": (2,), "observe": ("virtual_shift",)})
    got = load_file(fit(mlp(64, [6], 10), digits, how, 1, tmp_path / "a")[0][2])
    x, y = digits.numbers(digits.x_train, torch.float64).flatten(1), digits.y_train
    model = mlp(64, [6], 10).double()
    model.load_state_dict(initialize(model, ("test", 0)))
    shift = torch.zeros(64, 64, dtype=torch.float64)
    for epoch in range(2):
        for rows in torch.from_numpy(stream("test", 0, "order", epoch).permutation(150)).split(32):
            h = x[rows].clone().requires_grad_()
            loss = LOSSES["cross_entropy"](model(h), y[rows]).mean()
            at_h, *at_theta = torch.autograd.grad(loss, [h, *model.parameters()])
            virtual = (h - how.lr * at_h).detach()
            shift += virtual.T @ virtual - x[rows].T @ x[rows]
            with torch.no_grad():
                for part, step in zip(model.parameters(), at_theta, strict=True):
                    part -= how.lr * step
    half = got["observer:virtual_shift"][0]
    torch.testing.assert_close(-(half + half.T), shift, rtol=1e-9, atol=1e-9)
    assert not torch.allclose(got["observer:virtual_shift/shuffled"], got["observer:virtual_shift"])


def test_a_loss_that_is_not_finite_names_seed_and_step(digits, tmp_path):
    how = Fit(**{**vars(HOW), "loss": "mse", "lr": 1e200, "epochs": 5})
    with pytest.raises(Diverged, match=r"seed 0 is not a finite number at step \d+"):
        fit(mlp(64, [8], 10), digits, how, 2, tmp_path)


def _train(scratch, data, die_at, out):
    plain, kept = checkpoint.save, itertools.count(1)

    def save(*given):
        plain(*given)
        if next(kept) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.save = save
    torch.set_num_threads(1)
    seen = {"snapshots": (0, 2, 3), "observe": ("virtual_shift",)}
    how = Fit(lr=0.01, optimizer="adam", batch=32, epochs=3, name=("kill",), **seen)
    snapshots, history = fit(mlp(64, [16], 10), DataSet.load(data), how, 2, scratch, keep_seconds=0)
    left = [hashlib.sha256(path.read_bytes()).hexdigest() for path in snapshots.values()]
    out.write_text(" ".join([*left, hashlib.sha256(repr(history).encode()).hexdigest()]))


@pytest.fixture(scope="module")
def trained(digits, tmp_path_factory):
    """Hashes of all that a training leaves, or None where it killed itself at its ``die_at``-th checkpoint.

    Each runs in a process of its own, so that SIGKILL is real; forked from one that has torch imported and idle.
    """
    folder = tmp_path_factory.mktemp("trained")
    digits.save(folder / "digits.safetensors")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gramlab.nets", "torch._dynamo"])

    def run(scratch, die_at=0):
        (folder / "out").unlink(missing_ok=True)
        process = context.Process(target=_train, args=(scratch, folder / "digits.safetensors", die_at, folder / "out"))
        process.start()
        process.join(60)
        assert process.exitcode == (-signal.SIGKILL if die_at else 0)
        return None if die_at else (folder / "out").read_text()

    return run


def test_killed_and_resumed_training_ends_in_the_same_bytes(trained, tmp_path):
    whole = trained(tmp_path / "whole")
    assert len(whole.split()) == 4
    assert trained(tmp_path / "killed", die_at=7) is None  # in the second epoch
    assert trained(tmp_path / "killed", die_at=3) is None  # and once more, at its end
    assert trained(tmp_path / "killed") == whole


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(trained, tmp_path, caplog):
    whole = trained(tmp_path / "whole")
    trained(tmp_path / "killed", die_at=3)
    files = sorted((tmp_path / "killed").glob("step-*.safetensors"))
    assert len(files) == 2
    files[1].write_bytes(files[1].read_bytes()[:-100])
    path, _, about = checkpoint.newest(tmp_path / "killed")
    assert (path, about["step"]) == (files[0], 2)
    assert str(files[1]) in caplog.text
    assert trained(tmp_path / "killed") == whole


def test_no_silent_restart_when_every_checkpoint_is_damaged(trained, digits, tmp_path):
    trained(tmp_path / "killed", die_at=3)
    for file in (tmp_path / "killed").glob("step-*.safetensors"):
        file.write_bytes(b"")
    with pytest.raises(CheckpointError, match=f"{tmp_path}.*every checkpoint is damaged"):
        fit(mlp(64, [16], 10), digits, HOW, 2, tmp_path / "killed")


def test_resume_depends_on_the_optimizers_state(trained, tmp_path):
    """The comparison of bytes can fail: without Adam's moments the resumed run ends elsewhere."""
    whole = trained(tmp_path / "whole")
    trained(tmp_path / "killed", die_at=3)
    path, tensors, about = checkpoint.newest(tmp_path / "killed")
    moments = {key: value * 0 if "exp_avg" in key else value for key, value in tensors.items()}
    checkpoint.save(path.parent, about.pop("step"), moments, about)
    assert trained(tmp_path / "killed") != whole
