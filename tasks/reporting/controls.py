"""What the report says of a claim's controls: whether the rule rejects each of them, how, and in which part."""

from collections.abc import Mapping
from typing import Any

from tasks.judging.verdict import SUPPORTED
from tasks.reporting.findings import Claims
from tasks.reporting.typesetting import typeset
from tasks.reporting.words import amount, deciding_part, innermost_parts, part_name

PARTS_SHOWN = 4  # names of parts that a line can hold; claims.json has them all


def rejection(control: dict[str, Any], form: dict[str, Any] | None = None) -> str:
    """Whether a control was rejected, how, and which parts of the rule held for it.

    Parameters
    ----------
    control
        A control of a statement.
    form
        The form of the statement that it is a control of. With it a control that the rule cannot decide names the part
        in which it is farther off, unless this is the part whose numbers are shown.
    """
    notes = ["rejected" if control["rejected"] else "not rejected"]
    if control["undecided"]:  # by the rule alone
        if control["rejected"]:
            where = _where_farther(control, form) if form else ""
            notes[0] += f", significantly farther off than the claim{where}"
        else:
            notes[0] += ", as undecided"
    passing = [typeset(name.replace("_", " ")) for name in control["kept"]]
    if passing:
        parts = ", ".join(f"“{name}”" for name in passing) if len(passing) <= PARTS_SHOWN else f"{len(passing)} parts"
        all_pass = bool(control.get("certain")) and len(passing) == len(innermost_parts(control))
        if control["rejected"] and all_pass:  # the p-values of the parts have no correction
            notes.append(f"before Holm’s correction it passes in {parts}")
        else:
            notes.append(f"it passes in {parts}" + " alone" * control["rejected"])
    return "; ".join(notes)


def _where_farther(control: dict[str, Any], form: dict[str, Any]) -> str:
    """In which part of the rule a control differs from the claim, with both numbers; empty if they are shown anyway.

    One part is enough (``tasks.judging.finding.farther_off``), and the control and the claim each show their weakest.
    """
    parts, claim_parts = innermost_parts(control), innermost_parts(form)
    farther = {name: (parts[name], claim_parts[name]) for name in control["farther off"]}
    shown = deciding_part(control)
    if any(part is shown and claim_part is deciding_part(form) for part, claim_part in farther.values()):
        return ""
    name, pair = next(((name, pair) for name, pair in farther.items() if pair[0] is shown), next(iter(farther.items())))
    numbers = " against ".join(amount(part) for part in pair)
    return f" in “{part_name(name)}” ({numbers})"


def controls(claim: dict[str, Any]) -> str:
    """How many of a claim's controls its statements reject, and which are kept."""
    if not claim.get("controls"):
        return "none was judged"
    not_rejected = [name for name, control in claim["controls"].items() if not control["rejected"]]
    count = f"{len(claim['controls']) - len(not_rejected)} of {len(claim['controls'])} rejected"
    kept = [f"“{statement['name']}”" for statement in claim["statements"] if statement["reason"] == "control kept"]
    count += f", but none by {' or '.join(kept)}" if kept else ""
    count += f"; not rejected: {', '.join(not_rejected)}" if not_rejected else ""
    unbroken = len(waived(claim))
    if unbroken > 1:
        count += f"; {unbroken} statements need no rejected control (their rows say why)"
    return count + "; 1 statement needs no rejected control (its row says why)" * (unbroken == 1)


def breaking(statement: Mapping[str, Any]) -> str:
    """The controls that break a statement, and why it needs none."""
    names, reason = "; ".join(statement.get("rejecting controls", ())), statement["stands in"]
    return ". ".join(filter(None, (names or "None" * bool(reason), reason)))


def waived(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The asserted statements that are judged although no control breaks them; each says why, in ``stands in``."""
    return [statement for statement in claim["statements"] if statement["kind"] == "asserted" and statement["forms"]
            and statement["stands in"] and not statement["rejecting controls"]]  # fmt: skip


def waivers(results: Mapping[str, Claims]) -> int:
    """How many asserted statements hold at some scale although no control breaks them.

    Examples
    --------
    >>> statement = {"name": "low", "kind": "asserted", "forms": {"claim": {}}, "stands in": "It is low in the control "
    ...              "too.", "rejecting controls": [], "verdict": "holds"}
    >>> undecided = statement | {"name": "high", "verdict": "inconclusive"}
    >>> waivers({scale: {"X.fig1": {"statements": [statement, undecided]}} for scale in ("quick", "paper")})
    1
    """
    return len({(name, statement["name"]) for claims in results.values() for name, claim in claims.items()
                for statement in waived(claim) if statement["verdict"] in SUPPORTED})  # fmt: skip
