"""What training refuses, and how it ends badly."""

from gramlab.files import BadInput


class NetError(BadInput):
    """A network, its initial weights or its training cannot be as they were asked for."""


class Diverged(ArithmeticError):
    """A loss became NaN or infinite."""
