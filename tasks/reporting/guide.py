"""The page "How to read this report": how_to_read.md with its numbers, links and explanations, as HTML."""

import re
from collections.abc import Mapping
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from tasks.reporting.controls import waivers
from tasks.reporting.findings import Claims, with_links, with_numbers
from tasks.reporting.site.glossary import terms

FOLDER = Path(__file__).parent
EXPLAINED = re.compile(r"\{glossary:([^{}]+)\}")
SORT = re.compile(r"^A (verdict|reason): (.)")  # the beginning of an explanation, which the page's tables leave out

TABLE = re.compile(r'<table>(\s*<thead>\s*<tr>\s*<th scope="col">(.*?)</th>)')  # and what its first column names


def how_to_read(claims: Mapping[str, Claims], page: str = "claims/{key}.html") -> tuple[Markup, list[str]]:
    """The page's content as HTML, and the numbers that are missing for it.

    Parameters
    ----------
    claims
        The content of claims.json, by scale.
    page
        The address of a claim's page, with ``{key}`` for the claim's key.

    Returns
    -------
    tuple[Markup, list[str]]
        A number that is not there is shown as "–", and the list says which it is.
    """
    explanations = {term.name: SORT.sub(lambda beginning: beginning[2].upper(), term.text) for term in terms()}
    text = (FOLDER / "how_to_read.md").read_text(encoding="utf-8")
    text = EXPLAINED.sub(lambda match: explanations[match[1]], text)
    text = text.replace("{waivers}", str(waivers(claims)))
    text, problems = with_numbers(text, claims)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    html = markdown.render(with_links(text, page)).replace("<th>", '<th scope="col">')
    return Markup(TABLE.sub(r"<table>\n<caption>What each \2 means</caption>\1", html)), problems
