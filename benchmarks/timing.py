"""Side-by-side timing in one process: the candidates take turns, and ratios are taken turn by turn.

Seconds are the process's CPU time, on one thread unless told otherwise: other work on the machine then counts least.
"""

import statistics
import time


def race(candidates, rounds=5, warm=True):
    """Time each callable once a round, in turn; returns {name: [seconds]}. A first round is not counted if ``warm``."""
    seconds = {name: [] for name in candidates}
    for turn in range(rounds + warm):
        for name, act in candidates.items():
            begin = time.process_time()
            act()
            if turn >= warm:
                seconds[name].append(time.process_time() - begin)
    return seconds


def ratio(seconds, over, under):
    """How many times as long ``over`` takes as ``under``: median and range over the rounds, as text."""
    ratios = [a / b for a, b in zip(seconds[over], seconds[under], strict=True)]
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


def show(title, seconds, pairs):
    """Print medians and the wanted ratios."""
    print(f"\n{title}")
    for name, values in seconds.items():
        if values:
            print(f"  {name:<32} {statistics.median(values):9.4f} s   ({len(values)} rounds)")
    for over, under in pairs if next(iter(seconds.values())) else ():
        print(f"  {over} / {under}: {ratio(seconds, over, under)}")


def gap(a, b):
    """Normwise relative difference."""
    return float((a.double() - b.double()).norm() / b.double().norm())
