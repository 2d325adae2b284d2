"""Train one run, all its seeds together: ``python -m tasks.train KEY --scale quick``."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gramlab.files import atomic, sha256
from tasks import stage as stages
from tasks.settings import ROOT, Train, refuse


def main() -> None:
    """Train, or continue an interrupted training; then write snapshots and history."""
    stage = stages.arguments("train")
    run: Train = stage.settings.train.pick(stage.key)
    if not stage.dataset(run.data).is_file():
        refuse(f"{stage.dataset(run.data).relative_to(ROOT)} is missing; python -m tasks.prepare {run.data} "
               f"--scale {stage.scale} makes it")  # fmt: skip
    device = stages.compute(stage.settings)
    import torch

    from gramlab import tables
    from gramlab.data import DataSet
    from gramlab.nets import TrainingConfig, build, fit
    from tasks.progress import Bar

    scratch = ROOT / ".scratch" / fingerprint(stage, run, device)
    with stages.recorded(stage) as record, in_use(scratch):
        interval = stage.settings.machine.checkpoint_seconds
        clock = Clock(scratch / "seconds", interval)
        shared_fields = set(TrainingConfig.__dataclass_fields__) & set(Train.model_fields) - {"snapshots", "grid"}
        history: list[dict[str, Any]] = []
        snapshots: dict[str, dict[int, Path]] = {}
        sets: dict[str, DataSet] = {}
        for variant, settings in run.by_variant().items():
            if settings.part not in sets:  # a set at a time, to save memory
                sets = {settings.part: DataSet.load(stage.dataset(run.data), settings.part)}
            data = sets[settings.part]
            model = build(settings.model.kind, data.x_train.shape[1:], data.outputs, **settings.model.options())
            # the streams are named after the run: its variants share what a seed draws
            config = TrainingConfig(
                **{name: getattr(settings, name) for name in shared_fields}, grid=settings.grid.axes(),
                snapshots=settings.epochs_kept(), name=(stage.key,),
            )  # fmt: skip
            samples = data if settings.samples is None else data.rows(train=torch.arange(settings.samples))
            with Bar(" ".join([f"train@{stage.key}", variant]).strip()) as bar:
                snapshots[variant], rows = fit(model, samples, config, run.seeds, scratch / variant, device, interval,
                                               clock.with_progress(bar.advance))  # fmt: skip
            history += [{**row, "case": ",".join(filter(None, (variant, row.get("case", ""))))} for row in rows]
        out = stage.run(stage.key)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for variant, paths in snapshots.items():
            (out / variant).mkdir(exist_ok=True)
            for path in paths.values():
                shutil.copyfile(path, out / variant / path.name)  # a kill from here on may cost `out`: DVC deletes it
        labels = {"experiment": stage.key, "scale": stage.scale, "arm": "claim", "dtype": run.dtype}
        tables.write(out / "history.parquet", [{**labels, **row} for row in history])
        plots(out / "plots", history)
        # measurements read the data set too; through this file they go stale with it
        (out / "data.sha256").write_text(sha256(stage.dataset(run.data)) + "\n")
        record["seconds"] = round(clock.seconds(), 3)
    remove(scratch)  # after the record is written
    remove_abandoned(scratch)  # not before: whoever puts settings back goes on from their checkpoint


class Clock:
    """The seconds that a run has taken, interrupted calls included; saved every ``interval`` seconds."""

    def __init__(self, file: Path, interval: float):
        self.file, self.interval = file, interval
        self.before = float(file.read_text()) if file.exists() else 0.0
        self.started = self.saved = time.perf_counter()

    def seconds(self) -> float:
        """The seconds until now."""
        return self.before + time.perf_counter() - self.started

    def with_progress(self, show: Callable[[int, int, float], None]) -> Callable[[int, int, float], None]:
        """A callback that shows the progress and saves the seconds when it is time."""

        def advance(step: int, steps: int, loss: float) -> None:
            show(step, steps, loss)
            if time.perf_counter() - self.saved >= self.interval:
                with atomic(self.file) as temporary:
                    temporary.write_text(f"{self.seconds():.3f}\n")
                self.saved = time.perf_counter()

        return advance


@contextmanager
def in_use(scratch: Path) -> Iterator[None]:
    """Make the folder of a training's state, and show other processes that a training uses it."""
    scratch.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(scratch, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def remove(scratch: Path) -> None:
    """Remove a state in one step: a training that goes on must find all of its snapshots or none."""
    finished = scratch.with_name(f"{scratch.name}.finished")
    shutil.rmtree(finished, ignore_errors=True)
    scratch.rename(finished)
    shutil.rmtree(finished)


def remove_abandoned(scratch: Path) -> None:
    """Remove what interrupted trainings of the same key and scale have left at other settings, code or data.

    A state that another process uses stays.
    """
    # the whole name, since a key may be the beginning of another
    name = re.compile(rf"{re.escape(scratch.name.rpartition('-')[0])}-[0-9a-f]{{16}}(\.finished)?")
    for folder in [path for path in scratch.parent.iterdir() if name.fullmatch(path.name)]:
        with suppress(OSError):  # in use, or removed by another process
            if folder.name.endswith(".finished"):
                shutil.rmtree(folder)
                continue
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
            finally:
                os.close(descriptor)


def plots(folder: Path, history: list[dict[str, Any]]) -> None:
    """Leave the history for ``dvc plots`` as DVCLive would: QUANTITY.tsv of steps and means over the seeds.

    Each case of a grid has a folder of its own.
    """
    values_by_step: dict[Path, dict[int, list[float]]] = {}
    for row in history:
        file = folder / row.get("case", "") / f"{row['quantity']}.tsv"
        values_by_step.setdefault(file, {}).setdefault(row["step"], []).append(row["value"])
    for file, steps in values_by_step.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{step}\t{statistics.fmean(values)!r}" for step, values in steps.items()]
        file.write_text("\n".join([f"step\t{file.stem}", *lines]) + "\n")


def fingerprint(stage: stages.Stage, run: Train, device: str) -> str:
    """Hash of the settings, code, data and GPU of a training, so that no state is resumed into another training."""
    import torch

    digest = hashlib.sha256()
    threads = torch.get_num_threads()
    root = stage.settings.streams.root
    identity = [run.model_dump(), stage.scale, device, threads, torch.__version__, root]
    if device == "cuda":  # another model of GPU rounds differently
        identity.append(torch.cuda.get_device_name())
    digest.update(json.dumps(identity).encode())
    code = [*(ROOT / "gramlab" / "nets").glob("*.py"), *(ROOT / "gramlab" / "data").glob("*.py")]
    code += [ROOT / "gramlab" / "losses.py", ROOT / "gramlab" / "streams.py"]
    for path in [stage.dataset(run.data), *sorted(code), Path(__file__)]:
        digest.update(sha256(path).encode())
    return f"{stage.scale}-{stage.key}-{digest.hexdigest()[:16]}"


if __name__ == "__main__":
    main()
