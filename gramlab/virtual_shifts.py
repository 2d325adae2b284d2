"""Paper A's sum of virtual covariance shifts over a training run (Figure 7)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from gramlab.measures.measurement import Measurement
from gramlab.measures.products import mirrored
from gramlab.measures.results import LayerMeasures
from gramlab.measures.similarity import pearson, ratio
from gramlab.measures.undefined import Undefined

_WIDE = 1024  # from this side on d × d matrices do not stay in a processor's cache, and blocks of their rows are faster
_ROWS = 128


class VirtualShifts:
    """The sum of virtual covariance shifts over training, and its correlations with the Gram matrix (A, Figure 7)."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}
        self.initial_grams: dict[str, Tensor] = {}
        self.shifts: dict[str, Tensor] = {}  # of the last measurement, at the learning rate of the step after it
        self.factors: dict[str, tuple[Tensor, Tensor]] = {}  # the same of wide layers, whose shift is AᵀB
        self.pending: Measurement | None = None  # a measurement whose learning rate is not known yet
        self.last_step = 0

    def set_learning_rate(self, rates: Mapping[str, float]) -> None:
        """Set the learning rate of each layer in the first step after the last measurement.

        Later calls are ignored until the next measurement.
        """
        if self.pending is not None:
            for name, layer in self.pending.items():
                if layer.weight.ndim == 2 and layer.weight.shape[-1] > _WIDE:
                    self.factors[name] = _checked_range(name, *layer.virtual_shift_factors(rates[name]))
                else:
                    self.shifts[name] = layer.virtual_shift(rates[name])
            self.pending = None

    def add(self, measurement: Measurement, step: int) -> list[tuple[str, str, float]]:
        """Add the last measurement's shift for each step since then; return the sum's correlations."""
        numbers = []
        for name, layer in measurement.items():
            if name not in self.initial_grams:  # nothing has moved yet
                self.initial_grams[name], self.totals[name] = layer.gram, torch.zeros_like(layer.gram)
                continue
            steps = step - self.last_step
            if name in self.factors:
                A, B = self.factors.pop(name)
                numbers += self._add_in_blocks(name, layer, steps * A, B)
                continue
            # in the memory of the shift, which is not needed again: new d × d matrices take longer than these sums
            shift = self.shifts.pop(name, None)
            if shift is None:  # the last measurement left the layer out, because no sample reached it
                shift = torch.zeros_like(layer.gram)
            self.totals[name] += shift.mul_(steps)
            moved = torch.sub(layer.gram, self.initial_grams[name], out=shift)
            numbers += _correlations(name, layer.gram, moved, self.totals[name])
        self.pending, self.last_step = measurement, step
        return numbers

    def _add_in_blocks(self, name: str, layer: LayerMeasures, A: Tensor, B: Tensor) -> list[tuple[str, str, float]]:
        """Add AᵀB to a wide layer's sum and return its correlations, with one way through memory.

        Only blocks on and above the diagonal are computed, of WᵀW too, which is not kept.
        """
        W, total, before = layer.weight, self.totals[name], self.initial_grams[name]
        d = W.shape[-1]
        sums = total.new_zeros(8)
        for start in range(0, d, _ROWS):
            stop = min(start + _ROWS, d)
            T = total[start:stop, start:].addmm_(A[:, start:stop].mT, B[:, start:])
            G = W[:, start:stop].mT @ W[:, start:]
            moved = G - before[start:stop, start:]
            for columns, copies in ((slice(stop - start), 1), (slice(stop - start, None), 2)):
                t, g, m = (part[:, columns].reshape(-1) for part in (T, G, moved))
                products = (t.dot(t), g.dot(g), m.dot(m), g.dot(t), m.dot(t))
                sums += copies * torch.stack([t.sum(), g.sum(), m.sum(), *products])
        st, sg, sm, tt, gg, mm, gt, mt = sums.tolist()
        spreads = [square - s * s / d**2 for s, square in ((st, tt), (sg, gg), (sm, mm))]
        if not all(1e-200 < square < 1e300 and spread > 1e-3 * square
                   for spread, square in zip(spreads, (tt, gg, mm), strict=True)):  # fmt: skip
            return _correlations(name, layer.gram, layer.gram - before, mirrored(total.unsqueeze(0))[0])
        gram = W.square().sum(0)
        diagonals = (gram, gram - before.diagonal())
        values = (gt - sg * st / d**2, mt - sm * st / d**2)
        numbers = []
        for suffix, value, spread, diagonal in zip(("", "_moved"), values, spreads[1:], diagonals, strict=True):
            numbers.append((name, f"pearson_virtual{suffix}", ratio(spread, spreads[0], value)))
            numbers.append((name, f"diagonal_virtual{suffix}", pearson(diagonal, total.diagonal())))
        return numbers


def _correlations(name: str, gram: Tensor, moved: Tensor, total: Tensor) -> list[tuple[str, str, float]]:
    numbers = []
    for suffix, matrix in (("", gram), ("_moved", moved)):
        for prefix in ("pearson", "diagonal"):
            try:
                value = pearson(matrix, total, diagonal=prefix == "diagonal")
            except Undefined:  # nothing has moved
                continue
            numbers.append((name, f"{prefix}_virtual{suffix}", value))
    return numbers


def _checked_range(name: str, A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    if not bool(torch.isfinite(A.norm() * B.norm())):  # no entry of AᵀB is larger
        raise Undefined(f"layer {name!r}: virtual_shift leaves float64's range; scale the weights or the inputs")
    return A, B
