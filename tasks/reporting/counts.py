"""The two small files that DVC's commands show: which verdicts how many claims have, and the verdict on each claim."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tasks.judging.verdict import VERDICTS as JUDGED

NOT_RUN = "not run"
VERDICTS = (*JUDGED, NOT_RUN)


def counts(claims: dict[str, dict[str, Any]]) -> dict[str, int | str]:
    """How many claims there are and how many have each verdict, and the names of those that do not hold as printed.

    This is the one metrics file of a scale. ``dvc metrics show`` and ``dvc metrics diff`` read the same entries; the
    first prints them all as one line, the second those that changed. So a claim whose verdict moves must be named in an
    entry, and each further name makes the line longer. The names of the claims that hold are left out, because a claim
    that comes to hold, or no longer does, enters or leaves the entry of another verdict. DVC sorts the entries by their
    names: ``of A: fails`` comes behind the counts.

    Examples
    --------
    >>> verdicts = {"A.thm1": "holds", "A.fig4": "fails", "B.fig8": "fails"}
    >>> counts({name: {"verdict": verdict} for name, verdict in verdicts.items()})["of A: fails"]
    'fig4'
    """
    verdict_of = verdicts(claims)
    number = {name: list(verdict_of.values()).count(name) for name in VERDICTS}
    names: dict[str, list[str]] = {}
    for claim, verdict in sorted(verdict_of.items()):
        paper, _, name = claim.partition(".")
        if verdict != "holds":
            names.setdefault(f"of {paper}: {verdict}", []).append(name)
    return {"claims": len(claims), **number, **{entry: " ".join(names[entry]) for entry in sorted(names)}}


def printed_levels(claims: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """How many printed numbers, or groups of them, have which verdict.

    Examples
    --------
    >>> levels = [{"kind": "printed level", "verdict": verdict} for verdict in ("fails", "fails", "not judged")]
    >>> others = [{"kind": kind, "verdict": "holds"} for kind in ("asserted", "ours")]
    >>> printed_levels({"A.fig7": {"statements": [*levels, *others]}})
    Counter({'fails': 2, 'not judged': 1})
    """
    return Counter(statement["verdict"] for claim in claims.values() for statement in claim["statements"]
                   if statement["kind"] == "printed level")  # fmt: skip


def verdicts(claims: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The verdict on each claim by its id: a metrics file for ``dvc metrics diff --targets``, a row a moved verdict."""
    return {name: claim["verdict"] for name, claim in claims.items()}
