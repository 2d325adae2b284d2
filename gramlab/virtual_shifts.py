"""Paper A's sum of virtual covariance shifts over a training run (Figure 7)."""

import torch
from torch import Tensor

from gramlab.measures.measurement import Measurement
from gramlab.measures.similarity import pearson
from gramlab.measures.undefined import Undefined


class VirtualShifts:
    """The sum of virtual covariance shifts over training, and its correlations with the Gram matrix (A, Figure 7)."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}
        self.initial_grams: dict[str, Tensor] = {}
        self.shifts: dict[str, Tensor] = {}  # of the last measurement, at the learning rate of the step after it
        self.pending: Measurement | None = None  # a measurement whose learning rate is not known yet
        self.last_step = 0

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate of the first step after the last measurement.

        Later calls are ignored until the next measurement.
        """
        if self.pending is not None:
            self.shifts = {name: layer.virtual_shift(lr) for name, layer in self.pending.items()}
            self.pending = None

    def add(self, measurement: Measurement, step: int) -> list[tuple[str, str, float]]:
        """Add the last measurement's shift for each step since then; return the sum's correlations."""
        numbers = []
        for name, layer in measurement.items():
            if name not in self.initial_grams:  # nothing has moved yet
                self.initial_grams[name], self.totals[name] = layer.gram, torch.zeros_like(layer.gram)
                continue
            # in the memory of the shift, which is not needed again: new d × d matrices take longer than these sums
            shift = self.shifts.pop(name)
            self.totals[name] += shift.mul_(step - self.last_step)
            moved = torch.sub(layer.gram, self.initial_grams[name], out=shift)
            for suffix, gram in (("", layer.gram), ("_moved", moved)):
                for prefix in ("pearson", "diagonal"):
                    try:
                        value = pearson(gram, self.totals[name], diagonal=prefix == "diagonal")
                    except Undefined:  # nothing has moved
                        continue
                    numbers.append((name, f"{prefix}_virtual{suffix}", value))
        self.pending, self.last_step = measurement, step
        return numbers
