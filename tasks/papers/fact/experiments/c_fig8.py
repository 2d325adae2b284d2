"""C.fig3, C.fig8, C.fig9, C.fig10: all layers of networks of five hidden layers, at every epoch that the run keeps."""

from collections.abc import Iterator
from functools import partial

from tasks.measuring.run import Run
from tasks.papers.fact.experiments.shared.correlations import ARMS, correlations


def measure(run: Run) -> Iterator[dict]:
    """Rows pearson/NAME and pearson/back_NAME by data set (case), layer, epoch (x), seed and arm; the history."""
    for case, variant in run.variants.items():
        for epoch in variant.epochs:
            for seed in variant.seeds:
                for arm in ARMS:
                    rows = partial(correlations, variant, seed, epoch, arm)
                    yield from ({**row, "case": case} for row in variant.part(epoch, seed, arm, measure=rows))
    yield from ({**row, "arm": "claim"} for row in run.history)
