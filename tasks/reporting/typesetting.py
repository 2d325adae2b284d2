"""Numbers, formulas and names as print has them."""

import math
import re

POWER = re.compile(r"(?<=\d)e([+-]\d+)")  # of ten
# names in the tables and settings, as whole words outside of quantities such as "pearson/root enfa"
NAMES = {
    "symmetric fact": "√(FACT FACTᵀ)", "root agop": "√AGOP", "root enfa": "√eNFA", "agop": "AGOP", "enfa": "eNFA",
    "cifar10-jpeg": "CIFAR-10 (JPEG)", "mnist": "MNIST", "relu": "ReLU", "laplace": "Laplace", "gaussian": "Gaussian",
    "fourier": "Fourier", "vcs": "VCS", "nc1": "NC1", "nc2": "NC2",
}  # fmt: skip
NAME = re.compile(rf"(?<![\w/-])(?<!/root )(?<!/symmetric )({'|'.join(NAMES)})(?![\w/-])")
FACT = re.compile(r"(?:(?<=, )|^)fact(?=[,:]|$)")  # a part by itself, no word of a sentence
KERNEL_MACHINE = re.compile(r"(?<![\w/-])(laplace|gaussian), (relu|fourier)(?![\w/-])")
WEIGHT_DECAY = re.compile(r"\bdecay-1e-0*(\d+)")


def number(value: float | None) -> str:
    """A number with as many digits as a reader can use."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value != 0 and not 1e-3 <= abs(value) < 9999.5:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}·10{superscript(int(exponent))}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def typeset(text: str) -> str:
    """A text with its numbers as print has them, 1.3e+08 as 1.3·10⁸ and with minus signs, and with readable names.

    Examples
    --------
    >>> typeset("from -0.5 to 1.3e-08")
    'from −0.5 to 1.3·10⁻⁸'
    """
    text = POWER.sub(lambda match: "·10" + superscript(int(match[1])), readable(text))
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def readable(text: str) -> str:
    """A text with the names of the tables and settings as readers know them.

    Examples
    --------
    >>> readable("decay-1e-3, root enfa"), readable("mnist, laplace, fourier")
    ('decay 10⁻³, √eNFA', 'MNIST, Laplace kernel, Fourier features')
    """
    text = WEIGHT_DECAY.sub(lambda match: "decay 10" + superscript(-int(match[1])), text)
    text = KERNEL_MACHINE.sub(lambda match: f"{NAMES[match[1]]} kernel, {NAMES[match[2]]} features", text)
    return FACT.sub("FACT", NAME.sub(lambda match: NAMES[match[1]], text))


def superscript(exponent: int) -> str:
    """An exponent in raised digits."""
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def signed(value: float) -> str:
    """A difference, with its sign."""
    return ("+" if value > 0 else "") + number(value)


def typeset_rule(text: str) -> str:
    """A rule's text with its relations, powers and numbers as print has them.

    Examples
    --------
    >>> typeset_rule("R^2 <= 1 + 1e-09, in 1 +- 0.1, by 2^25, cosine of AGOP^(1/L)")
    'R² ≤ 1 + 10⁻⁹, in 1 ± 0.1, by 2²⁵, cosine of AGOP^(1/L)'
    """
    for plain, symbol in (("<=", "≤"), (">=", "≥"), ("+-", "±"), ("W^T W", "WᵀW"), ("||", "‖")):
        text = text.replace(plain, symbol)
    text = re.sub(r"(?<![\d.])1e(-?)0*(\d+)", lambda match: "10" + superscript(int(match[1] + match[2])), text)
    return typeset(re.sub(r"(?<=\w)\^(\d+)", lambda match: superscript(int(match[1])), text))
