"""Named random streams, which never collide and do not depend on what was drawn before.

Every use of randomness names its stream: experiment, seed, purpose, and epoch or draw. Two generators that are seeded
with the same small integer give the same numbers, so that data and weights can silently be equal; two streams of
different names cannot.
"""

import hashlib

import numpy as np


def stream(*name: str | int) -> np.random.Generator:
    """Return a new generator at the beginning of the named random stream.

    The hashed name is the key of a counter-based generator (Philox). A resumed run, another order of work or another
    batch size therefore draws the same numbers.

    Parameters
    ----------
    *name : str or int
        The parts of the name. Streams whose names differ in any part are independent.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> from gramlab.streams import stream
    >>> bool(stream("a_fig7", 0, "data").normal() == stream("a_fig7", 0, "data").normal())
    True
    >>> bool(stream("a_fig7", 0, "data").normal() == stream("a_fig7", 0, "weights").normal())
    False
    """
    digest = hashlib.sha256(repr(name).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
