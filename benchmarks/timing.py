"""Side-by-side timing in one process: the candidates take turns, and ratios are taken turn by turn."""

import statistics
import time


def race(candidates, rounds=5, warm=True):
    """Time each callable once a round, in turn; returns {name: [seconds]}. A first round is not counted if ``warm``."""
    seconds = {name: [] for name in candidates}
    for turn in range(rounds + warm):
        for name, act in candidates.items():
            begin = time.perf_counter()
            act()
            if turn >= warm:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(seconds, over, under):
    """How many times as long ``over`` takes as ``under``: median and range over the rounds, as text."""
    ratios = [a / b for a, b in zip(seconds[over], seconds[under], strict=True)]
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


def show(title, seconds, pairs):
    """Print medians and the wanted ratios."""
    print(f"\n{title}")
    for name, values in seconds.items():
        print(f"  {name:<32} {statistics.median(values):9.4f} s   ({len(values)} rounds)")
    for over, under in pairs:
        print(f"  {over} / {under}: {ratio(seconds, over, under)}")


def gap(a, b):
    """Normwise relative difference."""
    return float((a.double() - b.double()).norm() / b.double().norm())
