"""An interrupted measurement goes on after its last finished part, with the same numbers to the bit."""

import math
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch

from tasks.measuring import resumable
from tasks.measuring.resumable import forget_parts, rows_of_part
from tasks.measuring.run import Run
from tasks.papers.neural_collapse.experiments import d_deep_rfm

NUMBERS = [1 / 3, 5e-324, -0.0, math.inf, 1.7976931348623157e308]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "FOLDER", tmp_path)
    return tmp_path


def test_a_finished_part_is_measured_once_and_its_numbers_stay():
    measured = []

    def rows(part):
        measured.append(part)
        for value in NUMBERS:
            yield {"case": part, "quantity": "q", "value": value}

    first, *others = (rows_of_part("experiment", ["settings", part], lambda part=part: rows(part)) for part in "aba")
    assert measured == ["a", "b"]
    assert others[1] == first
    assert [row["value"].hex() for row in others[1]] == [value.hex() for value in NUMBERS]


def test_a_part_from_a_file_counts_the_seconds_that_it_took(monkeypatch):
    monkeypatch.setattr(resumable, "seconds_before", 0.0)

    def slow():
        time.sleep(0.2)
        yield {"value": 1.0}

    rows_of_part("experiment", ["a"], slow)
    assert resumable.seconds_before == 0  # this process's own clock counts them
    rows_of_part("experiment", ["a"], slow)
    assert 0.2 <= resumable.seconds_before < 1


@pytest.mark.parametrize("change", ["variant", "epoch", "place", "settings", "snapshot", None])
def test_a_part_of_a_run_is_that_of_its_networks(change, tmp_path):
    def part(**changed):
        own = {"variant": "MNIST", "epoch": 3, "place": 0, "settings": {"lr": 0.1}, "snapshot": b"a"}
        own |= changed
        run = object.__new__(Run)  # without a trained run
        run.key, run._hashes = "c_fig8", {}
        run.folder, run.settings = tmp_path / own["variant"], SimpleNamespace(model_dump=lambda mode: own["settings"])
        run.folder.mkdir(exist_ok=True)
        run.snapshot_path(own["epoch"]).write_bytes(own["snapshot"])
        return run.part(own["epoch"], own["place"], measure=lambda: measured.append(own) or [{"value": 1.0}])

    measured = []
    other = {"variant": "CIFAR-10", "epoch": 4, "place": 1, "settings": {"lr": 0.2}, "snapshot": b"b"}
    assert part() == part(**({change: other[change]} if change else {}))
    assert len(measured) == (2 if change else 1)


@pytest.mark.parametrize("change", ["part", "root", "threads", "GPU", "code", "experiment", "scale", "forgotten"])
def test_another_measurement_takes_no_rows_of_it(change, tmp_path, monkeypatch):
    measured = []

    def measure():
        measured.append(True)
        yield {"value": 1.0}

    part, experiment = ["digits", 0, 0.1], "experiment"
    code = tmp_path / "project" / "gramlab" / "new.py"
    code.parent.mkdir(parents=True)
    code.write_text("a = 1\n")
    if change == "code":
        monkeypatch.setattr(resumable, "ROOT", tmp_path / "project")
    rows_of_part(experiment, part, measure)
    threads = torch.get_num_threads()
    if change == "part":
        part = ["digits", 0, 0.2]
    elif change == "root":
        monkeypatch.setenv("GRAMLAB_STREAM_ROOT", "3")
    elif change == "threads":
        torch.set_num_threads(threads + 1)
    elif change == "GPU":
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    elif change == "code":
        code.write_text("a = 2\n")
        resumable._code.cache_clear()  # each process reads the code once
    elif change == "experiment":
        experiment = "another"
    elif change == "scale":
        monkeypatch.setattr(resumable, "scale", "paper")
    else:
        forget_parts(experiment)
    rows_of_part(experiment, part, measure)
    torch.set_num_threads(threads)
    assert len(measured) == 2


STAGE = """
import contextlib, pathlib, sys
from tasks.measuring import resumable

resumable.FOLDER, resumable.scale, waits = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "waits"
atomic = resumable.atomic

@contextlib.contextmanager
def waiting(path):
    with atomic(path) as temporary:
        print("writes a part", flush=True)
        input()
        yield temporary

resumable.rows_of_part("experiment", ["first"], lambda: [{"value": 1.0}])
resumable.atomic = waiting if waits else atomic
resumable.rows_of_part("experiment", ["second"], lambda: [{"value": 2.0}])
if not waits:
    resumable.forget_parts("experiment")
"""


def test_a_stage_that_ends_leaves_the_parts_of_another_scale_that_runs_beside_it(tmp_path):
    command = [sys.executable, "-c", STAGE, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "paper", "waits"], **pipes) as paper:
        assert paper.stdout.readline() == "writes a part\n"
        subprocess.run([*command, "quick", "ends"], check=True)
        assert not list((tmp_path / "quick").glob("*/*"))
        _, errors = paper.communicate("\n", timeout=60)
    assert paper.returncode == 0, errors
    assert len(list(tmp_path.glob("paper/experiment/*.json"))) == 2


def test_a_part_that_fails_leaves_nothing(tmp_path):
    def fails():
        yield {"value": 1.0}
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="full"):
        rows_of_part("experiment", ["a"], fails)
    assert rows_of_part("experiment", ["a"], lambda: iter([{"value": 2.0}])) == [{"value": 2.0}]


def test_a_deep_rfm_goes_on_after_the_model_that_it_finished(monkeypatch):
    """Interrupted at its third fit of eight models, the measurement fits six more and has the rows of a whole one."""
    settings = d_deep_rfm.Settings(
        data=["digits"], samples=40, fewer_samples=[], layers=2, relu=8, fourier=8, instances=2
    )
    rows = list(d_deep_rfm.measure(settings))
    forget_parts("d_deep_rfm")
    fitted, original = [], d_deep_rfm._rows_of_model

    def counted(model, x, y, all_controls):
        fitted.append((model.features, model.seed))
        if len(fitted) == 3:
            raise KeyboardInterrupt
        yield from original(model, x, y, all_controls)

    monkeypatch.setattr(d_deep_rfm, "_rows_of_model", counted)
    with pytest.raises(KeyboardInterrupt):
        list(d_deep_rfm.measure(settings))
    assert list(d_deep_rfm.measure(settings)) == rows
    assert fitted == [("relu", 0), ("fourier", 0), ("relu", 1), ("relu", 1), ("fourier", 1)]


def test_the_killed_program_goes_on_and_then_forgets(copy_project, environment):
    """``python -m tasks.measure``, killed after its first model, writes the table of a program that was not."""
    project = copy_project("resumable")
    settings = project / "params.yaml"
    entry = re.search(r"(?m)^    d_deep_rfm:\n(.*\n)*?      quick: (\{[^}]*\})", settings.read_text(encoding="utf-8"))
    small = "{data: [digits], samples: 60, layers: 2, relu: 16, fourier: 16, instances: 20}"
    settings.write_text(settings.read_text(encoding="utf-8").replace(entry[2], small), encoding="utf-8")
    command = [sys.executable, "-m", "tasks.measure", "d_deep_rfm", "--scale", "quick"]
    parts = project / ".scratch" / "rows" / "quick" / "d_deep_rfm"
    table = project / "data" / "quick" / "tables" / "d_deep_rfm.parquet"
    with subprocess.Popen(command, cwd=project, env=environment) as program:
        while program.poll() is None and not any(parts.glob("*.json")):
            time.sleep(0.01)
        program.send_signal(signal.SIGKILL)
    assert not table.exists()
    times = {path: path.stat().st_mtime_ns for path in parts.glob("*.json")}
    assert 0 < len(times) < 40
    with subprocess.Popen(command, cwd=project, env=environment) as program:
        while program.poll() is None and len(list(parts.glob("*.json"))) <= len(times):
            time.sleep(0.001)
        assert {path: path.stat().st_mtime_ns for path in times} == times, "a finished part was measured again"
    assert program.returncode == 0
    assert not parts.exists()
    resumed = table.read_bytes()
    subprocess.run(command, cwd=project, env=environment, check=True)
    assert table.read_bytes() == resumed
