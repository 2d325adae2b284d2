"""What every experiment measures on its networks, on a fake GPU: the same table as on the CPU."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import torch
from fake_gpu import FakeGPU

from tasks import papers, prepare, stage, train
from tasks.measuring import nulls, resumable
from tasks.measuring.run import Run
from tasks.papers.centered_nfa.experiments import b_centerings
from tasks.papers.fact.experiments import c_parity
from tasks.settings import Settings, merged, read

SMALL = {"epochs": 1, "snapshots": 1, "history_every": 1, "seeds": 2}
IMAGES = 200  # for training, of the 1437 digits
FULL_SETTINGS = Settings(read(), "quick")


def measure_function(key: str) -> Callable[[Run], Iterable[dict]]:
    return papers.experiment(FULL_SETTINGS.paper[key], key).measure


def different_experiments() -> list[str]:
    """One training run for each function that measures, and for each kind of network that it measures."""
    keys: dict = {}
    for key, run in FULL_SETTINGS.train.items():
        # by code, since some experiments have equal functions in files of their own
        keys.setdefault((measure_function(key).__code__, run.model.kind), key)
    return list(keys.values())


def with_short_trainings(raw: dict) -> dict:
    """The content of params.yaml, with small numbers of epochs, seeds and points of grids."""
    for paper in papers.names():
        for entry in (raw[paper].get("train") or {}).values():
            for scale in ("paper", "quick"):
                entry[scale] = merged(entry.get(scale) or {}, SMALL)
                for axis, values in entry[scale].get("grid", {}).items():
                    entry[scale]["grid"][axis] = list(dict.fromkeys((values[0], values[-1])))
                for changes in ("arms", "variants"):
                    for change in filter(None, entry[scale].get(changes, {}).values()):
                        change.pop("epochs", None)
                        if "samples" in change:  # some of the images, as before
                            change["samples"] = IMAGES // 2 if change["samples"] < 1000 else IMAGES
    return raw


def with_few_images(raw: dict) -> dict:
    """The content of params.yaml, with small sets of digits, which the quick scale takes for all photos."""
    for entry in raw["data"].values():
        quick = entry.get("quick") or {}
        for images in (quick, *filter(None, (quick.get("sets") or {}).values())):
            if images.get("source") == "digits":
                images["train"] = min(images.get("train") or IMAGES, IMAGES)
    return raw


def assert_same_rows(rows: Iterable[dict], expected: list[dict]) -> None:
    for row, expected_row in zip(rows, expected, strict=True):
        assert row == {**expected_row, "value": pytest.approx(expected_row["value"], rel=1e-6, abs=1e-9)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a project with small settings, for the real stages."""
    root, raw = tmp_path_factory.mktemp("project"), with_few_images(with_short_trainings(read()))
    (root / "gramlab" / "data").mkdir(parents=True)
    for name in ("losses.py", "streams.py"):
        (root / "gramlab" / name).touch()
    threads, determinism = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.settings.read", lambda: raw)
        patch.setattr(train, "ROOT", root)
        patch.setattr(resumable, "FOLDER", root / "rows")
        patch.setattr(nulls, "DRAWS", 4)  # instead of 40, which take most of the time of a measurement
        patch.setattr(sys, "argv", [])
        yield root
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(determinism)


@pytest.mark.parametrize("key", different_experiments())
def test_an_experiment(key: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def current_stage(kind: str, key: str) -> stage.Stage:
        """A stage in the folder, which the program of its kind then runs."""
        small_stage = stage.Stage(kind, key, "quick")
        small_stage.data = folder / "data"
        monkeypatch.setattr(stage, "arguments", lambda _: small_stage)
        return small_stage

    data = current_stage("measure", key).settings.train[key].data
    if not current_stage("prepare", data).dataset(data).exists():
        prepare.main()
    current_stage("train", key)
    train.main()
    measure = measure_function(key)
    expected = list(measure(Run(current_stage("measure", key))))
    assert len(expected) > 10
    resumable.forget_parts(key)  # else the fake GPU's measurement would read them
    with FakeGPU():
        assert_same_rows(list(measure(Run(current_stage("measure", key), device="fake_gpu"))), expected)


def test_kernel_machines_on_parities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "FOLDER", tmp_path / "of the CPU")
    small = {"samples": 60, "test_samples": 20, "dimension": 6, "steps": 2}
    parities = [{"degree": 2, **small}, {"degree": 3, "transition": True, **small}]
    settings = c_parity.Settings.model_validate({"instances": 1, "ridges": [1e-6, 1e-4], "parities": parities})
    expected = list(c_parity.measure(settings, "cpu"))
    assert len(expected) > 100
    monkeypatch.setattr(resumable, "FOLDER", tmp_path / "of the GPU")
    with FakeGPU():
        assert_same_rows(list(c_parity.measure(settings, "fake_gpu")), expected)


def test_centerings_along_training() -> None:
    settings = b_centerings.Settings(instances=2, steps=8, every=8, width=6)
    expected = list(b_centerings.measure(settings, "cpu"))
    assert len(expected) > 1000
    with FakeGPU():
        assert_same_rows(list(b_centerings.measure(settings, "fake_gpu")), expected)
