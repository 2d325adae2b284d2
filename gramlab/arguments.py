"""Checks of arguments. A refusal is one line: the argument's name, what it must be, and what was given."""

import difflib
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from gramlab.files import BadInput

# what a number must be, in the words of a message -> whether it is
RANGES: dict[str, Callable[[float], bool]] = {
    "a finite number": lambda value: -math.inf < value < math.inf,
    "a positive number": lambda value: 0 < value < math.inf,
    "a number of at least 0": lambda value: 0 <= value < math.inf,
    "a number from 0 to 1": lambda value: 0 <= value <= 1,
    "a number from 0 to below 1": lambda value: 0 <= value < 1,
    "a number above 0, at most 1": lambda value: 0 < value <= 1,
}


def did_you_mean(name: object, allowed: Iterable[Any], most: int = 1, cutoff: float = 0.6) -> str:
    """Return the end of an error message that names the allowed name nearest to a mistyped one.

    Parameters
    ----------
    name : object
        The unknown name.
    allowed : iterable
        The names to choose from; what is not a text, such as None, is never suggested.
    most : int, optional
        How many names to suggest at most.
    cutoff : float, optional
        The least similarity of a suggestion, from 0 to 1, as in ``difflib.get_close_matches``.

    Returns
    -------
    str
        Empty if no allowed name is similar.

    Examples
    --------
    >>> did_you_mean("crossentropy", ["mse", "cross_entropy"])
    "; did you mean 'cross_entropy'?"
    """
    names = [word for word in allowed if isinstance(word, str)]
    near = difflib.get_close_matches(str(name), names, most, cutoff)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def refusal(name: str, expected: str, value: Any, allowed: Iterable[Any] = ()) -> str:
    """Return the line that refuses an argument.

    Parameters
    ----------
    name : str
        The argument.
    expected : str
        What it must be.
    value : object
        What was given; of a tensor or an array the line has the shape, and how to take a single number out of it.
    allowed : iterable, optional
        Names, of which the line suggests the nearest one.

    Returns
    -------
    str

    Examples
    --------
    >>> refusal("loss", "one of mse, signed_mse or a callable", "mze", ["mse", "signed_mse"])
    "loss must be one of mse, signed_mse or a callable, not 'mze'; did you mean 'mse'?"
    """
    if not _is_array(value):
        return f"{name} must be {expected}, not {value!r}{did_you_mean(value, allowed)}"
    kind = "a tensor" if hasattr(value, "detach") else "an array"
    item = ": give its number, .item()" if math.prod(value.shape) == 1 else ""
    return f"{name} must be {expected}, not {kind} of shape {tuple(value.shape)}{item}"


def _is_array(value: Any) -> bool:
    """Whether it is a tensor or an array, which has no single truth; numpy's own numbers and texts are none."""
    return hasattr(value, "__array__") and hasattr(value, "__len__") and not isinstance(value, str)


@dataclass(frozen=True)
class Check:
    """Checks of arguments that raise one kind of error.

    Parameters
    ----------
    error : type, optional
        The error to raise: BadInput by default.
    place : str, optional
        What the message begins with, before the argument's name.
    whole, real : type, optional
        Types of whole numbers and of numbers, by default also those of numpy. With ``numbers.Real`` for ``whole`` a
        float such as 3.0 is a whole number.

    Examples
    --------
    >>> check = Check(place="swiss_roll: ")
    >>> check.integer("samples", 0)
    Traceback (most recent call last):
        ...
    gramlab.files.BadInput: swiss_roll: samples must be a whole number of at least 1, not 0
    """

    error: type[ValueError] = BadInput
    place: str = ""
    whole: Any = Integral
    real: Any = Real

    def choice(self, name: str, value: Any, allowed: Collection[Any]) -> None:
        """Raise the error unless a value is one of the allowed ones.

        Parameters
        ----------
        name : str
            The argument.
        value : object
        allowed : collection

        Raises
        ------
        ValueError
            ``error``, with the nearest allowed name.

        Examples
        --------
        >>> Check().choice("kernel", "laplac", ["laplace", "gaussian"])
        Traceback (most recent call last):
            ...
        gramlab.files.BadInput: kernel must be one of laplace, gaussian, not 'laplac'; did you mean 'laplace'?
        """
        # a list cannot be looked up in a mapping, but in a tuple
        if _is_array(value) or value not in tuple(allowed):
            self._refuse(name, f"one of {_joined(allowed)}", value, allowed)

    def choices(self, name: str, values: Iterable[Any], allowed: Collection[Any]) -> None:
        """Raise the error unless every value is one of the allowed ones.

        Parameters
        ----------
        name : str
            The argument.
        values : iterable
        allowed : collection

        Raises
        ------
        ValueError
            ``error``, with the unknown values and the name nearest to the first of them.

        Examples
        --------
        >>> Check().choices("quantities", ["agop", "enfa"], ["agop", "enfa", "fact"])
        """
        known = tuple(allowed)
        if unknown := [value for value in values if value not in known]:
            suggestion = did_you_mean(unknown[0], allowed)
            given = ", ".join(map(repr, unknown))
            raise self.error(f"{self.place}{name} must be among {_joined(allowed)}, not {given}{suggestion}")

    def integer(self, name: str, value: Any, minimum: float = 1, maximum: float = math.inf, otherwise: str = "") -> int:
        """Return a whole number. Raise the error unless it is one from ``minimum`` to ``maximum``.

        Parameters
        ----------
        name : str
            The argument.
        value : int
        minimum, maximum : int, optional
            The smallest and the largest allowed number; 1 and no limit by default.
        otherwise : str, optional
            What else is allowed, for the message; the caller leaves it out of the check.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            ``error``; also for True and False.

        Examples
        --------
        >>> Check().integer("constant", 7, minimum=0, maximum=6)
        Traceback (most recent call last):
            ...
        gramlab.files.BadInput: constant must be a whole number from 0 to 6, not 7
        """
        is_finite = isinstance(value, self.whole) and not isinstance(value, bool) and -math.inf < value < math.inf
        if not is_finite or value % 1 or not minimum <= value <= maximum:
            at_least = "" if minimum == -math.inf else f" of at least {minimum}"
            limits = at_least if maximum == math.inf else f" from {minimum} to {maximum}"
            self._refuse(name, f"a whole number{limits}{otherwise}", value)
        return int(value)

    def number(self, name: str, value: Any, expected: str = "a finite number") -> None:
        """Raise the error unless a value is a number of a range.

        Parameters
        ----------
        name : str
            The argument.
        value : float
        expected : str, optional
            A key of `RANGES`.

        Raises
        ------
        ValueError
            ``error``; also for True and False.

        Examples
        --------
        >>> Check().number("momentum", 0.9, "a number from 0 to below 1")
        """
        if not isinstance(value, self.real) or isinstance(value, bool) or not RANGES[expected](value):
            self._refuse(name, expected, value)

    def boolean(self, name: str, value: Any) -> None:
        """Raise the error unless a value is True or False; numpy's are too.

        Parameters
        ----------
        name : str
            The argument.
        value : bool

        Raises
        ------
        ValueError
            ``error``.

        Examples
        --------
        >>> Check().boolean("centered", False)
        """
        if type(value).__name__ not in ("bool", "bool_"):  # numpy's by its name: this module imports no numpy
            self._refuse(name, "True or False", value)

    def _refuse(self, name: str, expected: str, value: Any, allowed: Iterable[Any] = ()) -> None:
        raise self.error(self.place + refusal(name, expected, value, allowed))


def _joined(allowed: Iterable[Any]) -> str:
    return ", ".join(map(str, allowed)) or "none"
