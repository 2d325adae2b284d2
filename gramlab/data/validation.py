"""Checks of a source's options; every error is one line with the option, the allowed values and the given one."""

import math
from collections.abc import Iterable

from gramlab.data.dataset import DataError


def check_integer(source: str, name: str, value: int, minimum: int = 1, maximum: float = math.inf) -> int:
    """Check that an option is a whole number from `minimum` to `maximum`.

    Parameters
    ----------
    source, name : str
        Data source and option, for the error message.
    value : int
    minimum, maximum : int, optional
        Smallest and largest allowed value; 1 and no limit by default.

    Returns
    -------
    int
        The value.

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_integer("swiss_roll", "samples", 0)
    Traceback (most recent call last):
        ...
    gramlab.data.dataset.DataError: swiss_roll: samples must be a whole number of at least 1, not 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        allowed = f"of at least {minimum}" if maximum == math.inf else f"from {minimum} to {maximum}"
        raise DataError(f"{source}: {name} must be a whole number {allowed}, not {value!r}")
    return value


def check_number(source: str, name: str, value: float, allow_zero: bool = True) -> float:
    """Check that an option is a finite number and not negative.

    Parameters
    ----------
    source, name : str
        Data source and option, for the error message.
    value : float
    allow_zero : bool, optional

    Returns
    -------
    float
        The value.

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_number("gaussian", "decay", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not (
        math.isfinite(value) and (value > 0 or (allow_zero and value == 0))
    ):  # fmt: skip
        allowed = "a number of at least 0" if allow_zero else "a positive number"
        raise DataError(f"{source}: {name} must be {allowed}, not {value!r}")
    return float(value)


def check_fraction(source: str, name: str, value: float, allow_zero: bool = True, allow_one: bool = True) -> float:
    """Check that an option lies in [0, 1].

    Parameters
    ----------
    source, name : str
        Data source and option, for the error message.
    value : float
    allow_zero, allow_one : bool, optional
        Whether the interval contains its end points.

    Returns
    -------
    float
        The value.

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_fraction("modular", "fraction", 0.5)
    0.5
    """
    if not (
        isinstance(value, int | float) and 0 <= value <= 1 and (allow_zero or value > 0) and (allow_one or value < 1)
    ):
        interval = f"{'[' if allow_zero else '('}0, 1{']' if allow_one else ')'}"
        raise DataError(f"{source}: {name} must lie in {interval}, not {value!r}")
    return float(value)


def check_choice(source: str, name: str, value: object, allowed: Iterable) -> None:
    """Check that an option is one of the allowed values.

    Parameters
    ----------
    source, name : str
        Data source and option, for the error message.
    value : object
    allowed : iterable

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_choice("gaussian", "labels", "signs", ("normal", "signs"))
    """
    if value not in allowed:
        raise DataError(f"{source}: {name} must be one of {', '.join(map(str, allowed))}, not {value!r}")
