"""C.tab2.MNIST: the first layer after training, by column (the case)."""

from collections.abc import Iterator
from typing import Any

from tasks.paper_c import columns
from tasks.runs import Run


def measure(settings: Any, run: Run) -> Iterator[dict]:
    """Rows: pearson/NAME of the first layer by column, seed and arm; losses and accuracies."""
    yield from columns(run)
