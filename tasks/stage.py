"""The paths of a stage's files, and the steps of every stage before and after its work."""

import argparse
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Any

from gramlab.files import BadInput, atomic
from tasks import settings as reader
from tasks.settings import ROOT, Settings, refuse


def file_clock() -> float:
    """The time of the project's file system. On a shared folder it may differ from this machine's time."""
    try:
        with tempfile.TemporaryFile(dir=ROOT) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:  # a folder that nobody may write to
        return time.time()


# taken before the stage's imports, which take seconds: a module that changes later may differ from the loaded one
STARTED = file_clock()


class Stage:
    """Kind, key and scale of a stage, and the paths that dvc.yaml declares."""

    def __init__(self, kind: str, key: str, scale: str):
        self.kind, self.key, self.scale = kind, key, scale
        self.settings: Settings = reader.load(scale)
        self.data = ROOT / "data" / scale
        self.reports = ROOT / "reports" / scale

    def dataset(self, key: str) -> Path:
        """A prepared data set."""
        return self.data / "sets" / f"{key}.safetensors"

    def altered(self, key: str) -> Path:
        """The differences of a prepared data set from the paper's, by the name of the set."""
        return self.data / "altered" / f"{key}.json"

    def run(self, key: str) -> Path:
        """The folder of a training run: snapshots and history.parquet."""
        return self.data / "train" / key

    def table(self, key: str) -> Path:
        """The table of an experiment."""
        return self.data / "tables" / f"{key}.parquet"

    def finding(self, key: str) -> Path:
        """The findings of a claim's rules."""
        return self.data / "findings" / self.settings.paper[key] / f"{key}.json"

    def figure(self, key: str) -> Path:
        """The figure of a claim."""
        return self.data / "figures" / f"{key}.svg"

    def verdicts(self, paper: str) -> Path:
        """The verdicts on all claims of a paper."""
        return self.data / "verdicts" / f"{paper}.json"

    def provenance(self, kind: str, key: str) -> Path:
        """The machine, the time and the code of a stage's run. No stage depends on it."""
        return self.data / "provenance" / f"{kind}@{key}.json"

    def address(self, name: str) -> str:
        """The address on DVC's command line, from the root, of a stage that belongs to a paper."""
        kind, _, key = name.partition("@")
        paper = key if kind == "verdicts" else self.settings.paper[key]
        return f"pipeline/{self.scale}/{paper}/dvc.yaml:{name}"


def own_settings(settings: Settings, kind: str, key: str) -> list[Any]:
    """The entries of params.yaml that determine the result of a prepare, train, measure or check stage."""
    if kind == "check":
        return [settings.claims[key]]
    root = [settings.streams.root] if settings.streams.root else []  # the hashes of root 0 are older than roots
    if kind == "prepare":
        return [settings.entry("data", key), *root]
    if kind in ("train", "measure") and key in settings.train:
        variants = settings.train[key].by_variant()
        return [{name: variant.model_dump(exclude_unset=True) for name, variant in variants.items()}, *root]
    return [settings.entry("simulate", key), *root] if kind == "measure" else []


def settings_hash(settings: Settings, kind: str, key: str) -> str:
    """Hash of the settings of a result; the report uses it to flag outdated results."""
    text = json.dumps(own_settings(settings, kind, key), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def arguments(kind: str, key: str | None = None) -> Stage:
    """The stage that the command line names: ``KEY --scale quick``, or ``--scale quick`` if ``key`` is given here."""
    parser = argparse.ArgumentParser(prog=f"python -m tasks.{kind}")
    if key is None:
        parser.add_argument("key")
    parser.add_argument("--scale", default="quick")
    parsed = parser.parse_args()
    stage = Stage(kind, parsed.key if key is None else key, parsed.scale)
    os.environ["GRAMLAB_STREAM_ROOT"] = str(stage.settings.streams.root)  # where gramlab.streams reads it
    return stage


@contextmanager
def recorded(stage: Stage) -> Iterator[dict[str, Any]]:
    """Time the work and write its provenance; fail if its code or its settings changed meanwhile.

    The block may add to the yielded dictionary. DVC hashes what a stage depends on after its command, so a file
    edited meanwhile would be recorded as the source of a result that it never made. Other entries of params.yaml may
    change: no result depends on them. Expected errors become one line and exit status 1.
    """
    clock = time.perf_counter()
    additions: dict[str, Any] = {}
    try:
        yield additions
    except (BadInput, ArithmeticError) as error:
        print(f"{stage.kind}@{stage.key}: {error}", file=sys.stderr)
        raise SystemExit(1) from error
    if changed := [str(path.relative_to(ROOT)) for path in _loaded() if _has_changed(path)]:
        refuse(f"{stage.kind}@{stage.key}: {', '.join(sorted(changed))} changed while the stage ran; run it again")
    now = reader.load(stage.scale)
    current, used = (
        [(settings.machine.data_root, settings.machine.device, settings.machine.threads),
         own_settings(settings, stage.kind, stage.key)] for settings in (now, stage.settings)
    )  # fmt: skip
    if current != used:
        refuse(f"{stage.kind}@{stage.key}: its settings in params.yaml changed while the stage ran; run it again")
    record = {
        "seconds": round(time.perf_counter() - clock, 3),
        **machine(),
        "settings": settings_hash(stage.settings, stage.kind, stage.key),
        **additions,
    }
    write_json(stage.provenance(stage.kind, stage.key), record)


def _loaded() -> list[Path]:
    """The files of gramlab and tasks that this process has loaded."""
    # text, because paths are slow for thousands of modules
    folders = tuple(f"{ROOT / name}{os.sep}" for name in ("gramlab", "tasks"))
    files = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
    return [Path(file) for file in files if file.startswith(folders)]


def _has_changed(path: Path) -> bool:
    try:
        return path.stat().st_mtime > STARTED
    except OSError:  # deleted
        return True


def write_json(path: Path, content: Any) -> None:
    """Write an indented JSON file, completely or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Cores, memory and GPU, because a measured time depends on them; the commit, and the version of a loaded torch."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    record: dict[str, Any] = {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "gpu": "",
        "commit": commit(),
    }
    if os.environ.get("GRAMLAB_LAUNCHED"):  # the flow sent this program to another machine
        record["node"] = os.environ.get("SLURMD_NODENAME") or gethostname()
    if torch := sys.modules.get("torch"):
        record["torch"] = torch.__version__
        record["device"] = "cuda" if torch.cuda.is_initialized() else "cpu"  # whether this process used it
        if torch.cuda.is_available():
            record["gpu"] = torch.cuda.get_device_name()
    return record


def commit() -> str:
    """The code's commit, with a + if code or settings differ from it; empty without git."""

    def git(*command: str) -> str:
        result = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
        return result.stdout.strip() if result.returncode == 0 else ""

    try:
        head = git("rev-parse", "--short", "HEAD")
        return head + ("+" if head and git("status", "--porcelain", "--", "gramlab", "tasks", "params.yaml") else "")
    except FileNotFoundError:
        return ""


M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # of glibc's malloc.h
FREED = 2**30  # bytes that a stage keeps for itself
LARGEST = 2**25  # bytes of an array: the largest value that glibc takes; larger arrays go back to the system


def keep_freed_memory() -> None:
    """Let this process use its freed memory again, where the C library can be told so.

    Otherwise glibc returns the memory of a step's arrays to the system at the end of the step, and the system clears it
    again in the next step, page by page. That takes up to half of a small convolutional network's training time.
    """
    with suppress(OSError, AttributeError):  # no other C library has this function
        mallopt = ctypes.CDLL(None).mallopt
        for name, value in ((M_MMAP_THRESHOLD, LARGEST), (M_TRIM_THRESHOLD, FREED), (M_TOP_PAD, LARGEST)):
            mallopt(name, value)


def compute(settings: Settings) -> str:
    """Set the number of threads and torch's determinism. Return the device to compute on."""
    # numpy, scipy and torch each load a threaded library, which reads its variable then; two stages with two threads
    # each take several times as long on two cores, and sum in another order
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = str(settings.machine.threads)
    keep_freed_memory()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # torch's determinism needs it
    device = settings.machine.device
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # else the kernel machines would use a visible GPU
    import torch

    torch.set_num_threads(settings.machine.threads)
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms(True) loads inductor first: 1.5 s
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if device == "cuda" and not torch.cuda.is_available():
        refuse("params.yaml: machine.device is cuda, and torch sees no GPU; allowed here: auto, cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
