"""Durations of stages that have not run, from operation counts; `benchmarks/scaling.py` uses them.

A training run takes its number of operations over a rate. The operations of a step are those of the forward and the
backward pass through matrix products and convolutions, two for each multiply-add, as torch counts them on a network of
the device "meta": about 6 a weight and sample of a linear layer. Unless a rate is given, it is the median of the
recorded training runs on the same kinds of data.
"""

import statistics
import sys
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from flows.schedule import kind  # noqa: E402
from tasks import settings as reader  # noqa: E402
from tasks.settings import Data, Sets, Settings, Train  # noqa: E402

# shape of a sample, training samples, outputs
SETS = {
    "mnist": ((1, 28, 28), 60_000, 10),
    "cifar10": ((3, 32, 32), 50_000, 10),
    "cifar100": ((3, 32, 32), 50_000, 100),
    "svhn": ((3, 32, 32), 73_257, 10),
    "celeba": ((3, 96, 96), 162_770, 2),
}
# runs that waited for other work of the machine most of the time: they say nothing about its rate
WAITED = {"c_tab2"}


def step_operations(run: Train, data: Data) -> float:
    """Floating-point operations of a training step of one network, for each sample."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from gramlab.nets import build

    shape, _, outputs = SETS[data.source]
    batch = 4
    with torch.device("meta"):
        model = build(run.model.kind, shape, outputs, **run.model.options())
        x = (
            torch.empty(batch, *shape)
            if run.model.kind in ("cnn", "resnet18", "vgg11")
            else torch.empty(batch, prod(shape))
        )
        with FlopCounterMode(display=False) as counter:
            model(x).sum().backward()
    return counter.get_total_flops() / batch


def operations(settings: Settings, key: str) -> float | None:
    """Floating-point operations of a training run; None for a kind that is not counted."""
    run, total = settings.train[key], 0.0
    entry = settings.data[run.data]
    for variant in run.by_variant().values():
        data = entry.parts()[variant.part] if isinstance(entry, Sets) else entry
        if data.source not in SETS or variant.model.kind in ("vae", "deep_linear"):
            return None
        samples = variant.samples or data.train or SETS[data.source][1]
        networks = variant.seeds * prod(len(values) for values in variant.grid.axes().values())
        total += networks * variant.epochs * samples * step_operations(variant, data)
    return total


def estimates(
    names: set[str], seconds: dict[str, float], scale: str, assumed: float | None = None
) -> tuple[dict[str, float], list[float]]:
    """Seconds of the stages without a duration, and the rates, in operations a second, of the recorded training runs.

    Training has the assumed rate or, without one, the median of the recorded rates. A measurement takes the median
    share of its training's time, and any other stage the median of its kind.
    """
    settings = reader.load(scale)
    counted = {key: total for key in settings.train if (total := operations(settings, key))}
    timed = [key for key in counted if f"train@{key}" in seconds and not (scale == "paper" and key in WAITED)]
    rates = sorted(counted[key] / seconds[f"train@{key}"] for key in timed)
    rate = assumed or statistics.median(rates)
    trained = {**{f"train@{key}": total / rate for key, total in counted.items()}, **seconds}
    shares = [duration / seconds[train] for name, duration in seconds.items()
              if kind(name) == "measure" and (train := f"train@{name.split('@')[1]}") in seconds]  # fmt: skip
    share = statistics.median(shares)
    usual = {stage_kind: statistics.median(seconds[name] for name in seconds if kind(name) == stage_kind)
             for stage_kind in set(map(kind, seconds))}  # fmt: skip
    missing = {}
    for name in sorted(names - seconds.keys()):
        if name in trained:
            missing[name] = trained[name]
        elif kind(name) == "measure" and (train := f"train@{name.split('@')[1]}") in trained:
            missing[name] = share * trained[train]
        else:
            missing[name] = usual.get(kind(name), usual["verdicts"])
    return missing, rates
