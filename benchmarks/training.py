"""Time training against hand-written loops, seeds together against seeds in turn, and WhitenedSGD.

The program also measures the share of an epoch that loading its data takes, how a member and the same network trained
alone diverge by round-off, and whether their final losses have the same distribution.

    python benchmarks/training.py [--authors FOLDER] [--rounds N] [--compiled]

FOLDER holds the published code of paper A (src/optim.py); without it there is no comparison with the authors'
optimizer. The candidates take turns on one thread, by CPU time. Every comparison first checks that they agree.
"""

import argparse
import copy
import importlib
import itertools
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from timing import epoch, gap, race, show
from torch._inductor.utils import fresh_cache
from torch.nn import functional as F

import gramlab
from gramlab.data import DataSet
from gramlab.nets import TrainingConfig, build, fit, initialize, mlp
from gramlab.nets.ensemble import Ensemble
from gramlab.streams import stream

CONFIG = TrainingConfig(lr=0.005, batch=64, epochs=1, snapshots=(1,), name=("benchmark",))


def dataset(shape, n):
    """Samples of so many inputs, or images of a shape."""
    random = stream("benchmark", "data")
    x = torch.from_numpy(random.normal(size=(n, *np.atleast_1d(shape)))).float()
    y = torch.from_numpy(random.integers(10, size=n))
    return DataSet("benchmark", x, y, x[:0], y[:0], classes=10)


def bare(model, data, seed, optimizer=torch.optim.SGD, lr=CONFIG.lr):
    """The usual training loop: an epoch over tensors in memory."""
    steps = optimizer(model.parameters(), lr=lr)
    order = torch.from_numpy(stream("benchmark", seed, "order", 0).permutation(len(data.x_train)))
    for rows in order.split(CONFIG.batch):
        steps.zero_grad()
        F.cross_entropy(model(data.x_train[rows]), data.y_train[rows]).backward()
        steps.step()


def drawn(model, seed):
    copied = copy.deepcopy(model)
    copied.load_state_dict(initialize(model, ("benchmark", seed)))
    return copied


def step_against_bare(inputs, n, rounds):
    """The step of A.fig4's network: 4 x 256 GELU, batch 64, float32."""
    model, data = mlp(inputs, [256] * 4, 10), dataset(inputs, n)
    with tempfile.TemporaryDirectory() as scratch:
        ensemble, network = Ensemble(model, data, CONFIG, 1, "cpu"), drawn(model, 0)
        epoch(ensemble)
        bare(network, data, 0)
        error = max(gap(ensemble.stacked.values[name][0], value) for name, value in network.state_dict().items())
        candidates = {"a bare loop": lambda: bare(network, data, 0), "gramlab, one seed": lambda: epoch(ensemble)}
        seconds = race(candidates, rounds)
        empty = map(Path, (tempfile.mkdtemp(dir=scratch) for _ in itertools.count()))
        whole_fit = race({"fit()": lambda: fit(model, data, CONFIG, 1, next(empty))}, 3)
    show(f"An epoch of {-(-n // 64)} steps, {inputs} inputs; weights agree to {error:.1g}", seconds,
         [("gramlab, one seed", "a bare loop")])  # fmt: skip
    show("The same with loss and accuracy of the whole training set before and after", whole_fit, [])


def loading(inputs, hidden, batch, rounds, n, seeds=1):
    """Time that an epoch spends on its data: drawing the order, and picking the samples of every step."""
    model, data = mlp(inputs, hidden, 10), dataset(inputs, n)
    ensemble = Ensemble(model, data, replace(CONFIG, batch=batch), seeds, "cpu")

    def load():
        for rows in ensemble.batches.epoch(0):
            for group in ensemble.stacked.groups:
                ensemble.batches.pick(group.members, rows)

    seconds = race({"loading": load, "an epoch": lambda: epoch(ensemble)}, rounds)
    show(f"Loading the data, {seeds} x {hidden}, {inputs} inputs, batch {batch}", seconds, [("loading", "an epoch")])


def seeds_together(words, model, shape, batch, rounds, n=2048, seeds=5):
    """All seeds in one run, compared with one run for each seed."""
    data, config = dataset(shape, n), replace(CONFIG, batch=batch)
    together = Ensemble(model, data, config, seeds, "cpu")
    alone = Ensemble(model, data, config, 1, "cpu")

    def in_turn():
        for _ in range(seeds):
            epoch(alone)

    epoch(together)
    epoch(alone)
    error = max(gap(together.stacked.values[name][0], value[0]) for name, value in alone.stacked.values.items())
    seconds = race({"together": lambda: epoch(together), "in turn": in_turn}, rounds)
    way = "together" if len(together.stacked.groups) == 1 else "one after the other, in one run"
    show(f"{seeds} seeds of {words}, samples {shape}, batch {batch} ({way}); seed 0 agrees to {error:.1g}", seconds,
         [("together", "in turn")])  # fmt: skip


def compiled(inputs, hidden, batch, rounds, n=2048, seeds=5):
    """Steps of the same members with and without torch.compile, and the time of compiling."""
    model, data = mlp(inputs, hidden, 10), dataset(inputs, n)
    config = replace(CONFIG, batch=batch)
    plain, took = Ensemble(model, data, config, seeds, "cpu"), []
    epoch(plain)
    with fresh_cache():
        for _ in range(2):  # from nothing, and from the compiler's cache
            torch.compiler.reset()
            compiled_ensemble = Ensemble(model, data, replace(config, compile="default"), seeds, "cpu")
            begin = time.perf_counter()
            epoch(compiled_ensemble)
            took.append(time.perf_counter() - begin)
        error = max(gap(compiled_ensemble.stacked.values[name], value) for name, value in plain.stacked.values.items())
        seconds = race({"compiled": lambda: epoch(compiled_ensemble), "plain": lambda: epoch(plain)}, rounds)
    show(f"{seeds} seeds of {hidden}, {inputs} inputs, batch {batch}, compiled in {took[0]:.0f} s, from the cache in"
         f" {took[1]:.0f} s; weights agree to {error:.1g}", seconds, [("compiled", "plain")])  # fmt: skip


def parting(marks=(50, 200, 1000, 4000)):
    """Difference between a member and the same network trained alone: training amplifies round-off."""
    model, data = mlp(64, [64] * 3, 10), dataset(64, 1600)
    for lr in (0.01, 0.3):
        config = replace(CONFIG, batch=16, lr=lr)
        together, alone = Ensemble(model, data, config, 5, "cpu"), Ensemble(model, data, config, 1, "cpu")
        apart, orders = [], {}
        for step in range(marks[-1]):
            number, position = divmod(step, alone.batches.per_epoch)
            for ensemble in (together, alone):
                if position == 0:
                    orders[ensemble] = ensemble.batches.epoch(number)
                ensemble.advance(step, [1.0], [orders[ensemble][position]])
            if step + 1 in marks:
                ours, theirs = (torch.cat([value[0].flatten() for value in ensemble.stacked.values.values()])
                                for ensemble in (together, alone))  # fmt: skip
                apart.append(f"{gap(ours, theirs):.1e} after {step + 1}")
        print(f"\nA member and its solo run, float32, lr {lr}: weights apart by {', '.join(apart)} steps")


def ends(members=24, epochs=30):
    """Final losses of members that train together, and of as many other seeds that train alone.

    At this learning rate a member and the same network trained alone differ after 4800 steps, so that only the
    distributions of their losses can agree.
    """
    model, data = mlp(64, [32] * 2, 10), dataset(64, 1600)
    config = replace(CONFIG, batch=10, lr=0.3, epochs=epochs, snapshots=(), history_every=epochs)

    def losses(seeds, *name):
        with tempfile.TemporaryDirectory() as scratch:
            _, history = fit(model, data, replace(config, name=name), seeds, Path(scratch))
        return [row["value"] for row in history if row["quantity"] == "train_loss" and row["x"] == epochs]

    together = losses(members, "benchmark", "together")
    by_itself = losses(1, "benchmark", "together")[0]
    alone = [loss for seed in range(members) for loss in losses(1, "benchmark", "alone", seed)]
    welch, kolmogorov = stats.ttest_ind(together, alone, equal_var=False), stats.ks_2samp(together, alone)
    low, high = welch.confidence_interval(0.95)
    print(f"\nFinal losses of {members} members together, and of {members} other seeds alone:")
    for name, final_losses in (("together", together), ("alone", alone)):
        print(f"  {name:<9} mean {np.mean(final_losses):.4g}   sd {np.std(final_losses, ddof=1):.2g}")
    print(f"  one member together {together[0]:.6g}, by itself {by_itself:.6g}")
    print(f"  Welch's 95 % interval of the difference {low:.2g} to {high:.2g}, p = {welch.pvalue:.2f};"
          f" Kolmogorov-Smirnov p = {kolmogorov.pvalue:.2f}")  # fmt: skip


def whitened(folder, inputs, rounds):
    """A step of both optimizers from the same weights and gradients: A.fig2's network, 2 hidden layers of 256."""
    sys.path.insert(0, str(folder))
    theirs = importlib.import_module("src.optim")
    model = drawn(mlp(inputs, [256, 256], 10), 0)
    x = dataset(inputs, 64)

    def network_and_optimizer(kind):
        network = copy.deepcopy(model)
        if kind == "authors":
            steps = theirs.GramFace(torch.optim.SGD, network.parameters(), transform_fn=theirs.whitening, lr=0.01,
                                    momentum=0.85)  # fmt: skip
        else:
            steps = gramlab.WhitenedSGD(network.parameters(), lr=0.01, momentum=0.85, method=kind)
        F.cross_entropy(network(x.x_train), x.y_train).backward()
        return network, steps

    pairs = {kind: network_and_optimizer(kind) for kind in ("authors", "newton-schulz", "svd")}
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    for _, steps in pairs.values():
        steps.step()
    print(f"\nOne whitened step from equal weights, {inputs} inputs (steps in float32; compared layer by layer)")
    for name, W in before.items():
        if W.ndim < 2:
            continue
        gradient = dict(pairs["svd"][0].named_parameters())[name].grad
        target = (W - 0.01 * gradient).double()
        U, _, Vh = torch.linalg.svd(W.double() @ target.T, full_matrices=False)
        exact = U @ Vh @ target
        for kind, (network, _) in pairs.items():
            moved = dict(network.named_parameters())[name].detach().double()
            print(f"  {name:<10} {kind:<14} Gram off by {gap(moved.T @ moved, target.T @ target):8.1e}"
                  f"   weight off by {gap(moved, exact):8.1e}"
                  f"   (the step itself is {gap(exact, W):.1e} of the weight)")  # fmt: skip
    seconds = race({kind: lambda steps=steps: [steps.step() for _ in range(10)] for kind, (_, steps) in pairs.items()},
                   rounds)  # fmt: skip
    show("10 optimizer steps", seconds, list(itertools.product(("newton-schulz", "svd"), ("authors",))))


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--authors", type=Path)
    parse.add_argument("--rounds", type=int, default=7)
    parse.add_argument("--compiled", action="store_true", help="compiled steps against plain ones, and nothing else")
    options = parse.parse_args()
    torch.set_num_threads(1)
    if options.compiled:
        for inputs, hidden, batch in ((2, [32, 32], 64), (64, [64] * 3, 16), (64, [256], 64)):
            compiled(inputs, hidden, batch, options.rounds)
        return
    for inputs, n in ((64, 12800), (3072, 6400)):
        step_against_bare(inputs, n, options.rounds)
    for inputs, hidden, batch in ((2, [32, 32], 64), (64, [64] * 3, 16), (64, [256], 64), (64, [256] * 4, 16),
                                  (64, [256] * 4, 64), (3072, [256] * 4, 64)):  # fmt: skip
        seeds_together(hidden, mlp(inputs, hidden, 10), inputs, batch, options.rounds)
    narrow = {"width": 64, "channels": 8}
    for kind, shape, batch, seeds, n, settings in (
        ("cnn", (1, 8, 8), 16, 16, 512, {}), ("cnn", (3, 32, 32), 64, 5, 128, {}),
        ("resnet18", (1, 8, 8), 32, 9, 128, narrow), ("vgg11", (1, 16, 16), 32, 27, 64, narrow),
        ("vgg11", (3, 32, 32), 32, 3, 64, narrow | {"channels": 16}),
    ):  # fmt: skip
        words = " ".join([kind, *(f"{name} {value}" for name, value in settings.items())])
        seeds_together(words, build(kind, shape, 10, **settings), shape, batch, options.rounds, n, seeds)
    for inputs, hidden, batch, seeds in ((64, [256] * 4, 64, 1), (3072, [256] * 4, 64, 1), (3072, [256], 64, 5),
                                         (64, [64] * 3, 16, 5)):  # fmt: skip
        loading(inputs, hidden, batch, options.rounds, 6400, seeds)
    parting()
    ends()
    if options.authors:
        for inputs in (64, 3072):
            whitened(options.authors, inputs, options.rounds)


if __name__ == "__main__":
    main()
