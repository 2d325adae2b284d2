"""C.tab2: the first layer after training, on so many samples (the case)."""

from collections.abc import Iterator
from typing import Any

from tasks.paper_c import ARMS, correlations
from tasks.runs import Run


def measure(settings: Any, run: Run) -> Iterator[dict]:
    """Rows: pearson/NAME of the first layer by column, seed and arm; losses and accuracies."""
    for case, one in run.variants.items():
        for seed in one.seeds:
            for arm in ARMS:
                yield from ({**row, "case": case} for row in correlations(one, seed, one.epochs[-1], arm, ["0"]))
    yield from ({**row, "arm": "claim"} for row in run.history)
