"""The error for a quantity that has no value."""


class Undefined(ValueError):
    """A quantity has no value for these arguments; the message says why.

    Raised where a plain formula would give NaN or divide by zero: the cosine with a zero matrix, the target linearity
    of a constant target, FACT without weight decay. No measure returns NaN; in data frames NaN marks a missing value.

    Examples
    --------
    >>> import gramlab
    >>> try:
    ...     gramlab.cosine([[1.0]], [[0.0]])
    ... except gramlab.Undefined as error:
    ...     print(error)
    the correlation is undefined: the second array is zero
    """
