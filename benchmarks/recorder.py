"""Measure the recorder's cost: a measurement against an epoch of training, and a profile of its parts.

    python benchmarks/recorder.py [--network mlp|digits|resnet] [--samples 1000] [--rounds 3] [--profile]

The program measures CPU time on one thread. An epoch has 50,000 samples in batches of 64, with SGD in a plain loop;
``--steps`` of its steps are timed. The recorder measures all its quantities on ``--samples`` samples once an epoch;
its overhead is the time of a measurement after the first, divided by that of the epoch.
"""

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models import resnet18

import gramlab
from gramlab.nets import mlp

BATCH, EPOCH = 64, 50_000


def network(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    """The network and the shape of its inputs."""
    if name == "resnet":
        return resnet18(num_classes=10), (3, 32, 32)
    inputs = {"mlp": 3072, "digits": 64}[name]
    return mlp(inputs, [256] * 4, 10), (inputs,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=("mlp", "digits", "resnet"), default="mlp")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, shape = network(options.network)
    x, y = torch.randn(options.samples, *shape), torch.randint(10, (options.samples,))
    data, labels = torch.randn(BATCH, *shape), torch.randint(10, (BATCH,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-3)

    def train() -> None:
        for _ in range(options.steps):
            optimizer.zero_grad()
            F.cross_entropy(model(data), labels).backward()
            optimizer.step()

    recorder = gramlab.Recorder(model, x, y, tempfile.mkdtemp() + "/run.parquet", every=10**9, loss="cross_entropy",
                                weight_decay=1e-3)  # fmt: skip
    recorder.begin_at(0, optimizer)  # follows the learning rate, without measurements that are not timed
    recorder._set_learning_rate()
    train()
    steps, measurements = [], []
    for number in range(options.rounds):
        start = time.process_time()
        train()
        middle = time.process_time()
        recorder.measure_at(number + 1)
        recorder._set_learning_rate()  # as the next step does: the shift belongs to the measurement, not to a step
        steps.append((middle - start) / options.steps)
        measurements.append(time.process_time() - middle)
    epoch = statistics.median(steps) * EPOCH / BATCH
    shares = [m / (s * EPOCH / BATCH) for m, s in zip(measurements, steps, strict=True)]
    print(f"{options.network}: step {1e3 * statistics.median(steps):.2f} ms, epoch {epoch:.1f} s, measurement of "
          f"{options.samples} samples {statistics.median(measurements):.2f} s: {statistics.median(shares):.1%} of an "
          f"epoch ({min(shares):.1%} to {max(shares):.1%})")  # fmt: skip
    if options.profile:
        train()
        profile = cProfile.Profile()
        profile.runcall(recorder.measure_at, options.rounds + 1)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()
