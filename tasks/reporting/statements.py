"""The table of a claim's statements: what was measured, the controls, and why a statement is not found."""

from typing import Any

from tasks.judging.power import ALPHA
from tasks.reporting.controls import rejection
from tasks.reporting.typesetting import number, typeset, typeset_rule
from tasks.reporting.words import (
    amount,
    deciding,
    deciding_form,
    deciding_part,
    difference,
    estimate,
    holm_remark,
    measure,
    outcome,
    part_names,
    probability,
    seeds,
    shortfall,
    sought,
    statistic_in,
    statistic_of,
    unmet_condition,
)

FORMS = {"claim": "as printed", "corrected": "corrected"}


def form_rows(statement: dict[str, Any]) -> list[dict[str, str]]:
    """What was measured for a statement, a row for each of its forms; none where it was not judged.

    Returns
    -------
    list of dict
        ``form`` (empty where there is only one), ``seeds`` (how many), ``outcome``, ``number`` with what it is and what
        the rule asks, ``interval``, ``p``, ``words``: the measurement in the paper's terms, and ``statistic``: without
        words, the name of the number where ``number`` does not have it.
    """
    return [
        {
            "form": FORMS[name] if len(statement["forms"]) > 1 else "",
            "seeds": seeds(form),
            "outcome": outcome(form),
            "number": _number(form),
            "interval": _interval(deciding_part(form)),
            "p": _p(form),
            "words": typeset(form["measured"]),
            "statistic": _statistic(form),
        }
        for name, form in statement["forms"].items()
    ]


def _number(form: dict[str, Any]) -> str:
    """The statistic, in which part of the rule it was measured, and what the rule asks."""
    part = deciding_part(form)
    wanted, less = sought(form), difference(part)
    names = ", ".join(part_names(form))
    kind = statistic_of(part["rule"]) or "Kendall’s τ: " * ("by Kendall's tau" in part["rule"])
    text = (f"part “{names}”: " if names else "") + kind + amount(part)
    text += f"; must be {wanted}" if wanted else ""
    return text + (f"; less the print: {less}" if less else "")


def _statistic(form: dict[str, Any]) -> str:
    """What the rule measures, where neither words of its own nor the number say it."""
    rule = deciding_part(form)["rule"]
    return "" if form["measured"] or statistic_of(rule) else typeset_rule(statistic_in(rule))


def _interval(part: dict[str, Any]) -> str:
    if part["low"] is not None and part["high"] is not None:
        return f"[{number(part['low'])}, {number(part['high'])}]"
    return ""


def _p(form: dict[str, Any]) -> str:
    """The p-value for the form, by Holm where his correction applies, or against it where that decides.

    Where a correction leaves open what the data speak for, the p-value before it stands beside.
    """
    texts = []
    for name, label in (("p", ""), ("p_against", "against: ")):
        value = form.get(f"{name}, Holm", form.get(name))
        if value is not None and (name == "p" or value <= ALPHA or (form["p"] or 0) > 0.5):
            open_alone = value > ALPHA and form[name] <= 0.5 and probability(form[name]) != probability(value)
            texts.append(label + probability(value) + f" (before Holm {probability(form[name])})" * open_alone)
    return "; ".join(texts)


def why_not(claim: dict[str, Any], statement: dict[str, Any]) -> str:
    """Why a statement is not found to hold, or which of its forms is: a few words behind its verdict."""
    reason = statement["reason"]
    notes = [reason] if reason else []
    if unmet := unmet_condition(claim, statement):
        notes = [f"{reason}: {unmet['name']}"]
    elif reason == "control kept":
        accepted = [name for name, control in deciding_form(statement)["controls"].items() if not control["rejected"]]
        notes = [f"{reason}: {', '.join(accepted)}" if accepted else reason]
    elif remark := holm_remark(deciding_form(statement)) if statement["forms"] and reason == "too few seeds" else "":
        notes = [f"{reason}: {remark}"]
    notes += [outcomes(claim, statement)] if len(statement["forms"]) > 1 else []
    return "; ".join(notes)


def outcomes_in_forms(claim: dict[str, Any]) -> str:
    """What the deciding statement's rule finds in each form, of a claim that fails or is open; empty with one form."""
    statement = deciding(claim)
    if not statement or claim["verdict"] not in ("fails", "inconclusive"):
        return ""
    return outcomes(claim, statement)


def outcomes(claim: dict[str, Any], statement: dict[str, Any]) -> str:
    """What a statement's rule finds in each of its forms, and what a supported form lacks; empty with one form."""
    texts = []
    for name, form in statement["forms"].items():
        lack = shortfall(claim, statement, name)
        texts.append(f"{FORMS[name]} {outcome(form)}{f' ({lack})' if lack else ''}")
    return ", ".join(texts) if len(texts) > 1 else ""


def control_lines(statement: dict[str, Any]) -> list[str]:
    """The statistic of each control, and whether the rule rejects it; and why no control can break the statement."""
    if not statement["forms"]:
        return []
    form = deciding_form(statement)
    lines = [f"{name}: {estimate(deciding_part(control))}, {rejection(control, form)}"
             for name, control in form["controls"].items()]  # fmt: skip
    if statement["stands in"]:
        lines.append(f"No rejected control is needed: {statement['stands in']}")
    return lines or ["no control of its own"]


def compared_with_print(claim: dict[str, Any]) -> str:
    """Measured minus printed for each printed level; without levels the deciding rule's statistic and threshold."""
    levels = [statement for statement in claim["statements"] if statement["kind"] == "printed level"]
    differences = {level["name"]: difference(deciding_form(level)) for level in levels if level["forms"]}
    texts = [f"{name}: {text}" for name, text in differences.items() if text]
    statement = deciding(claim)
    if texts or not statement:
        return "; ".join(texts) or "–"
    form = deciding_form(statement)
    wanted = sought(form)
    asked = f"; must be {wanted}" if wanted else ""
    compared = "; the printed numbers cannot be compared at this scale" if levels and not differences else ""
    if claim["measured"]:  # the statistic is not among what is measured in the print's terms
        subject = ", ".join(filter(None, (f"“{statement['name']}”", measure(form).removesuffix(": "))))
        return f"{estimate(deciding_part(form))}{asked}, for {subject}{compared}"
    return f"must be {wanted}{compared}" if wanted else "–"
