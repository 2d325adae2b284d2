"""How the report writes numbers, intervals and what happened to a control."""

import math
from typing import Any


def number(value: float | None) -> str:
    """A number with as many digits as a reader can use."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value != 0 and not 1e-3 <= abs(value) < 9999.5:
        mantissa, exponent = f"{value:.1e}".split("e")
        power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa}·10{power}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def measured(claim: dict[str, Any]) -> str:
    """The measurement in the print's terms, or else the deciding statement's statistic; and how the data differ."""
    data = f" ({claim['altered']})" if claim["altered"] else ""
    deciding = next((each for each in claim["statements"] if each["name"] == claim["deciding"]), None)
    return (claim["measured"] or (interval(deciding) if deciding else "–")) + data


def verdict(thing: dict[str, Any]) -> str:
    """The verdict on a claim or a statement, with its reason."""
    return thing["verdict"] + (f": {thing['reason']}" if thing["reason"] else "")


def rejection(control: dict[str, Any]) -> str:
    """Whether a control was rejected, how, and which parts of the rule held for it."""
    undecided = "undecided alone, but significantly different from the claim" if control["rejected"] else "undecided"
    held = f"although these parts held: {', '.join(control['kept'])}".replace("_", " ") if control["kept"] else ""
    notes = [note for note in (undecided if control["holds"] is None else "", held) if note]
    return ("rejected" if control["rejected"] else "not rejected") + (f" ({'; '.join(notes)})" if notes else "")


def controls(claim: dict[str, Any]) -> str:
    """How many of a claim's controls its statements reject, and which are kept."""
    kept = [name for name, control in claim["controls"].items() if not control["rejected"]]
    count = f"{len(claim['controls']) - len(kept)} of {len(claim['controls'])} rejected"
    return count + (f"; kept: {', '.join(kept)}" if kept else "")


def interval(finding: dict[str, Any]) -> str:
    """A statistic with its interval or its bound."""
    if finding["low"] is not None and finding["high"] is not None:
        return f"{number(finding['statistic'])} [{number(finding['low'])}, {number(finding['high'])}]"
    bound = f" (≤ {number(finding['high'])})" if finding["high"] is not None else ""
    return number(finding["statistic"]) + bound
