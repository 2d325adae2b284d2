"""Errors of networks and training."""

from gramlab.arguments import Check
from gramlab.files import BadInput


class NetError(BadInput):
    """A setting of a network, of its initial weights or of its training is wrong.

    Examples
    --------
    >>> from gramlab.nets import build
    >>> build("cnn", (64,), outputs=10)
    Traceback (most recent call last):
        ...
    gramlab.nets.errors.NetError: a cnn needs images (channels, height, width), not samples of shape (64,)
    """


CHECK = Check(NetError)


class Diverged(ArithmeticError):
    """A loss became NaN or infinite.

    Examples
    --------
    >>> raise Diverged("the loss of seed 0 is not a finite number at step 7")
    Traceback (most recent call last):
        ...
    gramlab.nets.errors.Diverged: the loss of seed 0 is not a finite number at step 7
    """
