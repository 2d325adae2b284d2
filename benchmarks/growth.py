"""Measure how time and memory grow with samples, inputs, width, depth, outputs and seeds, and fit slopes.

    python benchmarks/growth.py [--only AXIS ...] [--rounds 5] [--out FILE]

One axis is varied at a time around an MLP of 256 inputs, three hidden layers of 256 units and 10 outputs (n = 2,000,
float32, batches of 500). On one thread. Time is the CPU time of a call: the sizes take turns, and the smallest of the
rounds counts, since other work on the machine can only add to it. Memory is the peak of a first call above what the
process had with the model and one batch of data. A slope is that of the logarithms, by least squares over all sizes: 1
means that time or memory doubles where the axis does. ``--out benchmarks/growth.json`` writes what the report shows.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine, recorded
from timing import epoch, race

import gramlab
from gramlab.data import DataSet
from gramlab.nets import TrainingConfig, mlp
from gramlab.nets.ensemble import Ensemble

BASE = {"samples": 2000, "inputs": 256, "width": 256, "depth": 3, "outputs": 10, "seeds": 1}
SIZES = {
    "samples": (1000, 2000, 4000, 8000, 16000),
    "inputs": (128, 256, 512, 1024, 2048),
    "width": (64, 128, 256, 512, 1024),
    "depth": (1, 2, 4, 8, 16),
    "outputs": (4, 16, 64, 256, 1024),
    "seeds": (1, 2, 4, 8, 16),
}
TASKS = {
    "output side": "`gram`, `agop` and `ptk` of every layer",
    "loss side": "`fact` and `enfa` of every layer",
    "training": "an epoch of SGD, the seeds together, batch 64",
}
MEASURED = {axis: ["output side", "loss side"] for axis in SIZES if axis != "seeds"} | {"seeds": ["training"]}


Program = Callable[[int], None]  # of the number of samples


def prepare(task: str, size: dict[str, int]) -> Program:
    torch.manual_seed(0)
    return training(size) if task == "training" else measurement(task, size)


def times(task: str, sizes: list[dict[str, int]], rounds: int) -> list[float]:
    """Seconds of each size."""
    programs = {str(i): partial(prepare(task, size), size["samples"]) for i, size in enumerate(sizes)}
    return [min(seconds) for seconds in race(programs, rounds).values()]


def peak(task: str, size: dict[str, int]) -> float:
    """MiB of a first call, in a child of this process, which must not have differentiated anything."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        # torch's first calls take memory, which does not count
        prepare(task, {**size, "inputs": 4, "width": 4, "depth": 2, "outputs": 4})(8)
        program = prepare(task, size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        program(size["samples"])
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(theirs, str((after - before) / 1024).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as result:
        value = float(result.read())
    os.waitpid(child, 0)
    return value


def measurement(task: str, size: dict[str, int]) -> Program:
    """A measurement of data that come batch by batch and are not in memory."""
    model = mlp(size["inputs"], [size["width"]] * size["depth"], size["outputs"], "relu")
    names = ("gram", "agop", "ptk") if task == "output side" else ("fact", "enfa")
    loss = {} if task == "output side" else {"loss": "cross_entropy", "weight_decay": 1e-3}
    x, y = torch.randn(500, size["inputs"]), torch.randint(size["outputs"], (500,))

    def run(n: int) -> None:
        batches = ((x[: n - i], y[: n - i]) for i in range(0, n, 500))
        m = gramlab.measure(model, batches, quantities=names, **loss)
        for layer in m.values():
            for name in names:
                getattr(layer, name)

    return run


def training(size: dict[str, int]) -> Program:
    """An epoch of the seeds together."""
    model = mlp(size["inputs"], [size["width"]] * size["depth"], size["outputs"])
    settings = TrainingConfig(lr=0.005, batch=64, epochs=1, snapshots=(1,), name=("growth",))

    def run(n: int) -> None:
        x, y = torch.randn(n, size["inputs"]), torch.randint(size["outputs"], (n,))
        data = DataSet("growth", x, y, x[:0], y[:0], classes=size["outputs"])
        epoch(Ensemble(model, data, settings, size["seeds"], "cpu"))

    return run


def slope(sizes: list[int], values: list[float]) -> float:
    """The slope of the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def of_axis(axis: str, task: str, rounds: int) -> dict[str, Any]:
    """One row of the table: every size of an axis, and the slopes."""
    sizes = [BASE | {axis: value} for value in SIZES[axis]]
    # glibc returns freed memory at once; otherwise the peak varies by up to 10 MiB from run to run
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    command = [sys.executable, __file__, "--peaks", json.dumps([task, sizes])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    memory, seconds = json.loads(done.stdout), times(task, sizes, rounds)
    return {
        "axis": axis,
        "task": TASKS[task],
        "sizes": list(SIZES[axis]),
        "seconds": [float(f"{value:.3g}") for value in seconds],
        "mebibytes": [float(f"{value:.3g}") for value in memory],
        "slope of time": round(slope(list(SIZES[axis]), seconds), 2),
        "slope at the largest": round(slope(list(SIZES[axis])[-2:], seconds[-2:]), 2),
        "slope of memory": round(slope(list(SIZES[axis]), memory), 2),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--peaks", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.peaks:
        task, sizes = json.loads(options.peaks)
        print(json.dumps([peak(task, size) for size in sizes]))
        return
    rows = []
    print("| axis | measured | seconds | slope | at the largest | MiB | slope |\n" + "| --- " * 7 + "|")
    for axis in options.only:
        for task in MEASURED[axis]:
            row = of_axis(axis, task, options.rounds)
            rows.append(row)
            print(f"| {axis} {row['sizes']} | {row['task']} | {row['seconds']} | {row['slope of time']} | "
                  f"{row['slope at the largest']} | {row['mebibytes']} | {row['slope of memory']} |",
                  flush=True)  # fmt: skip
    if options.out:
        by_key = {(row["axis"], row["task"]): row for row in recorded(options.out, "rows") + rows}
        order = [(axis, TASKS[task]) for axis in SIZES for task in MEASURED[axis]]
        content = {**machine(), "base": BASE, "rows": [by_key[key] for key in order if key in by_key]}
        options.out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
