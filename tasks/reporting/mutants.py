"""How many planted mistakes the tests found: what the report shows of reports/mutants.json."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tasks.settings import ROOT

RESULTS = ROOT / "reports" / "mutants.json"
DRAWN = "generic"  # the group of the small edits that cosmic-ray makes


def summary(path: Path = RESULTS) -> dict[str, Any] | None:
    """Scores by kind and by file, and the survivors with their reasons; None if no mutants were run.

    "listed" counts all mutants, "planted" those with a result, and "not current" the others: their code or their tests
    changed since they ran, or they never ran. "earlier" counts those of them that have a result from before the
    change, and "killed earlier" how many of these were killed.
    """
    if not path.is_file():
        return None
    mutants = json.loads(path.read_text(encoding="utf-8"))["mutants"]
    judged = [mutant for mutant in mutants if mutant["result"] in ("killed", "survived")]
    earlier = [mutant["earlier"]["result"] for mutant in mutants if "earlier" in mutant]
    kinds = (f"drawn: {result['kind']}" if result["group"] == DRAWN else result["kind"] for result in judged)
    return {
        "listed": len(mutants),
        "planted": len(judged),
        "not current": len(mutants) - len(judged),
        "killed": sum(mutant["result"] == "killed" for mutant in judged),
        "earlier": len(earlier),
        "killed earlier": earlier.count("killed"),
        "kinds": scores(zip(kinds, judged, strict=True)),
        "files": scores((mutant["file"], mutant) for mutant in judged),
        "survivors": [mutant for mutant in judged if mutant["result"] == "survived"],
    }


def scores(labelled: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """A row for each label, in their order: how many mutants were planted, and how many the tests killed."""
    planted, killed = Counter[str](), Counter[str]()
    for label, mutant in labelled:
        planted[label] += 1
        killed[label] += mutant["result"] == "killed"
    return [{"label": label, "planted": planted[label], "killed": killed[label]} for label in sorted(planted)]
