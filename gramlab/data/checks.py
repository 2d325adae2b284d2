"""Checks of a source's options: one line that names the option, what it was, and what is allowed."""

import math

from gramlab.data.dataset import DataError


def whole(source: str, name: str, value: int, least: int = 1) -> int:
    """``value``, if it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise DataError(f"{source}: {name} must be a whole number of at least {least}, not {value!r}")
    return value


def positive(source: str, name: str, value: float) -> float:
    """``value``, if it is a positive and finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise DataError(f"{source}: {name} must be a positive number, not {value!r}")
    return float(value)


def share(source: str, name: str, value: float, zero: bool = True, one: bool = True) -> float:
    """``value``, if it lies in [0, 1]; without an end that ``zero`` or ``one`` excludes."""
    inside = isinstance(value, int | float) and 0 <= value <= 1 and (zero or value > 0) and (one or value < 1)
    if not inside:
        interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise DataError(f"{source}: {name} must lie in {interval}, not {value!r}")
    return float(value)


def among(source: str, name: str, value: object, allowed) -> None:
    """Refuse ``value`` unless it is one of ``allowed``."""
    if value not in allowed:
        raise DataError(f"{source}: {name} must be one of {', '.join(map(str, allowed))}, not {value!r}")
