"""What the report says of a claim's controls: whether the rule rejects each of them, how, and in which part."""

from collections.abc import Iterator
from typing import Any

from tasks.reporting.typesetting import number, typeset
from tasks.reporting.words import deciding_part, part_name, unit

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
        farther = ", significantly farther off than the claim" + (_where_farther(control, form) if form else "")
        notes[0] += farther if control["rejected"] else ", as undecided"
    passing = [typeset(name.replace("_", " ")) for name in control["kept"]]
    if passing:
        parts = ", ".join(f"“{name}”" for name in passing) if len(passing) <= PARTS_SHOWN else f"{len(passing)} parts"
        notes.append(f"it passes in {parts}" + " alone" * control["rejected"])
    return "; ".join(notes)


def _where_farther(control: dict[str, Any], form: dict[str, Any]) -> str:
    """In which part of the rule a control differs from the claim, with both numbers; empty if they are shown anyway.

    One part is enough (``tasks.judging.finding.differs``), and the control and the claim each show their weakest. Where
    no part is known to be the one, "in one part".
    """
    pairs = dict(_undecided_parts(control, form))
    if not pairs:
        return ""
    sure = {names: pair for names, pair in pairs.items() if len(pairs) == 1 or _apart(*pair)}
    if not sure:
        return " in one part"
    shown = deciding_part(control)
    if any(pair[0] is shown and pair[1] is deciding_part(form) for pair in sure.values()):
        return ""
    names, (of_control, of_claim) = next(((names, pair) for names, pair in sure.items() if pair[0] is shown),
                                         next(iter(sure.items())))  # fmt: skip
    numbers = " against ".join(number(part["statistic"]) + unit(part) for part in (of_control, of_claim))
    return f" in “{', '.join(names)}” ({numbers})"


def _undecided_parts(
    control: dict[str, Any], form: dict[str, Any], names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[dict[str, Any], dict[str, Any]]]]:
    """The parts in which a control may be the one that differs, by their names: the control's and the claim's."""
    parts, of_claim = control.get("parts") or {}, form.get("parts") or {}
    shared = {name: part for name, part in parts.items() if name in of_claim}
    if shared and all(part["holds"] for part in shared.values()):  # before Holm's correction: the weakest
        weakest = max(shared, key=lambda name: shared[name]["p"] or 0.0)
        shared = {weakest: shared[weakest]}
    elif shared:
        shared = {name: part for name, part in shared.items() if not part["holds"]}
    for name, part in shared.items():
        here = (*names, part_name(name))
        if part.get("parts") and of_claim[name].get("parts"):
            yield from _undecided_parts(part, of_claim[name], here)
        else:
            yield here, (part, of_claim[name])


def _apart(control: dict[str, Any], claim: dict[str, Any]) -> bool:
    """Whether two 95 % intervals do not overlap, and the control's is the lower one: then Welch's test differs too."""
    known = control["high"] is not None and claim["low"] is not None
    return known and control["evidence"] == "direction" and control["high"] < claim["low"]


def controls(claim: dict[str, Any]) -> str:
    """How many of a claim's controls its statements reject, and which are kept."""
    if not claim.get("controls"):
        return "none was judged"
    not_rejected = [name for name, control in claim["controls"].items() if not control["rejected"]]
    count = f"{len(claim['controls']) - len(not_rejected)} of {len(claim['controls'])} rejected"
    count += f"; not rejected: {', '.join(not_rejected)}" if not_rejected else ""
    unbroken = len(waived(claim))
    return count + (f"; {unbroken} statement{'s' * (unbroken > 1)} that no control breaks" if unbroken else "")


def waived(claim: dict[str, Any]) -> list[dict[str, Any]]:
    """The asserted statements that are judged although no control breaks them; each says why, in ``stands in``."""
    return [statement for statement in claim["statements"] if statement["kind"] == "asserted" and statement["forms"]
            and statement["stands in"] and not statement["rejecting controls"]]  # fmt: skip
