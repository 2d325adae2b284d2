"""Typeset mathematics: LaTeX to MathML, which browsers and screen readers show without scripts and without fonts."""

from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup


def mathml(latex: str | tuple[str, ...]) -> Markup:
    r"""Displayed formulas as MathML.

    Parameters
    ----------
    latex
        A formula, or several, each of which becomes a displayed line: a claim's ``MATH`` or ``MATH_CORRECTED``.

    Returns
    -------
    Markup
        A ``<math display="block">`` element for each formula.

    Raises
    ------
    ValueError
        For a formula that the library does not convert whole, with the formula and the part of it that is left.

    Examples
    --------
    >>> mathml(r"W^\top W").count("<math")
    1
    >>> mathml((r"\rho = 1", r"n \ge 2")).count("<math")
    2
    """
    lines = (latex,) if isinstance(latex, str) else latex
    return Markup("\n").join(_line(line) for line in lines)


def _line(latex: str) -> Markup:
    converted = convert(latex, display="block")
    # the library passes on a command that it does not know, and an alignment mark outside a table, as plain text
    try:
        text = "".join(ElementTree.fromstring(converted).itertext())
    except ElementTree.ParseError as error:
        raise ValueError(f"not converted to well-formed MathML ({error}): {latex}") from error
    if "\\" in text:
        raise ValueError(f"not converted: {text[text.index(chr(92)) :].split()[0]} in {latex}")
    # browsers leave out columnalign, which is no longer part of MathML
    return Markup(converted.replace('columnalign="left"', 'style="text-align: left"'))
