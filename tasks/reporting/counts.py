"""The two small files that DVC's commands show: how many claims have each verdict, and the verdict on each claim."""

from typing import Any

VERDICTS = ("holds", "holds corrected", "fails", "inconclusive", "not run")


def counts(claims: dict[str, dict[str, Any]]) -> dict[str, int]:
    """How many claims there are, and how many have each verdict: a line of ``dvc metrics show``."""
    verdict_of = verdicts(claims)
    return {"claims": len(claims), **{name: list(verdict_of.values()).count(name) for name in VERDICTS}}


def verdicts(claims: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The verdict on each claim by its id, in which ``dvc metrics diff --targets`` shows the ones that moved."""
    return {name: claim["verdict"] for name, claim in claims.items()}
