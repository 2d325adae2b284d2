"""Processes that measure one data set together: in step where FSDP needs it, and failing together."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from torch import distributed as dist

from gramlab.measures.batches import Batch


@dataclass(frozen=True)
class Processes:
    """The processes of ``torch.distributed``.

    Attributes
    ----------
    in_step : bool
        Whether FSDP has split the model, so that each forward and backward pass needs all processes at once.
    """

    in_step: bool

    def batches(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield a process's batches, and batches that do not count while another process still has some.

        Raises
        ------
        ValueError
            In every process, if the data of one cannot be read.
        """
        last: Batch | None = None
        while True:
            batch = None
            with self.failing_together() if self.in_step else nullcontext():
                batch = next(batches, None)
            if self.in_step and any(self.gather(batch is not None)) and batch is None and last is not None:
                batch = last._replace(is_counted=False)
            if batch is None:
                return
            last = batch
            yield batch

    def fail_together(self, error: Exception | None) -> None:
        """Raise this process's error, or name the first one of another process. All processes must call this."""
        errors = self.gather(None if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
        for rank, text in enumerate(errors):
            if text is not None:
                raise ValueError(f"process {rank} cannot measure its part: {text}")

    @contextmanager
    def failing_together(self) -> Iterator[None]:
        """Raise an error in every process if one fails while the context is open. All processes must open it."""
        error = None
        try:
            yield
        except Exception as reason:  # whatever it is, the other processes must not wait for this one
            error = reason
        self.fail_together(error)

    def union(self, values: set) -> set:
        """Return the union over processes in step; otherwise ``values``."""
        return set().union(*self.gather(values)) if self.in_step else values

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes in all of them."""
        values: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(values, value)
        return values
