"""Paper A's sum of virtual covariance shifts over a training run (Figure 7)."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from gramlab.losses import all_finite
from gramlab.measures.measurement import Measurement
from gramlab.measures.products import mirrored, symmetric
from gramlab.measures.results import LayerMeasures
from gramlab.measures.similarity import pearson, ratio
from gramlab.measures.undefined import Undefined

_WIDE = 1024  # from this side on d × d matrices do not stay in a processor's cache, and blocks of their rows are faster
_ROWS = 128
_QUANTITIES = ("pearson_virtual", "diagonal_virtual", "pearson_virtual_moved", "diagonal_virtual_moved")


class VirtualShifts:
    """The sum of virtual covariance shifts over training, and its correlations with the Gram matrix (A, Figure 7)."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}
        self.initial_grams: dict[str, Tensor] = {}
        self.shifts: dict[str, Tensor] = {}  # of the last measurement, at the learning rate of the step after it
        self.factors: dict[str, tuple[Tensor, Tensor]] = {}  # the same of wide layers, whose shift is AᵀB
        self.incomplete: dict[str, str] = {}  # why a layer's sum lacks a shift
        self.pending: Measurement | None = None  # a measurement whose learning rate is not known yet
        self.last_step = 0
        self.has_begun = False  # whether there was a measurement

    def set_learning_rate(self, rates: Mapping[str, float]) -> None:
        """Set the learning rate of each layer in the first step after the last measurement.

        Later calls are ignored until the next measurement. A layer whose shift is undefined has no sum from then on.

        Parameters
        ----------
        rates : mapping of str to float
            The learning rate by the layer's name.
        """
        if self.pending is not None:
            for name, layer in self.pending.items():
                if name in self.incomplete:
                    continue
                try:
                    if layer.weight.ndim == 2 and layer.weight.shape[-1] > _WIDE:
                        self.factors[name] = _checked_range(name, *layer.virtual_shift_factors(rates[name]))
                    else:
                        self.shifts[name] = layer.virtual_shift(rates[name])
                except Undefined as reason:
                    self._end(name, f"the sum lacks the shift at step {self.last_step}: {reason}")
            self.pending = None

    def add(self, measurement: Measurement, step: int, undefined: dict[str, str]) -> list[tuple[str, str, float]]:
        """Add the last measurement's shift for each step since then; return the sum's correlations.

        Parameters
        ----------
        measurement : Measurement
        step : int
        undefined : dict of str to str
            Gets "layer quantity" -> why a value is missing.

        Returns
        -------
        list of (str, str, float)
            Layer, quantity, value.
        """
        numbers = []
        for name in {*self.shifts, *self.factors} - measurement.keys():
            self._add_unreached(name, step - self.last_step)
        for name, layer in measurement.items():
            try:
                if name not in self.incomplete:
                    numbers += self._add_layer(name, layer, step - self.last_step, undefined)
            except Undefined as reason:
                self._end(name, str(reason))
            if name in self.incomplete:
                undefined.update({f"{name} {quantity}": self.incomplete[name] for quantity in _QUANTITIES})
        self.pending, self.last_step, self.has_begun = measurement, step, True
        return numbers

    def _add_unreached(self, name: str, steps: int) -> None:
        """Add the last shift of a layer that no sample reaches now: it counts for the steps up to now, and no more."""
        shift = symmetric(*self.factors.pop(name)) if name in self.factors else self.shifts.pop(name)
        self.totals[name] += steps * shift

    def _end(self, name: str, reason: str) -> None:
        """Give up a layer's sum, which lacks a shift from now on, and its memory."""
        self.incomplete[name] = reason
        for matrices in (self.totals, self.initial_grams, self.shifts, self.factors):
            matrices.pop(name, None)

    def _add_layer(
        self, name: str, layer: LayerMeasures, steps: int, undefined: dict[str, str]
    ) -> list[tuple[str, str, float]]:
        """``add`` for one layer. Raises Undefined if its sum is not defined any more."""
        if name not in self.initial_grams:
            # a layer that the first measurement did not reach may have moved since then
            self.initial_grams[name] = layer.initial_gram if self.has_begun else layer.gram
            self.totals[name] = torch.zeros_like(layer.gram)
            return []
        if name in self.factors:
            A, B = self.factors.pop(name)
            return self._add_in_blocks(name, layer, steps * A, B, undefined)
        # in the memory of the shift, which is not needed again: new d × d matrices take longer than these sums
        shift = self.shifts.pop(name, None)
        if shift is None:  # the last measurement left the layer out, because no sample reached it
            shift = torch.zeros_like(self.totals[name])
            mirrored(self.totals[name].unsqueeze(0))  # of a wide layer, whose sum has its upper half alone
        self.totals[name] += shift.mul_(steps)
        self._check_total(name)
        moved = torch.sub(layer.gram, self.initial_grams[name], out=shift)
        return _correlations(name, layer.gram, moved, self.totals[name], undefined)

    def _check_total(self, name: str) -> None:
        if not all_finite(self.totals[name]):
            raise Undefined(f"layer {name!r}: the sum of virtual shifts leaves float64's range; scale the inputs")

    def _add_in_blocks(
        self, name: str, layer: LayerMeasures, A: Tensor, B: Tensor, undefined: dict[str, str]
    ) -> list[tuple[str, str, float]]:
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
            self._check_total(name)
            return _correlations(name, layer.gram, layer.gram - before, mirrored(total.unsqueeze(0))[0], undefined)
        gram = W.square().sum(0)
        diagonals = (gram, gram - before.diagonal())
        values = (gt - sg * st / d**2, mt - sm * st / d**2)
        quantities: dict[str, Callable[[], float]] = {}
        for suffix, value, spread, diagonal in zip(("", "_moved"), values, spreads[1:], diagonals, strict=True):
            quantities[f"pearson_virtual{suffix}"] = partial(ratio, spread, spreads[0], value)
            quantities[f"diagonal_virtual{suffix}"] = partial(pearson, diagonal, total.diagonal())
        return _defined(name, undefined, quantities)


def _correlations(
    name: str, gram: Tensor, moved: Tensor, total: Tensor, undefined: dict[str, str]
) -> list[tuple[str, str, float]]:
    return _defined(name, undefined, {
        f"{prefix}_virtual{suffix}": partial(pearson, matrix, total, diagonal=prefix == "diagonal")
        for suffix, matrix in (("", gram), ("_moved", moved))
        for prefix in ("pearson", "diagonal")
    })  # fmt: skip


def _defined(
    name: str, undefined: dict[str, str], quantities: Mapping[str, Callable[[], float]]
) -> list[tuple[str, str, float]]:
    """The rows of a layer's quantities; ``undefined`` gets the reasons of the missing ones."""
    numbers = []
    for quantity, compute in quantities.items():
        try:
            numbers.append((name, quantity, compute()))
        except Undefined as reason:  # for instance, nothing has moved
            undefined[f"{name} {quantity}"] = str(reason)
    return numbers


def _checked_range(name: str, A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    if not bool(torch.isfinite(A.norm() * B.norm())):  # no entry of AᵀB is larger
        raise Undefined(f"layer {name!r}: virtual_shift leaves float64's range; scale the weights or the inputs")
    return A, B
