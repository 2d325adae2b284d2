"""What interrupted trainings leave in .scratch once their settings have changed, in a copy of the project."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

KEY = "a_fig7"
OTHERS = ("quick-a_fig7_mnist-0123456789abcdef", "quick-a_fig-0123456789abcdef", "paper-a_fig7-0123456789abcdef",
          "quick-a_fig7-0123456789abcdef-0123456789abcdef", "logs", "rows")  # fmt: skip


@pytest.fixture
def clone(copy_project, environment):
    """A copy of the project with the data of a training."""
    clone = copy_project("abandoned")
    call = {"cwd": clone, "env": environment, "check": True, "capture_output": True}
    subprocess.run([sys.executable, "-m", "tasks.prepare", "photos"], **call)
    return clone


def set_training(clone: Path, lr: float, epochs: int) -> None:
    params = clone / "params.yaml"
    raw = yaml.safe_load(params.read_text())
    raw["machine"]["checkpoint_seconds"] = 0
    small = {"seeds": 1, "batch": 500, "snapshots": epochs, "observe": []}
    raw["weight_gram"]["train"][KEY]["quick"] = {"lr": lr, "epochs": epochs, **small}
    params.write_text(yaml.safe_dump(raw, sort_keys=False))


def train(clone: Path, environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-m", "tasks.train", KEY], cwd=clone, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


def states(clone: Path) -> set[Path]:
    """The folders of the key's trainings."""
    return set(clone.glob(f".scratch/quick-{KEY}-*")) - {clone / ".scratch" / name for name in OTHERS}


@contextmanager
def training(clone: Path, environment: dict[str, str], lr: float):
    """A training with another learning rate that takes hours; yields its state's folder. It is killed at the end."""
    set_training(clone, lr, epochs=1_000_000)
    before = states(clone)
    command = [sys.executable, "-m", "tasks.train", KEY]
    process = subprocess.Popen(command, cwd=clone, env=environment, start_new_session=True, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while not (begun := [path for path in states(clone) - before if list(path.glob("**/step-*.sha256"))]):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield begun[0]
        assert process.poll() is None, process.stderr.read()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_training_that_finishes_removes_the_states_of_its_key_that_nobody_uses(clone, environment):
    with training(clone, environment, lr=0.01) as abandoned:
        pass
    for name in OTHERS:
        (clone / ".scratch" / name).mkdir()
    half_removed = clone / ".scratch" / f"quick-{KEY}-fedcba9876543210.finished"
    half_removed.mkdir()
    with training(clone, environment, lr=0.02) as in_use:
        assert list(abandoned.glob("**/step-*.sha256")), "a training that begins removes nothing"
        set_training(clone, lr=0.03, epochs=2)
        train(clone, environment)
        assert states(clone) == {in_use}
    assert list(in_use.glob("**/step-*.sha256"))
    train(clone, environment)
    assert states(clone) == set(), "it is no longer in use"
    assert {path.name for path in (clone / ".scratch").iterdir()} == set(OTHERS)
