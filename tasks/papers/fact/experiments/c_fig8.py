"""C.fig3, C.fig8, C.fig9, C.fig10: all layers of networks of five hidden layers, at every epoch that the run keeps."""

from collections.abc import Iterator
from functools import partial

from gramlab.files import sha256
from tasks.measuring.resumable import rows_of_part
from tasks.measuring.run import Run
from tasks.papers.fact.experiments.shared.correlations import ARMS, correlations


def measure(run: Run) -> Iterator[dict]:
    """Rows pearson/NAME and pearson/back_NAME by data set (case), layer, epoch (x), seed and arm; the history."""
    for case, variant in run.variants.items():
        for epoch in variant.epochs:
            part = [case, epoch, variant.settings.model_dump(mode="json"), sha256(variant.snapshot_path(epoch))]
            yield from rows_of_part(run.key, part, partial(_rows_of_epoch, variant, case, epoch))
    yield from ({**row, "arm": "claim"} for row in run.history)


def _rows_of_epoch(run: Run, case: str, epoch: int) -> Iterator[dict]:
    for seed in run.seeds:
        for arm in ARMS:
            yield from ({**row, "case": case} for row in correlations(run, seed, epoch, arm))
