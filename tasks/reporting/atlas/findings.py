"""What the atlas found, in sentences whose numbers and conditions are taken from its results.

``findings.toml`` holds the sentences. Each has

  text     plain English; ``{name:format}`` is a number, ``[words](CELL)`` a link to a cell's page
  numbers  by name, a number that is taken from the cells (below)
  expects  comparisons of these numbers, such as ``"share < 1"``, without which the sentence would be wrong

A number is over the cells that meet ``where``, those of the map alone, or with ``known = true`` all cells:

  {}                                  how many cells there are
  {mean = "PATH"}                     the mean of a value
  {ratio = ["PATH", "PATH"]}          the mean of one value over another; with ``of = "least"`` the least
  {differ = ["PATH", "PATH"]}         in how many cells two values differ

A path leads into a cell of reports/atlas.json, ``change`` and ``gram`` to the forward side. ``name`` is the cell's
name, ``right`` whether a known answer came out; tasks/reporting/atlas/standing.py has ``critical``, ``end``, ``fits``
and ``memorises``; ``learned`` is a cell that fits and does not memorise,
and ``usual`` one for which no outcome is more frequent in the multiverse than the map's.
``where`` maps paths to a value, ``{below = x}``, ``{among = [...]}`` or ``{not = [...]}``.
"""

import hashlib
import json
import operator
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from tasks.reporting.atlas.standing import at_critical_point, end_of, fits, memorises
from tasks.reporting.findings import UNKNOWN, formatted

FOLDER = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\[\]]+)\]\((\w+)\)")
NUMBER = re.compile(r"\{(\w+)(?::([^{}]+))?\}")
COMPARISON = re.compile(r"(\w+) (<|<=|==|>=|>) (\w+|[-\d.]+)")
OPERATORS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}
MISSING = object()

Cells = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sentence:
    """A sentence on what was found: as HTML, and what in it the results contradict, empty where nothing.

    ``key`` names its test. A result on other seeds counts for the sentence as long as the test is the same.
    """

    text: Markup
    problem: str
    key: str

    @property
    def agrees(self) -> bool:
        """Whether the results are those that the sentence states."""
        return not self.problem


def entries() -> list[dict[str, Any]]:
    """The sentences as ``findings.toml`` has them."""
    return tomllib.loads((FOLDER / "findings.toml").read_text(encoding="utf-8"))["finding"]


def laws() -> list[dict[str, str]]:
    """The entrants in words: name, formula, source and text."""
    return tomllib.loads((FOLDER / "laws.toml").read_text(encoding="utf-8"))["law"]


def findings(result: Mapping[str, Any], page: str = "{cell}.html") -> list[Sentence]:
    """The sentences on the atlas.

    Parameters
    ----------
    result
        The content of reports/atlas.json.
    page
        The address of a cell's page, with ``{cell}`` for its name; empty for sentences without links.

    Returns
    -------
    list[Sentence]
        A sentence that the results contradict is there, with its ``problem``.
    """
    return [finding(entry, result, page) for entry in entries()]


def finding(entry: Mapping[str, Any], result: Mapping[str, Any], page: str = "{cell}.html") -> Sentence:
    """One sentence, as ``findings`` has it.

    Raises
    ------
    ValueError
        If a comparison cannot be read or names a number that the sentence does not have.
    """
    right = {row["cell"]: row["right"] for row in result["known"]}
    cells = {name: {**cell, **cell["sides"]["forward"], "name": name, "right": right.get(name),
                    "critical": at_critical_point(cell), "end": end_of(cell), "fits": fits(cell),
                    "memorises": memorises(cell), "learned": fits(cell) and not memorises(cell),
                    "usual": cell["multiverse"]["agree"] == max(cell["multiverse"]["winners"].values())}
             for name, cell in result["cells"].items()}  # fmt: skip
    numbers = {name: number(query, cells) for name, query in entry["numbers"].items()}
    problems = [f"there is no cell from which to take “{name}”" for name, value in numbers.items() if value is None]
    problems += [problem for comparison in entry["expects"] if (problem := _contradiction(comparison, numbers))]

    def written(match: re.Match) -> str:
        value = numbers[match[1]]
        return UNKNOWN if value is None else formatted(value, match[2] or "d")

    text, html, end = NUMBER.sub(written, entry["text"]), Markup(""), 0
    for link in LINK.finditer(text):
        linked = page and link[2] in cells
        words = Markup('<a href="{}">{}</a>').format(page.format(cell=link[2]), link[1]) if linked else escape(link[1])
        html += escape(text[end : link.start()]) + words
        end = link.end()
    test = json.dumps([entry["numbers"], entry["expects"]], sort_keys=True)
    return Sentence(html + escape(text[end:]), "; ".join(problems), hashlib.sha256(test.encode()).hexdigest()[:8])


def number(query: Mapping[str, Any], cells: Cells) -> float | None:
    """A number over cells; None where no cell has what it needs."""
    wanted_values = query.get("where", {}).items()
    chosen = [cell for cell in cells.values() if (query.get("known") or not cell["answer"])
              and all(_meets(value_at(cell, path), wanted) for path, wanted in wanted_values)]  # fmt: skip
    if "mean" in query:
        values = [value for cell in chosen if (value := value_at(cell, query["mean"])) is not MISSING]
        return sum(values) / len(values) if values else None
    if "ratio" in query:
        pairs = [tuple(value_at(cell, path) for path in query["ratio"]) for cell in chosen]
        ratios = [above / below for above, below in pairs if above is not MISSING and below is not MISSING and below]
        return None if not ratios else min(ratios) if query.get("of") == "least" else sum(ratios) / len(ratios)
    if "differ" in query:
        first, second = query["differ"]
        return sum(value_at(cell, first) != value_at(cell, second) for cell in chosen)
    return len(chosen)


def value_at(cell: Mapping[str, Any], path: str) -> Any:
    """The value at a path, such as ``change.entrants.FACT.score.0``; MISSING where the cell has none.

    Examples
    --------
    >>> at({"facts": {"gain": [0.2, 0.1, 0.3]}}, "facts.gain.0")
    0.2
    """
    value: Any = cell
    for key in path.split("."):
        if isinstance(value, Sequence) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            return MISSING
    return value


def _meets(value: Any, wanted: Any) -> bool:
    if value is MISSING:
        return False
    if isinstance(wanted, Mapping):
        if "below" in wanted:
            return value < wanted["below"]
        return value in wanted["among"] if "among" in wanted else value not in wanted["not"]
    return bool(value == wanted)


def _contradiction(comparison: str, numbers: Mapping[str, float | None]) -> str:
    """What a comparison finds instead; empty where it is true."""
    match = COMPARISON.fullmatch(comparison)
    if match is None or match[1] not in numbers:
        raise ValueError(f"{comparison!r} does not compare one of {', '.join(numbers)} with a number")
    left, right = numbers[match[1]], numbers[match[3]] if match[3] in numbers else float(match[3])
    if left is None or right is None:
        return f"“{comparison}” cannot be tested"
    return "" if OPERATORS[match[2]](left, right) else f"it needs “{comparison}”, and finds {left:.4g} and {right:.4g}"
