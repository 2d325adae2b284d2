"""From the rows of a table to the finding on a claim: what its rule finds in every arm, and which controls it rejects.

A claim's module (``tasks/papers/PAPER/claims/KEY.py``) has a docstring, which is the statement, the constants ID, KIND,
TITLE, PRINTED (what the paper prints, with its place) and QUANTITIES (those of the table that the rule reads), and
``rule(rows) -> Finding`` and ``draw(rows, claim) -> Figure``. Where they apply it also has CORRECTION (the form that we
derive, in words), FORMS (by part, the printed and the derived form), SETTINGS (names of the settings that the report
shows) and DATA_SETS (those of the training run that the claim is about). The rule sees the rows of one arm at a time:
``claim`` as printed, ``corrected`` where the print is wrong, and each ``control: ...``, where the hypothesis is broken
on purpose. The same rule must support the claim and reject every control.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statistics import welch

CONTROL = "control: "


def find(claim: Any, letter: str, rows: Rows) -> dict[str, Any]:
    """What the claim's rule finds in every arm of the table; ``ran`` is False where the table has none of its rows."""
    rule: Callable[[Rows], Finding] = claim.rule
    counterexamples = smallest_violations(rows, claim.QUANTITIES[0].split("/")[0])
    rows = rows.where(quantity=set(claim.QUANTITIES))
    if not len(rows):
        return {"id": claim.ID, "title": claim.TITLE, "ran": False}
    arms = sorted(set(rows.arm.tolist()))
    if unknown := [arm for arm in arms if arm not in ("claim", "corrected") and not arm.startswith(CONTROL)]:
        raise ValueError(f"{claim.__name__}: no arm {unknown[0]!r}; claim, corrected or 'control: ...'")
    findings = {arm: rule(rows.where(arm=arm)) for arm in arms}
    controls = {arm.removeprefix(CONTROL): finding for arm, finding in findings.items() if arm.startswith(CONTROL)}
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
        "corrected form": corrected and {"what": claim.CORRECTION, **_summary(corrected)},
        "smallest violations": counterexamples,
        "control": {"name": weakest[0], "statistic": weakest[1].statistic, "rejected": all(rejected.values())},
        "controls": {
            name: {
                "statistic": control.statistic,
                "low": control.low,
                "high": control.high,
                "holds": control.holds,
                "rejected": rejected[name],
                "kept": held_parts(control),
                "numbers": control.numbers,
            }
            for name, control in controls.items()
        },
        "data sets": list(getattr(claim, "DATA_SETS", ())),
        "settings": getattr(claim, "SETTINGS", None),
    }


def smallest_violations(rows: Rows, name: str) -> dict[str, str]:
    """By arm the smallest instance that violates the rule, or how many instances the search tried in vain."""
    texts = {}
    for (arm,), result in rows.where(quantity={f"{name}/smallest", f"{name}/searched"}).by("arm").items():
        instance, value = result.case[0], f"{float(result.value[0]):.6g}"
        texts[arm] = instance or f"none among {value} instances"
        if instance and value != "1":
            texts[arm] += f": {value} times what the rule allows"
    return texts


def rejects(control: Finding, claim: Finding) -> bool:
    """Whether a control is rejected: by its own finding or, where the rule cannot decide it, by comparison.

    A control the rule cannot decide counts as rejected only if one of its unsupported parts differs significantly from
    the claim's (Welch, 95 %) and lies farther from the target. Otherwise a few noisy seeds would be enough.
    """
    if control.holds is not None:
        return not control.holds
    if control.parts and claim.parts:
        return any(rejects(part, claim.parts[name]) for name, part in control.parts.items() if name in claim.parts)
    if not (control.sample and claim.sample):
        return False
    samples = np.array(control.sample), np.array(claim.sample)
    control_distance, claim_distance = (_distance(sample, claim.target) for sample in samples)
    _, low, high = welch(*samples)
    return bool(control_distance > claim_distance) and not low <= 0 <= high


def _distance(sample: np.ndarray, target: float) -> float:
    """How far the mean is from the target; of an infinite target, larger means are nearer."""
    return -sample.mean() if math.isinf(target) else abs(sample.mean() - target)


def held_parts(control: Finding) -> list[str]:
    """The names of the parts of a rule that held for a control."""
    return [name for name, part in _leaves(control).items() if part.holds]


def _leaves(finding: Finding) -> dict[str, Finding]:
    """The parts of a finding that have no parts themselves, by their names joined with a comma."""
    leaves: dict[str, Finding] = {}
    for name, part in finding.parts.items():
        below = _leaves(part)
        leaves |= {f"{name}, {inner}": leaf for inner, leaf in below.items()} if below else {name: part}
    return leaves


def lines(claim: Any, findings: dict[str, Finding]) -> list[dict[str, Any]]:
    """Each part of a rule with several parts: its statistics, its verdict, and whether a control broke it.

    A claim that goes through equations may have FORMS: by part the printed form, and the derived one if it differs.
    """
    verdicts = {False: "fails", None: "inconclusive"}
    table = []
    for name, printed in findings["claim"].parts.items():
        arms = {arm: finding.parts[name] for arm, finding in findings.items() if name in finding.parts}
        corrected = arms.get("corrected", printed)
        shown = corrected if corrected.holds and not printed.holds else printed
        broken = [rejects(part, shown) for arm, part in arms.items() if arm.startswith(CONTROL)]
        table.append(
            {
                "name": name,
                "forms": list(getattr(claim, "FORMS", {}).get(name, ())),
                "printed": _numbers(printed),
                "corrected": _numbers(arms["corrected"]) if "corrected" in arms else None,
                "verdict": verdicts.get(shown.holds) or ("holds" if shown is printed else "holds corrected"),
                "control": ("rejected" if any(broken) else "not rejected") if broken else "",
            }
        )
    return table


def _summary(finding: Finding) -> dict[str, Any]:
    """A finding without its parts and its sample."""
    return {name: value for name, value in vars(finding).items() if name not in ("parts", "sample", "target")}


def _numbers(finding: Finding) -> dict[str, Any]:
    """A statistic with its interval, and those of the parts."""
    own = {name: getattr(finding, name) for name in ("statistic", "low", "high")}
    return {**own, "parts": {name: _numbers(part) for name, part in finding.parts.items()}}
