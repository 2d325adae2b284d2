"""The first lines of a claim's page: how many statements hold, what was measured, and why the verdict is as it is.

They are sentences for a reader who has not met our rules. The table of statements has the same numbers, and all others.
"""

import re
from typing import Any

from tasks.judging.power import ALPHA
from tasks.judging.statement import OLD_TABLE
from tasks.judging.verdict import SUPPORTED, unmet_conditions
from tasks.reporting.typesetting import typeset
from tasks.reporting.words import (
    condition,
    deciding,
    deciding_condition,
    deciding_form,
    deciding_part,
    estimate,
    holm_remark,
    measure,
    of_part,
    outcome,
    probability,
    shortfall,
    sought,
    statistic_of,
    subjects_once,
    unit,
    unmet_condition,
)

PAPER_WORDS = ". The paper: "  # between a statement's name and the paper's words for it
PASSAGES = " … "  # between passages of a quotation
LONG = 220  # characters of a quotation that a first screen can hold
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z])")  # between two sentences of a quotation
RELATION = re.compile("[=<>≈≤≥≳∝]")  # words with one of these have their formula in them
COUNTED = ("holds", "holds corrected", "fails", "inconclusive")
CALLED = {"holds": "hold", "holds corrected": "hold corrected", "fails": "fail", "inconclusive": "undecided"}
DECIDED = {"fails": "Fails", "inconclusive": "Undecided", "holds corrected": "Corrected"}
FURTHER = {
    "fails": "Fails too",
    "inconclusive": "Undecided too",
}  # before the other statements with the claim's verdict
SINGULAR = {"hold": "holds", "hold corrected": "holds corrected", "fail": "fails"}


def how_many(claim: dict[str, Any]) -> str:
    """How many of a claim's asserted statements have which verdict, and why the others were not judged.

    Examples
    --------
    >>> judged = [{"kind": "asserted", "verdict": verdict, "reason": "", "forms": {"claim": {}}}
    ...           for verdict in ("holds", "fails", "inconclusive")]
    >>> how_many({"statements": judged})
    "Of the paper's 3 statements 1 holds, 1 fails, 1 is undecided"
    """
    asserted = [statement for statement in claim["statements"] if statement["kind"] == "asserted"]
    judged = [statement["verdict"] for statement in asserted if statement["forms"]]
    counts = {CALLED[verdict]: judged.count(verdict) for verdict in COUNTED}
    texts = [_counted(name, count) for name, count in counts.items() if count]
    waiting = [statement["reason"] for statement in asserted if not statement["forms"]]
    for reason in dict.fromkeys(waiting):
        count = waiting.count(reason)
        texts.append(f"{count} {'is' if count == 1 else 'are'} not judged ({reason})")
    if len(asserted) == 1:
        return texts[0].replace("1 ", "The paper's statement ", 1)
    if len(texts) == 1:
        together = "Both" if len(asserted) == 2 else f"All {len(asserted)}"
        return texts[0].replace(f"{len(asserted)} ", f"{together} statements of the paper ", 1)
    return f"Of the paper's {len(asserted)} statements {', '.join(texts)}"


def _counted(name: str, count: int) -> str:
    if name == "undecided":
        return f"{count} {'is' if count == 1 else 'are'} undecided"
    return f"{count} {SINGULAR[name] if count == 1 else name}"


def in_short(claim: dict[str, Any]) -> list[tuple[str, str]]:
    """What was measured for the statement that decides a claim, and why the verdict is as it is.

    Parameters
    ----------
    claim
        A claim of claims.json.

    Returns
    -------
    list of tuple[str, str]
        Sentences, each with the word before it. ``Fails``, ``Undecided`` or ``Corrected`` names the statement where the
        claim does not hold as printed; ``Measured`` and ``Why`` follow. Empty for a claim that was not run.
    """
    statement = _shown_statement(claim)
    if not statement:
        return []
    if claim["verdict"] == "holds":
        form = deciding_form(statement)
        measured = typeset(subjects_once(claim["measured"]))
        return [("Measured", measured or f"{_number_of(form)} is {estimate(deciding_part(form))}")]
    printed, form = statement["forms"].get("claim"), deciding_form(statement)
    lines = [(DECIDED[claim["verdict"]], f"“{statement['name']}”{_paper_words(statement)}")]
    corrected = statement["form"] == "corrected"
    if form["measured"]:
        measured = _measured_in_forms(printed, form) if corrected else typeset(subjects_once(form["measured"]))
        lines.append(("Measured", measured))
    if claim["verdict"] == "holds corrected":
        return [*lines, ("Why", _why_corrected(claim, statement))]
    reason = _why(claim, statement, form)
    if corrected and printed and not unmet_condition(claim, statement):
        printed_outcome = _printed_outcome(claim, statement)
        both = claim["verdict"] == "fails" and outcome(printed) == "refuted"
        reason += f". As printed the statement is {printed_outcome}" + (
            ", too" if both else ". So it is not found to hold as printed, and the corrected form decides"
        )
    return [*lines, ("Why", reason), *_further_statements(claim, statement)]


def _further_statements(claim: dict[str, Any], shown: dict[str, Any]) -> list[tuple[str, str]]:
    """The other asserted statements with the claim's verdict, if refuted with the paper's words and the numbers."""
    others = [statement for statement in claim["statements"]
              if statement is not shown and statement["kind"] == "asserted" and statement["forms"]
              and statement["verdict"] == claim["verdict"]]  # fmt: skip
    if claim["verdict"] == "fails":
        return [(FURTHER["fails"], f"“{statement['name']}”{_paper_words(statement)}{_numbers(statement)}")
                for statement in others]  # fmt: skip
    reasons = {statement["name"]: statement["reason"] for statement in others}
    names = "; ".join(f"“{name}” ({reason})" for name, reason in reasons.items())
    return [(FURTHER["inconclusive"], names)] if names else []


def _numbers(statement: dict[str, Any]) -> str:
    """What was measured for a further statement, behind its name."""
    form = deciding_form(statement)
    where = "in the corrected form, " * (statement["form"] == "corrected")
    return f". Measured: {where}{typeset(subjects_once(form['measured']))}" if form["measured"] else ""


def _shown_statement(claim: dict[str, Any]) -> dict[str, Any] | None:
    """The statement that decides; of a claim that holds corrected, an asserted one that does so."""
    if claim["verdict"] == "holds corrected":
        corrected = (statement for statement in claim["statements"]
                     if statement["kind"] == "asserted" and statement["verdict"] == "holds corrected")  # fmt: skip
        return next(corrected, None) or deciding(claim)
    return deciding(claim)


def _measured_in_forms(printed: dict[str, Any] | None, form: dict[str, Any]) -> str:
    """What was measured in both forms of a statement."""
    texts = [f"as printed, {typeset(subjects_once(printed['measured']))}"] if printed and printed["measured"] else []
    return "; ".join([*texts, f"in the corrected form, {typeset(subjects_once(form['measured']))}"])


def _paper_words(statement: dict[str, Any]) -> str:
    """The paper's words for a statement, and the formula or the number that they lead to.

    Words that are too long for a first screen are left to the table of statements. Of several passages the first stays,
    and of several sentences the first, unless the words lead to a formula at their end.
    """
    passages, printed = statement.get("quote", ""), statement.get("printed", "")
    quote = passages if len(passages) <= LONG else passages.split(PASSAGES)[0]
    if len(quote) > LONG and (quote.endswith(".") or not printed):
        quote = _first_sentence(quote)
    quoted = f"“{quote.rstrip('.')}{' …' if quote != passages else ''}”" if 0 < len(quote) <= LONG else ""
    texts = [text for text in (quoted, "" if quoted and RELATION.search(quote) else printed) if text]
    return f"{PAPER_WORDS}{'; '.join(texts)} ({statement['place']})" if texts else ""


def _first_sentence(quote: str) -> str:
    """The first sentence of a quotation; empty where a first screen cannot hold it."""
    first = SENTENCE.split(quote)[0]
    return first if len(first) <= LONG else ""


def _demand(form: dict[str, Any]) -> str:
    """What a rule's number is, what the rule asks of it, and its value."""
    name, wanted, value = _number_of(form), sought(form), estimate(deciding_part(form))
    return f"{name} must be {wanted}, and is {value}" if wanted else f"{name} is {value}"


def _number_of(form: dict[str, Any]) -> str:
    """What a rule's number is."""
    name = measure(form).removesuffix(": ")
    if not name or statistic_of(deciding_part(form)["rule"]):  # which leaves out the part
        name = (name or "the rule’s number") + of_part(form)
    return name + " (in units of round-off)" * bool(unit(deciding_part(form)))


def _why_corrected(claim: dict[str, Any], statement: dict[str, Any]) -> str:
    """What the rule finds in both forms of a statement that holds corrected."""
    printed, form = statement["forms"].get("claim"), deciding_form(statement)
    if not printed:
        return _demand(form)
    lack = shortfall(claim, statement, "claim")
    printed_outcome = outcome(printed) + (f", {lack}" if lack else "")
    name, wanted = _number_of(form), sought(form)
    if wanted and (name, wanted) == (_number_of(printed), sought(printed)):
        values = [estimate(deciding_part(of_form)) for of_form in (printed, form)]
        return f"{name} must be {wanted}. As printed it is {values[0]}: {printed_outcome}. In the corrected form, " \
               f"below, it is {values[1]}"  # fmt: skip
    return f"as printed the statement is {printed_outcome}: {_demand(printed)}. In the corrected form, below, it " \
           f"holds: {_demand(form)}"  # fmt: skip


def _printed_outcome(claim: dict[str, Any], statement: dict[str, Any]) -> str:
    """What the rule finds in the printed form, where the corrected one decides."""
    form, lack = statement["forms"]["claim"], shortfall(claim, statement, "claim")
    remark = f"; {remark}" if (remark := holm_remark(form)) else ""
    return f"{outcome(form)} ({estimate(deciding_part(form))}{remark})" + (f", {lack}" if lack else "")


def _kept_controls(form: dict[str, Any]) -> str:
    """The controls that the rule does not reject."""
    names = [f"“{name}”" for name, control in form["controls"].items() if not control["rejected"]]
    if len(names) < 2:
        return f"the control {names[0]}" if names else ""
    return f"the controls {', '.join(names[:-1])} and {names[-1]}"


def _why(claim: dict[str, Any], statement: dict[str, Any], form: dict[str, Any]) -> str:
    """Why a statement fails or is undecided."""
    if unmet := unmet_condition(claim, statement):
        of_form = deciding_condition(unmet, statement)
        shown = f"; {condition(of_form)}" if of_form else ""
        return f"the statement is judged only where the condition “{unmet['name']}” is met, and here it is not{shown}"
    if statement["reason"] == OLD_TABLE and statement["lacks its corrected form"]:
        printed = f"the statement is {_printed_outcome(claim, statement)}"
        if conditions := unmet_conditions(claim["hypotheses"], statement, "claim"):
            printed = f"the condition “{conditions[0]['name']}” is not met"
        return f"as printed {printed}; the corrected form, which then decides, has not been measured"
    if statement["reason"] == OLD_TABLE:
        return (
            "the measurements are older than the statement or its condition, and lack what the rule needs; they have "
            "to be made again"
        )
    if statement["verdict"] in SUPPORTED or statement["reason"] == "control kept":
        finds = f"the rule finds it ({_demand(form)})"
        if kept_names := _kept_controls(form):
            kept = [control for control in form["controls"].values() if not control["rejected"]]
            if all(control["undecided"] for control in kept):
                return f"{finds}, but it leaves {kept_names} undecided, so it does not tell the claim from its control"
            return f"{finds}, but it does not reject {kept_names}, so it does not test the statement"
        return f"{finds}, but no control breaks it, so it does not test the statement"
    if statement["verdict"] == "fails":
        against = form.get("p_against, Holm", form["p_against"])
        sure = (
            f" (p-value against the statement: {probability(against)} after Holm’s correction)"
            if against is not None
            else ""
        )
        return f"{_demand(form)}{sure}"
    if form["p"] is None:
        return f"{_demand(form)}, which neither supports nor refutes the statement"
    return f"{_demand(form)}; {_undecided(form)}"


def _undecided(form: dict[str, Any]) -> str:
    """Which p-value is too large, before or after Holm's correction."""
    opposite = None not in (form["p"], form["p_against"]) and form["p_against"] < form["p"]
    name, words = ("p_against", "the p-value against the statement") if opposite else ("p", "p")
    if opposite and form.get("parts"):
        words += ", corrected for the number of the rule’s parts,"
    alone, corrected = form[name], form.get(f"{name}, Holm", form[name])
    if alone <= ALPHA:
        return f"alone this would decide, but not among all the paper’s statements: {words} after Holm’s correction " \
               f"is {probability(corrected)}, and must be at most {ALPHA:g}"  # fmt: skip
    before = " before Holm’s correction" if corrected != alone else ""
    return f"this does not decide: {words} is {probability(alone)}{before}, and must be at most {ALPHA:g}"
