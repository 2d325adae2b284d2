"""C.fig3, C.fig8, C.fig9, C.fig10: every layer of five-hidden-layer networks, and along training where it was kept."""

from collections.abc import Iterator

from tasks.measuring.run import Run
from tasks.papers.fact.experiments.shared.correlations import ARMS, correlations


def measure(run: Run) -> Iterator[dict]:
    """Rows: pearson/NAME and pearson/back_NAME by data set (case), layer, epoch (x), seed, arm; and the history."""
    for case, one in run.variants.items():
        for epoch in one.epochs:
            for seed in one.seeds:
                for arm in ARMS:
                    yield from ({**row, "case": case} for row in correlations(one, seed, epoch, arm))
    yield from ({**row, "arm": "claim"} for row in run.history)
