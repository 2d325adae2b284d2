"""gramlab: measure what a neural network's weights have learned.

The names below load on first use, so that ``import gramlab.tables`` costs no torch.
"""

from importlib import import_module

_HOME: dict[str, str] = {}  # public name -> module that defines it


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'gramlab' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
