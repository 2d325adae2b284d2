"""What was found, paper by paper: sentences whose numbers come from claims.json, and the verdicts that they rest on.

``tasks/papers/PAPER/findings.toml`` holds the sentences. Before them, ``about`` says in a few sentences what the paper
is about, for readers who do not know it. Each sentence has

  kind     holds, holds corrected, fails or open
  text     one sentence in plain English; ``[words](A.fig7)`` links to a claim;
           ``{paper:A.fig7:VCS above AGOP:statistic:.2f}`` is a number (scale, claim, statement or hypothesis, field,
           format)
  more     the details, a paragraph for each topic, which the paper's page and README.md show below the sentence
  expects  the verdicts that the sentence states: of claims, ``"A.fig7" = {quick = "holds", paper = "holds"}``, or of
           single statements, ``"A.fig4:TL logarithmic" = {quick = "fails"}``

The field is a name of the statement (statistic, low, high, p, measured) or of its ``numbers``. A leading ``printed`` or
``corrected`` takes the field from that form rather than from the form that decides, and ``control/NAME/`` from a
control of the form that decides. ``0.9 + statistic`` and ``0.1 - statistic`` are what the rule subtracted from, so that
the sentence names the quantity itself: ``{paper:A.fig4:fitted:printed 0.9 + statistic:.2f}`` is an accuracy.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gramlab.arguments import did_you_mean
from tasks import papers
from tasks.reporting.keys import claim_key
from tasks.reporting.prose import prose
from tasks.reporting.typesetting import typeset
from tasks.reporting.words import deciding_form

KINDS = ("holds", "holds corrected", "fails", "open")
NUMBER = re.compile(r"\{([^{}]+)\}")
LINK = re.compile(r"\[([^\[\]]+)\]\(([A-Z]\.[A-Za-z0-9.]+)\)")
FORMAT = re.compile(r"(?P<power>exp-?)?[+,]?(\.\d+)?[defg%]")  # exp of a logarithm, or of minus it
SUM = re.compile(r"(?P<constant>\d+(?:\.\d+)?) (?P<sign>[+-]) (?P<field>.+)")  # a number plus or minus a field
FORMS = {"printed": "claim", "corrected": "corrected"}  # a form by the word for it
UNKNOWN = "–"  # in place of a number that is not there

Claims = Mapping[str, Mapping[str, Any]]  # the content of a claims.json, by the claims' ids


@dataclass(frozen=True)
class Finding:
    """A sentence on what was found.

    Parameters
    ----------
    kind
        ``holds``, ``holds corrected``, ``fails`` or ``open``: which of these the sentence reports.
    text
        The sentence as HTML, with its numbers and links.
    more
        The paragraphs of its details, likewise.
    claims
        The ids of the claims that it rests on.
    linked
        The ids among them to which the sentence itself leads, without its details.
    sources
        The sentence and its paragraphs as they are written, with references in place of numbers.
    problem
        What in it no longer agrees with the verdicts and numbers; empty where all of it does.
    """

    kind: str
    text: Markup
    more: tuple[Markup, ...]
    claims: tuple[str, ...]
    linked: tuple[str, ...]
    sources: tuple[str, ...]
    problem: str

    @property
    def agrees(self) -> bool:
        """Whether the verdicts and numbers are those that the sentence states."""
        return not self.problem

    def part_about(self, claim: str, scale: str) -> int:
        """Where a remark on a claim at a scale belongs: 0 for the sentence, 1 for its first paragraph, and so on.

        The first part with a number of the claim at this scale, or else the first that links to the claim.

        Examples
        --------
        >>> sources = ("[fast](A.fig2): {paper:A.fig2:faster:p:.2f}", "Later it is {quick:A.fig2:no worse:p:.2f}.")
        >>> finding = Finding("fails", Markup(), (), ("A.fig2",), ("A.fig2",), sources, "")
        >>> [finding.part_about("A.fig2", scale) for scale in ("quick", "paper")]
        [1, 0]
        """
        for reference in (f"{{{scale}:{claim}:", f"]({claim})"):
            for part, source in enumerate(self.sources):
                if reference in source:
                    return part
        return 0


def findings(claims: Mapping[str, Claims], page: str = "claims/{key}.html") -> dict[str, list[Finding]]:
    """The sentences of every paper, by the paper's letter.

    Parameters
    ----------
    claims
        The content of claims.json, by scale.
    page
        The address of a claim's page, with ``{key}`` for the claim's key.

    Returns
    -------
    dict[str, list[Finding]]
        A paper without a ``findings.toml`` has no sentences.
    """
    return {papers.paper(name).LETTER: [_finding(entry, claims, page) for entry in _entries(name)]
            for name in papers.names()}  # fmt: skip


def about() -> dict[str, Markup]:
    """What each paper is about, by its letter, for readers who do not know it; empty where nobody has written it."""
    return {papers.paper(name).LETTER: prose(_file(name).get("about", "")) for name in papers.names()}


def filled(text: str, claims: Mapping[str, Claims], page: str = "claims/{key}.html") -> tuple[Markup, list[str]]:
    """A text with its numbers and links, as HTML, and what is missing for it.

    Parameters
    ----------
    text
        A sentence, or a longer text, with numbers and links as in ``findings.toml``.
    claims, page
        As for ``findings``.

    Returns
    -------
    tuple[Markup, list[str]]
        A number that is not there is shown as "–", and the list says which it is.
    """
    text, problems = with_numbers(text, claims)
    html, end = Markup(""), 0
    for link in LINK.finditer(text):
        html += prose(text[end : link.start()])
        html += Markup('<a href="{}">{}</a>').format(_address(link[2], page), prose(link[1]))
        end = link.end()
    return html + prose(text[end:]), problems


def with_numbers(text: str, claims: Mapping[str, Claims]) -> tuple[str, list[str]]:
    """A text with its numbers filled in, and which of them are missing."""
    problems: list[str] = []

    def value(match: re.Match) -> str:
        try:
            return _value(match[1], claims)
        except LookupError as error:
            problems.append(f"no {match[0]}: {error.args[0]}")
            return UNKNOWN

    return NUMBER.sub(value, text), problems


def with_links(text: str, page: str) -> str:
    """A Markdown text whose links to claims' ids lead to the claims' pages."""
    return LINK.sub(lambda link: f"[{link[1]}]({_address(link[2], page)})", text)


def _address(claim: str, page: str) -> str:
    return page.format(key=claim_key(claim))


def _entries(paper: str) -> list[dict[str, Any]]:
    return _file(paper).get("finding", [])


def _file(paper: str) -> dict[str, Any]:
    path = papers.FOLDER / paper / "findings.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _finding(entry: Mapping[str, Any], claims: Mapping[str, Claims], page: str) -> Finding:
    if entry["kind"] not in KINDS:
        raise ValueError(f"kind {entry['kind']!r}{did_you_mean(entry['kind'], KINDS)}; allowed: {', '.join(KINDS)}")
    (text, missing), *more = (filled(part, claims, page) for part in (entry["text"], *entry["more"]))
    problems = [*_disagreements(entry["expects"], claims), *missing, *(name for _, names in more for name in names)]
    rests_on = dict.fromkeys(name.partition(":")[0] for name in entry["expects"])
    linked = dict.fromkeys(link[2] for link in LINK.finditer(entry["text"]))
    return Finding(
        entry["kind"], text, tuple(part for part, _ in more), tuple(rests_on), tuple(linked),
        (entry["text"], *entry["more"]), "; ".join(problems),
    )  # fmt: skip


def _disagreements(expects: Mapping[str, Mapping[str, str]], claims: Mapping[str, Claims]) -> Iterator[str]:
    """Each expected verdict that is now another."""
    for name, verdicts in expects.items():
        claim, _, statement = name.partition(":")
        for scale, expected in verdicts.items():
            verdict = _verdict(claims[scale].get(claim, {}), statement)
            if verdict != expected:
                judged = f"{claim}, “{statement}”" if statement else claim
                yield f"{judged}: the sentence says “{expected}” at the {scale} scale, the verdict is “{verdict}”"


def _verdict(claim: Mapping[str, Any], statement: str) -> str:
    """The verdict on a claim or, where one is named, on its statement."""
    if not statement:
        return claim.get("verdict", "not run")
    named = [entry for entry in claim.get("statements", ()) if entry["name"] == statement]
    return named[0]["verdict"] if named else "not judged"


def _value(reference: str, claims: Mapping[str, Claims]) -> str:
    """The number, or the words, that a reference in braces names."""
    scale, identity, *path = reference.split(":")
    layout = path.pop() if FORMAT.fullmatch(path[-1]) else ""
    *words, field = path
    name = ":".join(words)
    claim = claims.get(scale, {}).get(identity)
    if claim is None:
        raise LookupError(f"{identity} is not among the claims of the {scale} scale")
    parts = [*claim["statements"], *claim.get("hypotheses", ())]
    holder = next((part for part in parts if part["name"] == name), None) if name else claim
    if holder is None:
        raise LookupError(f"{identity} has no statement or hypothesis “{name}”")
    holder, field = _inner(holder, field)
    of_sum = SUM.fullmatch(field)
    field = of_sum["field"] if of_sum else field
    value = holder.get(field, holder.get("numbers", {}).get(field))
    if value is None:
        raise LookupError(f"nothing was measured that is called “{field}”")
    if of_sum:
        value = float(of_sum["constant"]) + (value if of_sum["sign"] == "+" else -value)
    return formatted(value, layout)


def _inner(statement: Mapping[str, Any], field: str) -> tuple[Mapping[str, Any], str]:
    """What a field belongs to, the statement or a form or a control of it, and the field's name there."""
    form, _, number = field.partition(" ")
    if form in FORMS and number:
        return statement["forms"].get(FORMS[form], {}), number
    if field.startswith("control/"):
        control, _, name = field.removeprefix("control/").rpartition("/")
        return deciding_form(statement)["controls"].get(control, {}), name
    return statement, field


def formatted(value: float | str, layout: str) -> str:
    """A number in a format, with a minus sign and powers of ten as they are printed; words as they are.

    A format that begins with ``exp`` is of a logarithm, and shows the factor; ``exp-`` shows its inverse.

    Examples
    --------
    >>> formatted(-0.96, "exp.2f"), formatted(-0.96, "exp-.1f"), formatted(-0.96, "+.1f")
    ('0.38', '2.6', '−1.0')
    """
    if isinstance(value, str):
        return typeset(value)
    power = FORMAT.fullmatch(layout)
    if power and power["power"]:
        layout = layout.removeprefix(power["power"])
        value = math.exp(-value if power["power"].endswith("-") else value)
    text = format(int(value) if layout.endswith("d") else value, layout)
    return typeset(text).replace("%", " %")
