"""From the rows of a table to a finding, and from the findings of a paper to the verdicts on its claims.

A claim's module (``tasks/papers/PAPER/claims/KEY.py``) has a docstring, which is the statement, the constants ID, KIND,
TITLE, PRINTED (what the paper prints, with its place) and QUANTITIES (those of the table that the rule reads), and
``rule(rows) -> Finding``. The rule sees the rows of one arm at a time: ``claim`` as printed, ``corrected`` where the
print is wrong, and each ``control: ...``, where the hypothesis is broken on purpose. The same rule must accept the
claim and reject every control. A control that the rule cannot decide counts as rejected only if one of its unsupported
parts differs significantly from the claim's (Welch, 95 %) and lies farther from the target: otherwise a few noisy seeds
would be enough to reject it.

holds            the rule supports the claim and rejects every control
holds corrected  it does not support the claim as printed, supports the corrected form, and rejects every control
fails            it refutes the claim (or the interval lies wholly on the wrong side)
inconclusive     a control is not rejected, the interval does not decide, or Holm's correction leaves too little
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tasks.judging.rules import Finding, Rows, welch

ALPHA = 0.025  # one-sided, as the 95 % intervals are


def searched(rows: Rows, name: str) -> dict[str, str]:
    """By arm, the smallest violating instance that tasks/search.py found, or among how many it found none."""
    found = {}
    for (arm,), one in rows.where(quantity={f"{name}/smallest", f"{name}/searched"}).by("arm").items():
        value = f"{float(one.value[0]):.6g}"
        found[arm] = one.case[0] or f"none among {value} instances"
        if one.case[0] and value != "1":
            found[arm] += f": {value} times what the rule allows"
    return found


def find(claim: Any, letter: str, rows: Rows) -> dict[str, Any]:
    """What the claim's rule finds in every arm of the table; ``ran`` is False where the table has none of its rows."""
    rule: Callable[[Rows], Finding] = claim.rule
    counterexamples = searched(rows, claim.QUANTITIES[0].split("/")[0])
    rows = rows.where(quantity=set(claim.QUANTITIES))
    if not len(rows):
        return {"id": claim.ID, "title": claim.TITLE, "ran": False}
    arms = sorted(set(rows.arm.tolist()))
    if unknown := [arm for arm in arms if arm not in ("claim", "corrected") and not arm.startswith("control: ")]:
        raise ValueError(f"{claim.__name__}: no arm {unknown[0]!r}; claim, corrected or 'control: ...'")
    findings = {arm: rule(rows.where(arm=arm)) for arm in arms}
    controls = {
        arm.removeprefix("control: "): finding for arm, finding in findings.items() if arm.startswith("control: ")
    }
    if not controls:
        raise ValueError(f"{claim.__name__} has no control: a check that cannot fail shows nothing")
    printed, corrected = findings["claim"], findings.get("corrected")
    shown = corrected if corrected and corrected.holds and not printed.holds else printed
    rejected = {name: rejects(control, shown) for name, control in controls.items()}
    weakest = min(controls.items(), key=lambda item: (rejected[item[0]], item[1].holds is not True))
    return {
        "id": claim.ID,
        "paper": letter,
        "kind": claim.KIND,
        "title": claim.TITLE,
        "statement": " ".join((claim.__doc__ or "").split()),
        "ran": True,
        "holds": shown.holds,
        "form": "corrected" if shown is corrected else "printed",
        "evidence": shown.evidence,
        "statistic": shown.statistic,
        "low": shown.low,
        "high": shown.high,
        "p": shown.p,
        "rule": shown.rule,
        "numbers": shown.numbers,
        "measured": shown.measured,
        "part": shown.part,
        "lines": lines(claim, findings),
        "printed": claim.PRINTED,
        "printed form": {"holds": printed.holds, "statistic": printed.statistic, "numbers": printed.numbers},
        "corrected form": corrected and {"what": claim.CORRECTION, **_alone(corrected)},
        "smallest violations": counterexamples,
        "control": {"name": weakest[0], "statistic": weakest[1].statistic, "rejected": all(rejected.values())},
        "controls": {
            name: {
                "statistic": control.statistic,
                "low": control.low,
                "high": control.high,
                "holds": control.holds,
                "rejected": rejected[name],
                "kept": kept(control),
                "numbers": control.numbers,
            }
            for name, control in controls.items()
        },
        "data sets": list(getattr(claim, "DATA_SETS", ())),
        "settings": list(getattr(claim, "SETTINGS", ())),
    }


def judge(findings: dict[str, dict[str, Any]], waiting: int = 0) -> dict[str, dict[str, Any]]:
    """The verdicts on the claims of one paper by key, after Holm's correction over its p-values.

    ``waiting`` claims that have not run count as tests too, so that a verdict cannot be lost by running them; a claim
    with a corrected form counts twice, for it has two chances. A claim whose printed form does not survive, and whose
    corrected form is supported, is judged by the corrected form.
    """
    claims = {key: {**finding, "verdict": uncorrected(finding)} for key, finding in findings.items() if finding["ran"]}
    tested = [claim for claim in claims.values() if claim["p"] is not None]
    count = sum(2 if claim["corrected form"] else 1 for claim in tested) + waiting + len(findings) - len(claims)
    correct_p(tested, count)
    lost = [claim for claim in tested if claim["verdict"] == "holds" and claim["p, Holm"] > ALPHA]
    for claim in lost:
        if (corrected := claim["corrected form"]) and corrected["holds"]:
            names = ("statistic", "low", "high", "p", "rule", "numbers", "evidence", "measured", "part")
            claim.update({name: corrected[name] for name in names}, verdict="holds corrected")
            claim["printed form"]["holds"] = None
    correct_p(tested, count)
    for claim in tested:
        if claim["verdict"].startswith("holds") and claim["p, Holm"] > ALPHA:
            claim["verdict"] = "inconclusive"
            claim["rule"] += f"; not significant after Holm's correction over {count} forms of the paper's claims"
    for claim in claims.values():
        for name in ("ran", "holds", "form"):
            del claim[name]
    return claims


def uncorrected(finding: dict[str, Any]) -> str:
    """The verdict before Holm's correction."""
    if not finding["holds"]:
        return "fails" if finding["holds"] is False else "inconclusive"
    if not finding["control"]["rejected"]:
        return "inconclusive"
    return "holds corrected" if finding["form"] == "corrected" else "holds"


def correct_p(tested: list[dict[str, Any]], count: int) -> None:
    """Holm's step-down p-values of ``count`` tests, written into the claims as ``p, Holm``."""
    adjusted = 0.0
    for rank, claim in enumerate(sorted(tested, key=lambda claim: claim["p"])):
        adjusted = max(adjusted, min(1.0, (count - rank) * claim["p"]))
        claim["p, Holm"] = adjusted


def rejects(control: Finding, claim: Finding) -> bool:
    """Whether a control is rejected: by its own finding or, where that is undecided, beside the claim's.

    Then some part of it that is not found has a mean over seeds that differs from the claim's, by Welch's t at 95 %,
    and is further than that from what the rule asks.
    """
    if control.holds is not None:
        return not control.holds
    if control.parts and claim.parts:
        return any(rejects(one, claim.parts[name]) for name, one in control.parts.items() if name in claim.parts)
    if not (control.sample and claim.sample):
        return False
    a, b = np.array(control.sample), np.array(claim.sample)
    off = [-one.mean() if math.isinf(claim.wanted) else abs(one.mean() - claim.wanted) for one in (a, b)]
    _, low, high = welch(a, b)
    return bool(off[0] > off[1]) and not low <= 0 <= high


def kept(control: Finding) -> list[str]:
    """The names of the parts of a rule that hold of a control all the same."""
    return [name for name, one in _leaves(control).items() if one.holds]


def _leaves(found: Finding) -> dict[str, Finding]:
    """The parts of a finding that have none themselves, by their names in a row."""
    leaves: dict[str, Finding] = {}
    for name, one in found.parts.items():
        within = _leaves(one)
        leaves |= {f"{name}, {below}": leaf for below, leaf in within.items()} if within else {name: one}
    return leaves


def lines(check: Any, found: dict[str, Finding]) -> list[dict[str, Any]]:
    """Each part of a rule of several: what the arms found of it, its own verdict, and whether a control broke it.

    A check that goes through equations may have FORMS: of a part, the printed form, and the derived one if it differs.
    """
    made = []
    for name, printed in found["claim"].parts.items():
        arms = {arm: one.parts[name] for arm, one in found.items() if name in one.parts}
        corrected = arms.get("corrected", printed)
        shown = corrected if corrected.holds and not printed.holds else printed
        verdict = {True: "holds" if shown is printed else "holds corrected", False: "fails", None: "inconclusive"}
        broken = [rejects(one, shown) for arm, one in arms.items() if arm.startswith("control: ")]
        made.append(
            {
                "name": name,
                "forms": list(getattr(check, "FORMS", {}).get(name, ())),
                "printed": _numbers(printed),
                "corrected": _numbers(arms["corrected"]) if "corrected" in arms else None,
                "verdict": verdict[shown.holds],
                "control": ("rejected" if any(broken) else "not rejected") if broken else "",
            }
        )
    return made


def _alone(found: Finding) -> dict[str, Any]:
    """A finding without its parts, and without what controls are compared by."""
    return {key: value for key, value in vars(found).items() if key not in ("parts", "sample", "wanted")}


def _numbers(found: Finding) -> dict[str, Any]:
    """A statistic with its interval, and those of the rules that it has for parts."""
    own = {key: getattr(found, key) for key in ("statistic", "low", "high")}
    return {**own, "parts": {name: _numbers(one) for name, one in found.parts.items()}}
