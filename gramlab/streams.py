"""Named random streams, which never collide and do not depend on what was drawn before.

Every use of randomness names its stream: experiment, seed, purpose, and epoch or draw. Two generators that are seeded
with the same small integer give the same numbers, so that data and weights can silently be equal; two streams of
different names cannot.
"""

import hashlib
import os

import numpy as np

ROOT_VARIABLE = "GRAMLAB_STREAM_ROOT"


def stream_root() -> int:
    """Return the root of all random streams, a whole number that every name is extended by; 0 by default.

    The environment variable ``GRAMLAB_STREAM_ROOT`` sets it, so that programs started from this one have it too.
    Another root gives other random numbers everywhere: the same experiment on fresh seeds.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the variable holds no whole number from 0.

    Examples
    --------
    >>> from gramlab.streams import stream_root
    >>> stream_root()
    0
    """
    text = os.environ.get(ROOT_VARIABLE, "") or "0"
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{ROOT_VARIABLE} must be a whole number from 0, not {text!r}")
    return int(text)


def stream(*name: str | int) -> np.random.Generator:
    """Return a new generator at the beginning of the named random stream.

    The hashed name is the key of a counter-based generator (Philox). A resumed run, another order of work or another
    batch size therefore draws the same numbers.

    Parameters
    ----------
    *name : str or int
        The parts of the name. Streams whose names or roots differ in any part are independent.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    ValueError
        If GRAMLAB_STREAM_ROOT holds no whole number from 0.

    Examples
    --------
    >>> from gramlab.streams import stream
    >>> bool(stream("a_fig7", 0, "data").normal() == stream("a_fig7", 0, "data").normal())
    True
    >>> bool(stream("a_fig7", 0, "data").normal() == stream("a_fig7", 0, "weights").normal())
    False
    """
    root = stream_root()
    # at root 0 the name alone, which begins with a bracket: no name at another root has the same text
    digest = hashlib.sha256((f"{root}:{name!r}" if root else repr(name)).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
