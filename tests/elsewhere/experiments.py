"""What every experiment measures on its networks, measured on a device that is not the CPU: the same table."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
import torch
from pretend import Pretend

from tasks import prepare, stage, train
from tasks.measuring.run import Run
from tasks.papers.fact.experiments import c_parity
from tasks.settings import Settings, merged, read
from tasks.settings.simulation import Simulate

SMALL = {"epochs": 2, "snapshots": 1, "history_every": 1, "seeds": 2}


def shrunk() -> dict:
    """params.yaml with short trainings."""
    raw = read()
    for entry in raw["train"].values():
        entry["paper"] = merged(entry["paper"], SMALL)
        entry["quick"] = merged(entry["quick"] or {}, SMALL)
        for variants in (entry["paper"].get("variants", {}), entry["quick"].get("variants", {})):
            for variant in variants.values():
                (variant or {}).pop("epochs", None)
    return raw


def different() -> list[str]:
    """One key for each function that measures, and each kind of network it measures on."""
    settings = Settings(read(), "quick")
    found: dict = {}
    for key in settings.measure:
        measure: Callable = import_module(f"tasks.experiments.{key}").measure
        found.setdefault((measure, settings.train[key].model.kind), key)
    return list(found.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project's folder for the real stages, which have small settings there."""
    there, raw = tmp_path_factory.mktemp("project"), shrunk()
    (there / "gramlab" / "data").mkdir(parents=True)
    for name in ("losses.py", "streams.py"):
        (there / "gramlab" / name).touch()
    threads, determinism = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.settings.read", lambda: raw)
        patch.setattr(train, "ROOT", there)
        yield there
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(determinism)


@pytest.mark.parametrize("key", different())
def test_an_experiment(key: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(kind: str, key: str) -> stage.Stage:
        one = stage.Stage(kind, key, "quick")
        one.data = folder / "data"
        monkeypatch.setattr(stage, "arguments", lambda _: one)
        return one

    monkeypatch.setattr(sys, "argv", [])
    used = made("measure", key).settings
    if not made("prepare", used.train[key].data).dataset(used.train[key].data).exists():
        prepare.main()
    made("train", key)
    train.main()
    measure = import_module(f"tasks.experiments.{key}").measure
    here = list(measure(used.measure[key], Run(made("measure", key))))
    with Pretend():
        there = list(measure(used.measure[key], Run(made("measure", key), device="pretend")))
    assert len(here) > 10
    for row, other in zip(here, there, strict=True):
        assert other == {**row, "value": pytest.approx(row["value"], rel=1e-6, abs=1e-9)}


def test_kernel_machines_on_parities() -> None:
    least = {"samples": 60, "test_samples": 20, "dimension": 6, "steps": 2}
    parities = [{"degree": 2, **least}, {"degree": 3, "transition": True, **least}]
    settings = Simulate.model_validate({"instances": 1, "ridges": [1e-6, 1e-4], "parities": parities})
    here = list(c_parity.measure(settings, "cpu"))
    with Pretend():
        there = list(c_parity.measure(settings, "pretend"))
    assert len(here) > 100
    for row, other in zip(here, there, strict=True):
        assert other == {**row, "value": pytest.approx(row["value"], rel=1e-6, abs=1e-9)}
