"""C.fig3, C.fig8, C.fig9, C.fig10: every layer of five-hidden-layer networks along training."""

from collections.abc import Iterator
from typing import Any

from tasks.paper_c import ARMS, correlations
from tasks.runs import Run


def measure(settings: Any, run: Run) -> Iterator[dict]:
    """Rows: pearson/NAME and pearson/back_NAME by layer, epoch (x), seed and arm; losses and accuracies."""
    for epoch in run.epochs:
        for seed in run.seeds:
            for arm in ARMS:
                yield from correlations(run, seed, epoch, arm)
    yield from ({**row, "arm": "claim"} for row in run.history)
