"""C.tab2: the first layer after training, by column (the case)."""

from collections.abc import Iterator

from tasks.measuring.run import Run
from tasks.papers.fact.experiments.shared.correlations import columns


def measure(run: Run) -> Iterator[dict]:
    """Rows: pearson/NAME of the first layer by column, seed and arm; losses and accuracies."""
    yield from columns(run)
