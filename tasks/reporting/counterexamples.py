"""The programs that show a print's error on a small example: ``tasks/papers/PAPER/counterexamples/KEY.py``."""

import re
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from tasks import papers
from tasks.settings import ROOT

DERIVATIONS = "docs/derivations.md"
HEADING = re.compile(r"<h(\d)>(.*?)</h\1>")
PAGE = re.compile(r"\]\((?![a-z]+:|\.\./|#)([^)\s]+)\)")  # a link to another page of the documentation


def counterexample(paper: str, key: str) -> Path | None:
    """The program of a claim; claims with one corrected form share one program.

    Parameters
    ----------
    paper, key
        The folder of the paper, such as ``weight_gram``, and the key of the claim.

    Returns
    -------
    Path or None
        None where the claim has no counterexample.
    """
    folder = papers.FOLDER / paper / "counterexamples"
    programs = {path.stem: path for path in sorted(folder.glob("*.py"))}
    if key in programs:
        return programs[key]
    corrected = getattr(papers.claim(paper, key), "MATH_CORRECTED", None)
    same = [path for name, path in programs.items()
            if corrected and getattr(papers.claim(paper, name), "MATH_CORRECTED", None) == corrected]  # fmt: skip
    return same[0] if same else None


def derivation(key: str) -> str:
    """The address of a claim's derivation, relative to the project, or "" where it has none."""
    anchor = key.replace("_", "-")
    text = (ROOT / DERIVATIONS).read_text(encoding="utf-8")
    return f"{DERIVATIONS}#{anchor}" if f'<a id="{anchor}"></a>' in text else ""


def derivations() -> Markup:
    """The derivations of all corrected forms as HTML, with links for a page in ``reports``."""
    text = PAGE.sub(r"](../docs/\1)", (ROOT / DERIVATIONS).read_text(encoding="utf-8"))
    html = MarkdownIt("commonmark", {"html": True}).render(text)
    html = HEADING.sub(lambda heading: f'<h{heading[1]} id="{_anchor(heading[2])}">{heading[2]}</h{heading[1]}>', html)
    html = html.replace("<pre>", '<pre tabindex="0">')
    return Markup(re.sub(r"<a (id=\S+)></a>", r"<span \1></span>", html))  # a link without words has no name


def _anchor(heading: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    return re.sub(r"[^\w -]", "", re.sub(r"<[^>]+>", "", heading).lower()).replace(" ", "-")
