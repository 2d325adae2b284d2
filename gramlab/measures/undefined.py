"""The typed answer to "this quantity has no value here"."""


class Undefined(ValueError):
    """A quantity that has no value for what was given; its message says why.

    Raised where a plain formula would give NaN or divide by zero: the cosine with a zero matrix, the
    linearity of a constant target, FACT without weight decay. gramlab never returns NaN.
    """
