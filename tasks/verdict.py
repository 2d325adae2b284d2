"""How the findings of a check's rule become a verdict.

A check (``tasks/checks/KEY.py``) has a docstring, which is the claim's statement, the constants ID, KIND, TITLE,
PRINTED (what the paper prints, with its place) and QUANTITIES (which of the table's it reads), and
``rule(rows) -> Finding``. The rule sees the rows of one arm at a time: ``claim`` as printed, ``corrected`` where
the print is wrong, and each ``control: …``, where the hypothesis is broken on purpose. The same rule must accept
the claim and reject every control. Where it leaves a control undecided, as it does most that have no effect,
some part that is not found of it must differ from the claim's, and fall short of it: of a few noisy seeds nothing
would be found.

holds            the rule finds the claim, and rejects every control
holds corrected  it does not find the claim as printed, finds the corrected form, and rejects every control
fails            it rejects the claim (or the interval lies wholly on the wrong side)
inconclusive     a control was not rejected, or the interval does not decide
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tasks.judge import Finding, Rows, welch

NOT_RUN = "not run"  # of a claim whose table has none of its quantities: this machine left them out


def searched(rows: Rows, name: str) -> dict[str, str]:
    """By arm, the smallest violating instance that tasks/search.py found, or among how many it found none."""
    found = {}
    for (arm,), one in rows.where(quantity={f"{name}/smallest", f"{name}/searched"}).by("arm").items():
        value = f"{float(one.value[0]):.6g}"
        found[arm] = one.case[0] or f"none among {value} instances"
        if one.case[0] and value != "1":
            found[arm] += f": {value} times what the rule allows"
    return found


def judge(check: Any, rows: Rows) -> dict[str, Any]:
    """The verdict on a claim, as the report and claims.json hold it."""
    rule: Callable[[Rows], Finding] = check.rule
    adversaries = searched(rows, check.QUANTITIES[0].split("/")[0])
    rows = rows.where(quantity=set(check.QUANTITIES))
    if not len(rows):
        return {"id": check.ID, "title": check.TITLE, "verdict": NOT_RUN}
    arms = sorted(set(rows.arm.tolist()))
    if unknown := [arm for arm in arms if arm not in ("claim", "corrected") and not arm.startswith("control: ")]:
        raise ValueError(f"{check.__name__}: no arm {unknown[0]!r}; claim, corrected or 'control: ...'")
    found = {arm: rule(rows.where(arm=arm)) for arm in arms}
    controls = {arm.removeprefix("control: "): one for arm, one in found.items() if arm.startswith("control: ")}
    if not controls:
        raise ValueError(f"{check.__name__} has no control: a check that cannot fail shows nothing")
    printed, corrected = found["claim"], found.get("corrected")
    shown = corrected if corrected and corrected.holds and not printed.holds else printed
    broken = {name: rejects(one, shown) for name, one in controls.items()}
    rejected = all(broken.values())
    if not shown.holds:
        verdict = "fails" if shown.holds is False else "inconclusive"
    elif not rejected:
        verdict = "inconclusive"
    else:
        verdict = "holds corrected" if shown is corrected else "holds"
    weakest = min(controls.items(), key=lambda item: (broken[item[0]], item[1].holds is not True))
    return {
        "id": check.ID,
        "paper": check.ID[0],
        "kind": check.KIND,
        "title": check.TITLE,
        "statement": " ".join((check.__doc__ or "").split()),
        "verdict": verdict,
        "evidence": shown.evidence,
        "statistic": shown.statistic,
        "low": shown.low,
        "high": shown.high,
        "p": shown.p,
        "rule": shown.rule,
        "numbers": shown.numbers,
        "measured": shown.measured,
        "part": shown.part,
        "lines": lines(check, found),
        "printed": check.PRINTED,
        "printed form": {"holds": printed.holds, "statistic": printed.statistic, "numbers": printed.numbers},
        "corrected form": corrected and {"what": check.CORRECTION, **_alone(corrected)},
        "smallest violations": adversaries,
        "control": {"name": weakest[0], "statistic": weakest[1].statistic, "rejected": rejected},
        "controls": {
            name: {
                "statistic": one.statistic,
                "low": one.low,
                "high": one.high,
                "holds": one.holds,
                "rejected": broken[name],
                "kept": kept(one),
                "numbers": one.numbers,
            }
            for name, one in controls.items()
        },
    }


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
