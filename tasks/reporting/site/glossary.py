"""The glossary, and its terms in the text of a page: a link to the entry, with the entry as a pop-up.

The pop-up is part of the page and shown by the style sheet, so that it works without scripts. A page marks each term
once, where it first comes.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

FILE = Path(__file__).resolve().parent.parent / "glossary.toml"


@dataclass(frozen=True)
class Term:
    """An entry: its name, other spellings, and its text."""

    name: str
    text: str
    also: tuple[str, ...] = ()
    ordinary: bool = False  # a word with another meaning outside the report's own sentences

    @property
    def anchor(self) -> str:
        """The entry's id on the glossary's page."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or f"term-{ord(self.name[0])}"


@cache
def terms() -> tuple[Term, ...]:
    """The entries in alphabetical order."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["term"] if FILE.is_file() else []
    loaded = [Term(entry["name"], entry["text"], tuple(entry.get("also", ())), entry.get("ordinary", False))
              for entry in entries]  # fmt: skip
    return tuple(sorted(loaded, key=lambda term: term.name.lower()))


@cache
def _pattern(ordinary: bool) -> tuple[re.Pattern[str], dict[str, Term]]:
    """A pattern of the spellings, the longest first, and the term of each; of ordinary words too, or without them."""
    marked = [term for term in terms() if ordinary or not term.ordinary]
    by_spelling = {str(escape(spelling)): term for term in marked for spelling in (term.name, *term.also)}
    spellings = sorted(by_spelling, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, spellings)) or '(?!)'})(?![\w-])"), by_spelling


@pass_context
def mark(context: Context, text: Any) -> Markup:
    """A text about a paper with the glossary's terms marked that this page has not yet marked, without ordinary words.

    There a "scale" may be that of the initial weights, and a layer "holds" features.
    """
    return _marked(context, text, ordinary=False)


@pass_context
def mark_all(context: Context, text: Any) -> Markup:
    """A text about the report itself, its verdicts and rules: ordinary words are marked too."""
    return _marked(context, text, ordinary=True)


def _marked(context: Context, text: Any, ordinary: bool) -> Markup:
    pattern, by_spelling = _pattern(ordinary)
    seen: set[str] = context["seen"]

    def link(match: re.Match[str]) -> str:
        term = by_spelling[match[0]]
        if term.name in seen:
            return match[0]
        seen.add(term.name)
        return (f'<a class="term" href="{context["root"]}glossary.html#{term.anchor}">{match[0]}'
                f'<span class="tip" role="tooltip">{escape(term.text)}</span></a>')  # fmt: skip

    if isinstance(text, Markup):  # with links of its own, in which no other link may stand
        pieces = re.split(r"(<a\b.*?</a>|<[^>]*>)", str(text), flags=re.S)
        return Markup("".join(pattern.sub(link, piece) if not piece.startswith("<") else piece for piece in pieces))
    return Markup(pattern.sub(link, str(escape(text))))
