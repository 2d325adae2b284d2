"""Formulas within sentences: the plain text of claims, such as ``W_l^T W_l <= lambda_max``, as HTML."""

import re

from markupsafe import Markup, escape

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "Phi": "Φ",
    "Psi": "Ψ", "Sigma": "Σ", "Lambda": "Λ",
}  # fmt: skip
SYMBOLS = {"||": "‖", "&lt;=": "≤", "&gt;=": "≥", "-&gt;": "→", "&lt;-": "←", " ~ N(": " ∼ N(", " ~ ": " ≈ ",
           "sqrt(": "√(", " - ": " − "}  # fmt: skip
QUOTED = re.compile("&#34;(.*?)&#34;")
LETTER = r"[^\W\d_]"
GROUP = r"\{(?:[^{}]|\{[^{}]*\})*\}"  # its content may have a group of its own
NAMES = "OLS|id|op|max|min|cls|ij|ik|jk|th|S[01₀₁]"  # indices of more than a letter
OPERATOR = re.compile(rf"(?<!{LETTER})(grad|sum)(?=_|\s\w\b|\s\w\()")
GREEK_WORD = re.compile(rf"(?<![A-Za-z])({'|'.join(sorted(GREEK, key=len, reverse=True))})(?![A-Za-z])")
TRANSPOSED = re.compile(r"\^T(?![A-Za-z])")
POWER = re.compile(rf"\^({GROUP}|\([^()]*\)|[-−]?\d+(?:\.\d+)?|[-−]?{LETTER}|[+*])")
# before an index: a symbol, a single letter of the Latin alphabet, or min, max, mean; so train_accuracy stays as it is
BASE = r"(?:(?<=[^\x00-\x7f])|(?<=[;\])])|(?<=[A-Z])|(?<![A-Za-z]{2})(?<=[a-z])|(?<=min)|(?<=max)|(?<=mean))"
INDEX = re.compile(rf"{BASE}_({GROUP}|(?:{NAMES})(?![A-Za-z])|\d+|{LETTER}\u0303?)")
FILE_LINK = re.compile(
    r"\[([^\[\]]+)\]\(((?:docs|reports)/[^()\s]+)\)"
)  # in a claim's docstring: a file of the project


def file_links(text: str, to_root: str = "../../") -> Markup | str:
    """A typeset sentence whose links to files of the project lead there from a page: as HTML, or else as Markdown.

    Examples
    --------
    >>> file_links(Markup("see [history](docs/history.md)"))
    Markup('see <a href="../../docs/history.md">history</a>')
    >>> file_links("see [history](docs/history.md)")
    'see [history](../../docs/history.md)'
    """
    if isinstance(text, Markup):
        return Markup(FILE_LINK.sub(rf'<a href="{to_root}\2">\1</a>', str(text)))
    return FILE_LINK.sub(rf"[\1]({to_root}\2)", text)


def prose(text: str) -> Markup:
    """A sentence with its quotation marks and formulas typeset: Greek letters, powers, indices, norms and relations.

    Parameters
    ----------
    text
        Plain text. A name of several letters keeps its underscores, as in ``train_accuracy``.

    Returns
    -------
    Markup
        HTML with ``<sup>`` and ``<sub>``.

    Examples
    --------
    >>> prose("W^T W <= lambda_max, ||x_i||^2")
    Markup('Wᵀ W ≤ λ<sub>max</sub>, ‖x<sub>i</sub>‖<sup>2</sup>')
    """
    html = QUOTED.sub(r"“\1”", str(escape(text)))
    for plain, symbol in SYMBOLS.items():
        html = html.replace(plain, symbol)
    html = OPERATOR.sub(lambda match: {"grad": "∇", "sum": "Σ"}[match[1]], html)
    html = GREEK_WORD.sub(lambda match: GREEK[match[1]], html)
    html = TRANSPOSED.sub("ᵀ", html)
    html = INDEX.sub(_index, html)
    return Markup(POWER.sub(lambda match: f"<sup>{_inside(match[1]).replace('-', '−')}</sup>", html))


def _index(match: re.Match) -> str:
    """An index, which may have an index of its own."""
    return f"<sub>{INDEX.sub(_index, _inside(match[1]))}</sub>"


def _inside(text: str) -> str:
    """A group without its own braces or parentheses: {(0)} is (0)."""
    return text[1:-1] if text[0] in "{(" else text
