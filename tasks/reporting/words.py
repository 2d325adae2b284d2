"""How the report writes numbers, intervals, rules and what happened to a control."""

import math
import re
from typing import Any

# what a rule asks of its statistic: a pattern of the rule's text, and the words for it
SOUGHT = (
    (r"^equals (\S+ ± \S+),", "{0}"),
    (r"interval at 95 % above 0", "above 0"),
    (r"interval at 95 % inside (\[.*?\])", "inside {0}"),
    (r"rises, by Kendall's tau", "above 0"),
    (r"residual <= (\S+ u)\b", "at most {0}"),
    (r"is in (\S+) \+- (\S+)", "{0} ± {1}"),
    (r"left / right <= 1", "at most 1"),
    (r"<= 1 on every", "at most 1"),
    (r"every instance at most ([\d.e+-]*\d)", "at most {0}"),
    (r"^no .* on any instance", "0"),
)
MET = {True: "met", False: "not met", None: "not shown to be met"}


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


def signed(value: float) -> str:
    """A difference, with its sign."""
    return ("+" if value > 0 else "") + number(value)


def measured(claim: dict[str, Any]) -> str:
    """The measurement in the print's terms, or else the deciding statement's statistic; and how the data differ."""
    data = f" ({claim['altered']})" if claim["altered"] else ""
    statement = deciding(claim)
    own = estimate(deciding_part(deciding_form(statement))) if statement else "–"
    return (claim["measured"] or own) + data


def deciding(claim: dict[str, Any]) -> dict[str, Any] | None:
    """The statement that decides a claim; None of a claim that was not run."""
    return next((each for each in claim["statements"] if each["name"] == claim["deciding"] and each["forms"]), None)


def deciding_form(statement: dict[str, Any]) -> dict[str, Any]:
    """The form of a statement, printed or corrected, on which its verdict rests."""
    return statement["forms"]["corrected" if statement["form"] == "corrected" else "claim"]


def deciding_part(form: dict[str, Any]) -> dict[str, Any]:
    """The part of a rule whose statistic is shown, where the rule has parts."""
    while form.get("part") and form["part"] in form.get("parts", {}):
        form = form["parts"][form["part"]]
    return form


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


def estimate(finding: dict[str, Any]) -> str:
    """A statistic with its unit, and with its interval where it has one."""
    unit = " u" if re.search(r"residual <= \S+ u\b", finding.get("rule", "")) else ""
    if finding["low"] is not None and finding["high"] is not None:
        return interval(finding)
    return number(finding["statistic"]) + unit


def sought(finding: dict[str, Any]) -> str:
    """What the rule asks of the statistic, in a few words; empty where the rule's text says no threshold."""
    rule = deciding_part(finding).get("rule", "")
    for pattern, words in SOUGHT:
        if match := re.search(pattern, rule):
            return words.format(*match.groups()).replace("-", "−")
    return ""


def difference(finding: dict[str, Any]) -> str:
    """Measured less printed, with the interval, where the rule compares with a printed number; else empty."""
    match = re.match(r"equals (\S+) ±", finding.get("rule", ""))
    if not match:
        return ""
    printed = float(match[1])
    low, high = (signed(finding[end] - printed) for end in ("low", "high"))
    return f"{signed(finding['statistic'] - printed)} [{low}, {high}]"


def result(statement: dict[str, Any]) -> str:
    """A statement's statistic with its interval, and what the rule asks of it."""
    form = deciding_form(statement)
    wanted = sought(form)
    return estimate(deciding_part(form)) + (f"; must be {wanted}" if wanted else "")


def rule(form: dict[str, Any]) -> str:
    """The rule in a sentence: of a rule with parts, that of the part whose statistic is shown."""
    count = len(form.get("parts") or ())
    part = deciding_part(form)
    if count < 2:
        return part["rule"]
    names, current = [], form
    while current.get("part") and current["part"] in current.get("parts", {}):
        names.append(current["part"].replace("_", " "))
        current = current["parts"][current["part"]]
    return f"in each of {count} parts; shown is the weakest, {', '.join(names)}: {part['rule']}"


def against(claim: dict[str, Any]) -> str:
    """Measured less printed for each printed level; or else what the deciding rule asks, and of which statistic."""
    levels = [each for each in claim["statements"] if each["kind"] == "printed level" and each["forms"]]
    texts = [f"{each['name']}: {difference(deciding_form(each))}" for each in levels if difference(deciding_form(each))]
    statement = deciding(claim)
    if texts or not statement:
        return "; ".join(texts) or "–"
    if claim["measured"]:  # the statistic is not among what is measured in the print's terms
        return result(statement)
    wanted = sought(deciding_form(statement))
    return f"must be {wanted}" if wanted else "–"


def measured_lines(statement: dict[str, Any]) -> list[str]:
    """What was measured for a statement, in each of its forms; nothing where it was not judged."""
    lines = []
    for name, form in statement["forms"].items():
        part = deciding_part(form)
        prefix = {"claim": "as printed: ", "corrected": "corrected: "}[name] if len(statement["forms"]) > 1 else ""
        wanted, less = sought(form), difference(part)
        p, label = (form["p, Holm"], "p after Holm") if "p, Holm" in form else (form["p"], "p")
        texts = [estimate(part) + (f"; must be {wanted}" if wanted else ""), form["measured"]]
        texts += [f"less the print: {less}"] * bool(less) + [f"{label}: {number(p)}"] * (p is not None)
        lines.append(prefix + ". ".join(filter(None, texts)))
    return lines


def control_lines(statement: dict[str, Any]) -> list[str]:
    """The statistic of each control, and whether the rule rejects it; or why no control can break the statement."""
    if not statement["forms"]:
        return []
    controls = deciding_form(statement)["controls"]
    lines = [f"{name}: {estimate(deciding_part(control))}, {rejection(control)}" for name, control in controls.items()]
    return lines or [statement["stands in"] or "no control of its own"]
