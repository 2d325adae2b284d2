"""Replies of authors and readers to the verdicts: replies/KEY.md, shown beside the verdict on the claim."""

import re
from datetime import date
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

HEADER = re.compile(
    r"From: (?P<author>\S.*)\nDate: (?P<date>\S+)\nCommit: (?P<commit>[0-9a-f]{7,40})\n\n(?P<text>.+)", re.S
)


class ReplyError(Exception):
    """A reply is not of the form that replies/README.md describes."""


class Reply(NamedTuple):
    """A reply: who wrote it, when, on which commit, and its Markdown text."""

    author: str
    date: date
    commit: str
    text: str

    @property
    def html(self) -> str:
        """The text as HTML, without images and raw HTML: it can neither request nor run anything."""
        return MarkdownIt("commonmark", {"html": False}).disable("image").render(self.text)


def replies(folder: Path, key: str) -> list[Reply]:
    """The replies to a claim, in the order of its file.

    Parameters
    ----------
    folder : Path
        The folder ``replies/``.
    key : str
        The claim's key, such as ``a_fig7``.

    Returns
    -------
    list of Reply
        Empty where nobody has replied.

    Raises
    ------
    ReplyError
        If a reply does not begin with the lines ``From:``, ``Date:`` and ``Commit:``.
    """
    path = folder / f"{key}.md"
    if not path.is_file():
        return []
    parts = re.split(r"^---\n(?=\s*From: )", path.read_text(encoding="utf-8"), flags=re.M)
    return [_reply(part.strip(), path.name) for part in parts]


def _reply(text: str, name: str) -> Reply:
    match = HEADER.fullmatch(text)
    if not match:
        raise ReplyError(f"replies/{name}: a reply begins with the lines From:, Date: and Commit:, and an empty line")
    try:
        day = date.fromisoformat(match["date"])
    except ValueError as error:
        raise ReplyError(f"replies/{name}: Date: {match['date']} is no date such as 2026-11-23") from error
    return Reply(match["author"], day, match["commit"], match["text"])
