"""Judge an approximation ≈ that has no printed tolerance: its error must be below the smaller of its two sides."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, positive
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

NAMED = 3  # layers at most are named
MANY = 1e6  # errors from here on are written with a power of ten


def about(ratios: Mapping[str, np.ndarray]) -> Finding:
    """In every layer the error is smaller than either side; ``ratios`` has left / right of each seed, by layer.

    For positive sides |left - right| is below both of them exactly if left / right lies between 1/2 and 2. The rule
    reads log(2) - |log(left / right)|. The log of the error would have no lower limit where the sides are equal, so
    that a single network could decide the mean.
    """
    room = {name: np.log(2) - np.abs(np.log(ratio)) for name, ratio in ratios.items()}
    label = "log of 2 minus |log(left / right)|"
    finding = weakest_of({name: positive(values, label) for name, values in room.items()})
    errors = {name: float(np.expm1(np.log(2) - values.mean())) for name, values in room.items()}
    numbers = {f"{name}: error over the smaller side": error for name, error in errors.items()}
    return replace(finding, numbers=numbers, measured=over_smaller_side(errors))


def over_smaller_side(errors: Mapping[str, float]) -> str:
    """The range of the error over the smaller side, by layer, and the layers that have an error above it."""
    values = errors.values()
    above = [f"{name} ({_short(value)})" for name, value in errors.items() if value > 1]
    which = f": {'; '.join(above)}" if 0 < len(above) <= NAMED else ""
    return (f"the error divided by the smaller of the two sides of ≈ is between {_short(min(values))} and "
            f"{_short(max(values))} in the layers, and above 1 in {len(above) or 'none'} of {len(values)} layers"
            f"{which}")  # fmt: skip


def _short(error: float) -> str:
    """An error with two decimals, or with a power of ten: it is enormous where a side is 0 up to round-off."""
    return f"{error:.2f}" if error < MANY else f"{error:.1e}"
