"""Time several candidates in one process: they take turns, and ratios are computed within each round.

Seconds are the CPU time of the process, by default on one thread, so that other work on the machine matters least.
"""

import argparse
import statistics
import time

import torch


def arguments(description, **defaults):
    """Parse the command line: an option for each default, such as ``--rounds 5``; a list takes several values.

    Sets torch's seed, and its number of threads to the option ``threads``, or to 1.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        first, count = (default[0], "*") if isinstance(default, list) else (default, None)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(first), nargs=count, default=default)
    options = parser.parse_args()
    torch.set_num_threads(getattr(options, "threads", 1))
    torch.manual_seed(0)
    return options


def race(candidates, rounds=5, warm=True):
    """Time each callable once a round, in turn: {name: [seconds]}. ``warm`` adds a first round that is not counted."""
    seconds = {name: [] for name in candidates}
    for number in range(rounds + warm):
        for name, candidate in candidates.items():
            start = time.process_time()
            candidate()
            if number >= warm:
                seconds[name].append(time.process_time() - start)
    return seconds


def ratio(seconds, over, under):
    """Time of ``over`` divided by that of ``under``: median and range over the rounds, as text."""
    ratios = [a / b for a, b in zip(seconds[over], seconds[under], strict=True)]
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


def show(title, seconds, pairs):
    """Print the medians and, for each pair of names, the ratio."""
    print(f"\n{title}")
    for name, values in seconds.items():
        if values:
            print(f"  {name:<32} {statistics.median(values):9.4f} s   ({len(values)} rounds)")
    for over, under in pairs if next(iter(seconds.values())) else ():
        print(f"  {over} / {under}: {ratio(seconds, over, under)}")


def epoch(ensemble):
    """Take the steps of an epoch, as in fit()."""
    batches = ensemble.batches.epoch(0)
    for first in range(0, len(batches), ensemble.steps_per_call):
        rows = batches[first : first + ensemble.steps_per_call]
        ensemble.advance(first, [1.0] * len(rows), rows)
    ensemble.check_finite()


def gap(a, b):
    """Normwise relative difference."""
    return float((a.double() - b.double()).norm() / b.double().norm())
