"""Compare gramlab with every checkout in a folder, print the table, and write it as JSON."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.authors import centered_nfa, deep_rfm, gramlin, machines, neural_collapse
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison
from benchmarks.authors.subject import subject

REPOSITORIES = {  # name of the checkout -> its comparisons
    "GramLin": gramlin.comparisons,
    "centered_NFA": centered_nfa.comparisons,
    "neural_collapse_rfm": neural_collapse.comparisons,
    "recursive_feature_machines": deep_rfm.comparisons,
    "rfm-grokking": machines.grokking,
    "xRFM": machines.xrfm,
}


def comparisons(folder: Path) -> Iterator[Comparison]:
    """All comparisons with the checkouts that the folder has."""
    available = [name for name in REPOSITORIES if (folder / name).is_dir()]
    if not available:
        raise SystemExit(f"{folder} has none of {', '.join(REPOSITORIES)}: docs/authors.md says how to get them")
    prepared = subject()
    for name in available:
        yield from REPOSITORIES[name](Checkout(folder / name), prepared)


def write(path: Path, rows: list[Comparison]) -> None:
    """Write the table; the commits stand with each row."""
    path.write_text(
        json.dumps({"comparisons": [row.row() for row in rows]}, indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )


def main() -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reports/authors.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for row in comparisons(options.folder):
        rows.append(row)
        numbers = "  ".join(
            "-" if value is None else f"{value:.3g}"
            for value in (row.their_value, row.our_value, row.difference, row.rest)
        )
        mark = "" if row.explained else "  NOT EXPLAINED"
        print(f"{row.repository} {row.function}, {row.quantity}: {numbers}{mark}", flush=True)
    write(options.out, rows)
    print(f"{sum(row.explained for row in rows)} of {len(rows)} agree or differ by their cause alone")


if __name__ == "__main__":
    main()
