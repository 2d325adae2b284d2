"""Random streams that never collide and do not depend on history.

Every use of randomness names its stream: (experiment, seed, purpose, epoch or draw). The name is hashed into
the key of a counter-based generator (Philox), so a resumed run, another order of work or another batch size
sees the same numbers, and two purposes never see each other's, as equally seeded generators silently do.
"""

import hashlib

import numpy as np


def stream(*name: str | int) -> np.random.Generator:
    """The generator of the stream with this name, from its beginning; names differ if any part differs."""
    digest = hashlib.sha256(repr(name).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
