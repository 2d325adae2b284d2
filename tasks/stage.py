"""What every stage does around its work: where files lie, what is written beside a result, and how it refuses."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gramlab.files import BadInput, atomic
from tasks import settings as reader
from tasks.settings import ROOT, Settings, refuse

BEGUN = time.time()  # before a task's other imports, which take seconds: what changes meanwhile is not what was loaded
# by kind of stage: the sections of params.yaml whose entry of its key it is made from, as dvc.yaml's params say
OWN = {
    "prepare": ("data",), "train": ("train",), "measure": ("measure", "simulate", "train"), "check": ("claims",),
    "figure": ("claims",),
}  # fmt: skip


class Stage:
    """One stage's name and files. Paths are those that dvc.yaml declares."""

    def __init__(self, kind: str, key: str, scale: str):
        self.kind, self.key, self.scale = kind, key, scale
        self.settings: Settings = reader.load(scale)
        self.data = ROOT / "data" / scale
        self.reports = ROOT / "reports" / scale

    def dataset(self, key: str) -> Path:
        """A prepared data set."""
        return self.data / "sets" / f"{key}.safetensors"

    def run(self, key: str) -> Path:
        """The folder of a training run: snapshots and history.parquet."""
        return self.data / "train" / key

    def table(self, key: str) -> Path:
        """What an experiment measured."""
        return self.data / "tables" / f"{key}.parquet"

    def verdict(self, key: str) -> Path:
        """The verdict on a claim."""
        return self.reports / "verdicts" / f"{key}.json"

    def figure(self, key: str) -> Path:
        """The figure of a claim."""
        return self.reports / "figures" / f"{key}.svg"

    def made(self, kind: str, key: str) -> Path:
        """How, where and in what time a stage was made; for the report, beside the results."""
        return self.data / "made" / f"{kind}@{key}.json"

    def address(self, name: str) -> str:
        """A stage as DVC takes it on its command line, from the root."""
        folder = {"prepare": "runs/", "train": "runs/", "measure": "tables/", "simulate": "tables/"}
        file = ("paper/" if self.scale == "paper" else "") + folder.get(name.split("@")[0], "") + "dvc.yaml:"
        return name if file == "dvc.yaml:" else file + name


def own(settings: Settings, kind: str, key: str) -> list[Any]:
    """What of the settings a stage's result is made from."""
    return [getattr(settings, section).get(key) for section in OWN[kind]]


def fingerprint(settings: Settings, kind: str, key: str) -> str:
    """Of ``own``, by which a report knows a record that was made with other settings than it shows."""
    said = [one.model_dump_json(exclude_unset=True) if one else "" for one in own(settings, kind, key)]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def arguments(kind: str, key: str | None = None) -> Stage:
    """The stage that the command line names: ``KEY --scale quick``, or without KEY where it is given here."""
    parser = argparse.ArgumentParser(prog=f"python -m tasks.{kind}")
    if key is None:
        parser.add_argument("key")
    parser.add_argument("--scale", default="quick")
    given = parser.parse_args()
    return Stage(kind, given.key if key is None else key, given.scale)


@contextmanager
def recorded(stage: Stage) -> Iterator[dict[str, Any]]:
    """Time the work and leave its record, with what was added to it; fail if code or its settings changed meanwhile.

    DVC hashes what a stage depends on after its command, so a file edited meanwhile would be recorded as the
    source of a result that it never made. Other entries of params.yaml may change: no result depends on them.
    Expected errors become one line and exit status 1.
    """
    clock = time.perf_counter()
    about: dict[str, Any] = {}
    try:
        yield about
    except (BadInput, ArithmeticError) as error:
        print(f"{stage.kind}@{stage.key}: {error}", file=sys.stderr)
        raise SystemExit(1) from error
    modules = [Path(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
    ours = [path for path in modules if ROOT / "gramlab" in path.parents or ROOT / "tasks" in path.parents]
    if changed := [str(path.relative_to(ROOT)) for path in ours if path.stat().st_mtime > BEGUN]:
        refuse(f"{stage.kind}@{stage.key}: {', '.join(sorted(changed))} changed while the stage ran; run it again")
    now, mine = reader.load(stage.scale), (stage.kind, stage.key)
    machines = [(one.data_root, one.device, one.threads) for one in (now.machine, stage.settings.machine)]
    if own(now, *mine) != own(stage.settings, *mine) or machines[0] != machines[1]:
        refuse(f"{stage.kind}@{stage.key}: its settings in params.yaml changed while the stage ran; run it again")
    made_with = {"settings": fingerprint(stage.settings, *mine)}
    record = {"seconds": round(time.perf_counter() - clock, 3), **machine(), **made_with, **about}
    with atomic(stage.made(stage.kind, stage.key)) as temporary:
        temporary.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")


def machine() -> dict[str, Any]:
    """Cores, memory and GPU, by which a measured time is to be read; versions where they are known."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found: dict[str, Any] = {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "gpu": "",
        "commit": commit(),
    }
    if torch := sys.modules.get("torch"):
        found["torch"] = torch.__version__
        found["device"] = "cuda" if torch.cuda.is_initialized() else "cpu"  # where something was computed on it
        if torch.cuda.is_available():
            found["gpu"] = torch.cuda.get_device_name()
    return found


def commit() -> str:
    """The code's commit, with a + where code or settings differ from it; empty where there is no git."""

    def git(*command: str) -> str:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        head = git("rev-parse", "--short", "HEAD")
        return head + ("+" if head and git("status", "--porcelain", "--", "gramlab", "tasks", "params.yaml") else "")
    except FileNotFoundError:
        return ""


def compute(settings: Settings) -> str:
    """Set the threads of linear algebra and torch's determinism; the device to compute on."""
    # numpy, scipy and torch each bring a library with threads of its own, which reads this when it is loaded: two
    # stages on two cores with two threads each take several times as long, and sums in another order
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = str(settings.machine.threads)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what torch's determinism asks of cuBLAS
    asked = settings.machine.device
    if asked == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # also for the kernel machines, which take a GPU that they see
    import torch

    torch.set_num_threads(settings.machine.threads)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if asked == "cuda" and not torch.cuda.is_available():
        refuse("params.yaml: machine.device is cuda, and torch sees no GPU; allowed here: auto, cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if asked == "auto" else asked
