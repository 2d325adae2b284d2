"""Compare gramlab with other programs that compute the same numbers: first agreement, then the ratio of CPU times.

    python benchmarks/compare.py [--peers FOLDER ...] [--authors FOLDER] [--rounds 7] [--only WORD ...] [--out FILE]

FOLDER of ``--peers`` holds packages that the environment lacks (``pip install --no-deps --target FOLDER xrfm``).
FOLDER of ``--authors`` holds checkouts of the authors' repositories; docs/how-to/authors.md says how to get them. For a
missing peer the program prints how to install it. The programs take turns on one thread, and a ratio is taken within
each round: above 1 the peer takes longer. If the numbers of a pair do not agree, the program ends with an error before
it times them. ``--out benchmarks/results.json`` writes the report's numbers and replaces the pairs that ran.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from authors.checkout import Checkout
from machine import machine, recorded
from peers import authors, libraries, moments
from peers.pair import Pair
from timing import gap, race

PAIRS = libraries.PAIRS + moments.PAIRS + authors.PAIRS
HEAD = "| peer | quantity | size | largest relative difference | time of the peer / of gramlab |\n" + "| --- " * 5 + "|"


def measure(pair: Pair, checkout: Checkout | None, rounds: int) -> dict[str, Any]:
    """The row of a pair. Raises ArithmeticError if the programs do not agree."""
    torch.manual_seed(0)
    ours, theirs = pair.programs(checkout) if pair.checkout else pair.programs()
    difference = gap(ours(), theirs())
    if not difference <= pair.tolerance:
        raise ArithmeticError(f"{pair.peer}, {pair.quantity}: the numbers differ by {difference:.1e}")
    seconds = race({"gramlab": ours, "peer": theirs}, rounds)
    ratios = [b / a for a, b in zip(seconds["gramlab"], seconds["peer"], strict=True)]
    return {
        "peer": pair.peer,
        "version": version(pair, checkout),
        "quantity": pair.quantity,
        "size": pair.size,
        "difference": float(f"{difference:.2g}"),
        "seconds": round(statistics.median(seconds["gramlab"]), 5),
        "ratio": round(statistics.median(ratios), 3),
        "low": round(min(ratios), 3),
        "high": round(max(ratios), 3),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 1),
    }


def version(pair: Pair, checkout: Checkout | None) -> str:
    """The version of the peer's package, or the first letters of the checkout's commit."""
    if checkout is not None:
        return checkout.commit[:10]
    return importlib.metadata.version(pair.install).partition("+")[0]


def available(pair: Pair, folder: Path | None) -> tuple[bool, Checkout | None]:
    """Whether the peer is installed, and the authors' checkout."""
    if pair.checkout:
        is_there = folder is not None and (folder / pair.needs).is_dir()
        return is_there, Checkout(folder / pair.needs) if is_there else None
    return importlib.util.find_spec(pair.needs) is not None, None


def results(folder: Path | None, rounds: int, only: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of all pairs with an installed peer. Prints each row."""
    print(HEAD)
    for pair in PAIRS:
        if only and not any(word in f"{pair.peer} {pair.quantity} {pair.size}" for word in only):
            continue
        is_there, checkout = available(pair, folder)
        if not is_there:
            how = f"no checkout of {pair.needs}" if pair.checkout else f"not installed: pip install {pair.install}"
            print(f"| {pair.peer} | {pair.quantity} | {pair.size} | {how} | |")
            continue
        row = measure(pair, checkout, rounds)
        print(line(row), flush=True)
        yield row


def line(row: dict[str, Any]) -> str:
    """The row of a table in Markdown."""
    times = f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
    name = f"{row['peer']} {row['version']}"
    return f"| {name} | {row['quantity']} | {row['size']} | {row['difference']:.0e} | {times} |"


def key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["peer"], row["quantity"], row["size"]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Replace the pairs that ran and keep the others, in the order of ``PAIRS``."""
    by_key = {key(row): row for row in recorded(path, "pairs") + rows}
    order = [(pair.peer, pair.quantity, pair.size) for pair in PAIRS]
    content = {**machine(), "pairs": [by_key[name] for name in order if name in by_key]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="*", default=[])
    parser.add_argument("--authors", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[], help="pairs whose peer, quantity or size has one of these")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.extend(options.peers)
    torch.set_num_threads(1)
    rows = list(results(options.authors, options.rounds, options.only))
    if options.out:
        write(options.out, rows)


if __name__ == "__main__":
    main()
