"""What the report says of a claim and its statements: measurements, intervals, rules, conditions and verdicts."""

import re
from collections.abc import Mapping
from typing import Any

from tasks.judging.power import ALPHA
from tasks.judging.verdict import condition_in_form, decision, measurements, unmet_conditions
from tasks.reporting.typesetting import number, signed, typeset, typeset_rule

# what a rule asks of its statistic: a pattern of the rule's text, and the words for it
SOUGHT = (
    (r"^the mean over \d+ seeds equals (\S+ ± \S+),", "{0}"),
    (r" is above 0 in the mean over ", "above 0"),
    (r" lies in (\[.*?\]) in the mean over ", "inside {0}"),
    (r", by Kendall's tau", "above 0"),
    (r" is below 0, by Student's t test", "below 0"),
    (r"residual <= (\S+ u)\b", "at most {0}"),
    (r"is in (\S+) \+- (\S+)", "{0} ± {1}"),
    (r"left / right <= 1", "at most 1"),
    (r"<= 1 on every", "at most 1"),
    (r"<= ([\d.]+) on every", "at most {0}"),
    (r": ratio <= (\S+(?: - \S+)?)$", "at most {0}"),
    (r"^median .* at most (\S+)$", "at most {0}"),
    (r": at every small ratio at most (\S+) times that", "at most {0}"),
    (r": above (\S+)$", "above {0}"),
    (r"^every mean within (\d+) standard errors", "at most {0}"),
    (r" at every \w+ at most (\S+)$", "at most {0}"),
    (r": at most (\S+) (?:at the smallest \S+ of|on) every instance", "at most {0}"),
    (r"^no .* on any instance", "0"),
    (r": in all of \d+ seeds", "1"),
)
# what the statistic is of a rule over instances, which have no mean: a pattern of the rule's text, and the words for it
STATISTICS = (
    (r"float64 residual <=", "largest residual: "),
    (r"95 % interval of the slope", "median log-log slope of the remainder: "),
    (r"^(?:for some C, )?left / right <=", "largest ratio of the left side to the right: "),
    (r"^(?:for some C, )?(\w+ / \w+) <=", "largest ratio {0}: "),
    (r"raises the rate .*: ratio <= [\d.]+$", "largest ratio of rates: "),
    (r"the ratio of squared distances rises: ratio <=", "largest ratio of neighbours: "),
    (r"^(median .*) at most \S+$", "{0}: "),
    (r"^(.*): at every small ratio at most", "{0}, largest at a small ratio over least at a large ratio: "),
    (r"^(.*): above \S+$", "{0}: "),
    (r"^every mean within \d+ standard errors", "largest distance from an expectation, in standard errors: "),
    (r"^(.*) at every \w+ at most", "largest {0}: "),
    (r"^no (.*) on any instance", "number of times that “{0}” occurs: "),
    (r"^(.*): in all of \d+ seeds", "share of seeds with {0}: "),
    (r"^(.*): at most \S+ (?:at the smallest \S+ of|on) every instance", "largest {0}: "),
)
# in the text of a rule over seeds, what follows the name of its statistic, or the clause whose tau is the statistic
NAMED_BEFORE = re.compile(
    r",? (?:is above 0|lies in \[.*?\]) in the mean over \d|, by Kendall's tau| is below 0, by Student"
)
LINE = 100  # characters of measurements in a cell of the table of all claims
RULES_SHOWN = 4  # different rules of parts that a sentence can hold
PARTS_NAMED = 3  # parts of one rule that it can name
WORDS_OF_PART = re.compile(", |: ")  # between the words of a part's name
OVER = r"over (\d+) ((?:data )?(?:seeds|sets))"  # in a rule's text: what its statistic is over
MET = {True: "met", False: "not met", None: "not shown to be met"}


def subjects_once(measured: str) -> str:
    """What was measured, in which neighbours of one subject name it once.

    Examples
    --------
    >>> subjects_once("digits: loss 1 to 0.1; digits: NFA 0.6; MNIST: loss 1 to 0.2")
    'digits: loss 1 to 0.1; NFA 0.6; MNIST: loss 1 to 0.2'
    """
    texts, before = [], ""
    for text in measured.split("; "):
        subject, colon, remainder = text.partition(": ")
        texts.append(remainder if colon and subject == before else text)
        before = subject if colon else ""
    return "; ".join(texts)


def measured(claim: dict[str, Any]) -> str:
    """The measurements in the print's terms, the deciding statement's first. Without them: its statistic.

    Measurements that do not fit into a line are counted. What is not as in the paper stands on the claim's page.
    """
    differs = " (not all as in the paper)" if claim["altered"] else ""
    statement = deciding(claim)
    if not statement:
        return "–" + differs
    asserted = [other for other in claim["statements"] if other["kind"] == "asserted" and other["forms"]]
    in_order = [statement, *(other for other in asserted if other is not statement)]
    texts = [typeset(text) for text in measurements(in_order)]
    shown = [text for end, text in enumerate(texts, 1) if end == 1 or len("; ".join(texts[:end])) <= LINE]
    hidden = len(texts) - len(shown)
    more = f"; {hidden} more on its page" if hidden else ""
    form = deciding_form(statement)
    return ("; ".join(shown) or measure(form) + estimate(deciding_part(form))) + more + differs


def deciding(claim: dict[str, Any]) -> dict[str, Any] | None:
    """The statement that decides a claim; None of a claim that was not run."""
    judged = (statement for statement in claim["statements"] if statement["forms"])
    return next((statement for statement in judged if statement["name"] == claim["deciding"]), None)


def deciding_form(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The form of a statement, printed or corrected, on which its verdict rests."""
    return statement["forms"][form_name(statement)]


def form_name(statement: Mapping[str, Any]) -> str:
    """The name of this form among the statement's forms: ``claim`` is the printed one."""
    return "corrected" if statement["form"] == "corrected" else "claim"


def deciding_part(form: dict[str, Any]) -> dict[str, Any]:
    """The part of a rule whose statistic is shown, where the rule has parts."""
    while form.get("part") and form["part"] in form.get("parts", {}):
        form = form["parts"][form["part"]]
    return form


def why(claim: dict[str, Any]) -> str:
    """The measurement on which a claim's verdict rests; empty for a claim that was not run.

    A claim that holds shows what was measured for its statements. Any other claim shows the statement that decides it,
    with the statistic and the reason: a condition that is not met, too few seeds, or controls that are not rejected.
    """
    statement = deciding(claim)
    if not statement:
        return ""
    if claim["verdict"] in ("holds", "holds corrected") and claim["measured"]:
        return typeset(subjects_once(claim["measured"]))
    quoted_name, form = f"“{statement['name']}”", deciding_form(statement)
    unmet = unmet_condition(claim, statement)
    if unmet:
        shown = [f"{quoted_name} needs the condition “{unmet['name']}”, which is not met"]
        of_form = deciding_condition(unmet, statement)
        shown += [condition(of_form)] if of_form else []
        return "; ".join(shown)
    shown = [typeset(subjects_once(form["measured"]))] if form["measured"] else []
    shown.append(f"{measure(form)}{result(statement)}")
    p = form.get("p, Holm", form["p"])
    if statement["reason"] == "too few seeds" and p is not None:
        shown.append(f"p after Holm {number(p)}, must be at most 0.025")
    if claim["reason"] == "control kept":
        not_rejected = [name for name, control in form["controls"].items() if not control["rejected"]]
        shown.append(f"not rejected: {', '.join(not_rejected)}" if not_rejected else "no control breaks it")
    corrected = "in the corrected form, " * (statement["form"] == "corrected")
    printed = statement["forms"].get("claim") if corrected else None
    other = f". As printed it is {outcome(printed)}: {estimate(deciding_part(printed))}" if printed else ""
    return f"{quoted_name}: {corrected}{'; '.join(shown)}{other}"


def outcome(form: dict[str, Any]) -> str:
    """What the rule finds in a form after Holm's correction: supported, refuted or undecided."""
    return {True: "supported", False: "refuted", None: "undecided"}[decision(form)]


def holm_remark(form: dict[str, Any]) -> str:
    """A remark where a form is undecided by Holm's correction alone, with the corrected p-value; else empty."""
    if outcome(form) != "undecided":
        return ""
    name = min(("p", "p_against"), key=lambda of_side: 1.0 if form[of_side] is None else form[of_side])
    if form[name] is None or form[name] > ALPHA:
        return ""
    corrected, side = form.get(f"{name}, Holm", form[name]), "against it " * (name == "p_against")
    return f"not significant after Holm’s correction (p {side}{probability(corrected)})"


def probability(value: float) -> str:
    """A p-value with two digits; more say nothing."""
    return number(float(f"{value:.1e}"))


def unmet_condition(claim: dict[str, Any], statement: dict[str, Any]) -> dict[str, Any] | None:
    """The condition that leaves a statement undecided; None where another reason does."""
    if statement["verdict"] != "inconclusive":
        return None
    unmet = unmet_conditions(claim["hypotheses"], statement, form_name(statement))
    return next((hypothesis for hypothesis in unmet if hypothesis["reason"] == statement["reason"]), None)


def shortfall(claim: dict[str, Any], statement: dict[str, Any], name: str) -> str:
    """Why a form does not hold although the rule supports it: an unmet condition, or no control that breaks it."""
    form = statement["forms"][name]
    if outcome(form) != "supported":
        return ""
    if unmet := unmet_conditions(claim["hypotheses"], statement, name):
        return f"but the condition “{unmet[0]['name']}” is not met"
    controls = form["controls"].values()
    kept = bool(controls) and not statement["stands in"] and not any(control["rejected"] for control in controls)
    return "but no control breaks it" if kept else ""


def deciding_condition(hypothesis: dict[str, Any], statement: dict[str, Any]) -> dict[str, Any]:
    """The finding on a hypothesis in the form that decides the statement; empty if the table lacks its numbers."""
    return condition_in_form(hypothesis, form_name(statement))


def condition(form: dict[str, Any], says_met: bool = False) -> str:
    """What a condition's rule measures, its value, whether it is met if asked for, and what was measured beside it."""
    met = f", {MET[form['holds']]}" if says_met else ""
    return _condition_measure(form) + _condition_value(form) + met + _measured_beside(form)


def _condition_value(form: dict[str, Any]) -> str:
    """The value of a condition's statistic, with its bound unless the rule's text says it."""
    part = deciding_part(form)
    has_interval = part["low"] is not None and part["high"] is not None
    if has_interval or not re.search("at least|at most|must be", part["rule"]):
        return interval(part)
    return amount(part)


def _condition_measure(form: dict[str, Any]) -> str:
    return measure(form) or f"{typeset_rule(deciding_part(form)['rule'])}: "


def _measured_beside(form: dict[str, Any]) -> str:
    decays = form.get("total decay", {})
    values = [number(value) + f" ({typeset(case)})" * (len(set(decays.values())) > 1) for case, value in decays.items()]
    total_decay = f"; total decay {', '.join(dict.fromkeys(values))}" if values else ""
    return total_decay + (f"; {typeset(form['measured'])}" if form.get("measured") else "")


def condition_rows(results: dict[str, dict[str, Any]], name: str) -> list[tuple[str, dict[str, list[str]]]]:
    """What a condition's rule measures, and by scale the values in each form; the same measure is named once.

    Parameters
    ----------
    results
        The results of a claim at the scales at which it was run.
    name
        The condition's name.
    """
    rows: dict[str, dict[str, list[str]]] = {}
    for scale, result in results.items():
        named = [hypothesis for hypothesis in result["hypotheses"] if hypothesis["name"] == name]
        for form_name, form in ((key, form) for hypothesis in named for key, form in hypothesis["forms"].items()):
            where = "corrected form: " * (form_name == "corrected")
            value = f"{where}{_condition_value(form)}, {MET[form['holds']]}{_measured_beside(form)}"
            rows.setdefault(_condition_measure(form).removesuffix(": "), {}).setdefault(scale, []).append(value)
    return list(rows.items())


def statements_with(claim: dict[str, Any], condition: dict[str, Any]) -> list[str]:
    """The asserted statements that have a condition; none where all of them have it."""
    asserted = [statement["name"] for statement in claim["statements"] if statement["kind"] == "asserted"]
    names = [name for name in asserted if name in condition["statements"]]
    return names if len(names) < len(asserted) else []


def hypotheses_by_text(hypotheses: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The hypotheses by their text: one condition may have to be met on several data sets."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for hypothesis in hypotheses:
        groups.setdefault(hypothesis["text"], []).append(hypothesis)
    return groups


def measure(form: dict[str, Any]) -> str:
    """The name of a rule's statistic, and the part of the rule; empty if the rule's text does not name it."""
    rule = deciding_part(form)["rule"]
    if kind := statistic_of(rule):
        return kind
    if not (statistic := statistic_in(rule)):
        return ""
    named = f"Kendall’s τ for “{statistic}”" if "Kendall's tau" in rule else statistic
    return typeset_rule(f"{named}{of_part(form)}: ")


def of_part(form: dict[str, Any]) -> str:
    """The name of the part whose statistic is shown, to stand behind a statistic; empty if there is one part."""
    names = ", ".join(part_names(form))
    return f" (part “{names}”)" if names else ""


def statistic_in(rule: str) -> str:
    """The name of the statistic in the text of a rule over seeds, or the clause of a trend; empty without either."""
    statistic = re.split(NAMED_BEFORE, rule)[0]
    return statistic * (statistic != rule)


def statistic_of(rule: str) -> str:
    """The name of the statistic of a rule over instances; empty for other rules."""
    for pattern, words in STATISTICS:
        if match := re.search(pattern, rule):
            return words.format(*match.groups())
    return ""


def part_names(form: dict[str, Any]) -> list[str]:
    """The names of the parts that lead to the shown statistic, outermost first; empty if there is one part."""
    names: list[str] = []
    while form.get("part") and form["part"] in form.get("parts", {}):
        if len(form["parts"]) > 1:
            names.append(part_name(form["part"]))
        form = form["parts"][form["part"]]
    # a part of a part may repeat the outer name, as "ReLU², digits" does in "ReLU²"
    return [name for index, name in enumerate(names) if not any(inner.startswith(name) for inner in names[index + 1 :])]


def part_name(name: str) -> str:
    """A part of a rule by a name for readers."""
    return typeset(" ".join(name.replace("_", " ").replace("=", " = ").split()))


def verdict(judged: dict[str, Any]) -> str:
    """The verdict on a claim or a statement, with its reason."""
    return judged["verdict"] + (f": {judged['reason']}" if judged["reason"] else "")


def statements_found(claim: dict[str, Any]) -> str:
    """How many asserted statements are found to hold, and how many of them were not judged."""
    asserted = [statement for statement in claim["statements"] if statement["kind"] == "asserted"]
    unjudged = sum(not statement["forms"] for statement in asserted)
    return f"{claim['supported']} of {claim['asserted']}" + (f", {unjudged} not judged" if unjudged else "")


def interval(finding: dict[str, Any]) -> str:
    """A statistic with its interval, or with its unit and its bound."""
    low, high = (None if finding[end] is None else number(finding[end]) for end in ("low", "high"))
    if low is not None and high is not None:
        return f"{number(finding['statistic'])} [{low}, {high}]"
    bound = f" (must be at most {high})" if high else f" (must be at least {low})" if low else ""
    return amount(finding) + bound


def estimate(finding: dict[str, Any]) -> str:
    """A statistic with its unit, and with its interval where it has one."""
    if finding["low"] is not None and finding["high"] is not None:
        return interval(finding)
    return amount(finding)


def amount(finding: dict[str, Any]) -> str:
    """A statistic with its unit. A residual below a unit of round-off has no digits: another processor has others."""
    if unit(finding) and 0 < finding["statistic"] < 1:
        return "below 1 u"
    return number(finding["statistic"]) + unit(finding)


def unit(finding: dict[str, Any]) -> str:
    """The unit of a rule's statistic: u, of normwise residuals."""
    return " u" if re.search(r"residual <= \S+ u\b", finding.get("rule", "")) else ""


def sought(finding: dict[str, Any]) -> str:
    """What the rule asks of the statistic, in a few words; empty where the rule's text says no threshold."""
    rule = deciding_part(finding).get("rule", "")
    for pattern, words in SOUGHT:
        if match := re.search(pattern, rule):
            return typeset(words.format(*match.groups())).replace("-", "−")
    return ""


def difference(finding: dict[str, Any]) -> str:
    """Measured less printed, with the interval, where the rule compares with a printed number; else empty."""
    match = re.match(r"the mean over \d+ seeds equals (\S+) ±", finding.get("rule", ""))
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
    """The rule in a sentence. If it has several parts, the shown part's rule comes first."""
    count = len(innermost_parts(form))
    in_each = "in each of" if len(_parts_by_rule(form)) == 1 else "in"
    parts = f"{in_each} {count} parts (shown is the weakest, “{', '.join(part_names(form))}”): "
    return typeset_rule(parts * (count > 1) + _rules_of_parts(form))


def rule_without_counts(form: dict[str, Any]) -> str:
    """The rule in a sentence without the numbers of seeds and parts and the weakest part, which differ by scale."""
    one_rule = len(innermost_parts(form)) > 1 == len(_parts_by_rule(form))
    return typeset_rule(_without_count("in each part: " * one_rule + _rules_of_parts(form)))


def seeds(form: dict[str, Any]) -> str:
    """How many seeds, or data sets, a rule's statistic is over; empty for a rule over instances."""
    match = re.search(OVER, deciding_part(form)["rule"])
    return f"{match[1]} {match[2]}" if match else ""


def _without_count(text: str) -> str:
    """A rule's text without the number of seeds or data sets."""
    return re.sub(r"in all of \d+ seeds", "in all seeds", re.sub(OVER, r"over the \2", text))


def _parts_by_rule(form: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The parts' rules by their names, by the rule without the number of seeds; the shown part's rule comes first."""
    by_rule: dict[str, dict[str, str]] = {_without_count(deciding_part(form)["rule"]): {}}
    for name, leaf in innermost_parts(form).items():
        by_rule.setdefault(_without_count(leaf["rule"]), {})[name] = leaf["rule"]
    return by_rule


def _rules_of_parts(form: dict[str, Any]) -> str:
    """The different rules of the parts, each behind what its parts are called."""
    by_rule = _parts_by_rule(form)
    if len(by_rule) == 1:
        return deciding_part(form)["rule"]
    if len(by_rule) > RULES_SHOWN:
        return f"in each part, as in “{', '.join(part_names(form))}”: {deciding_part(form)['rule']}"
    texts = []
    for without_count, rules in by_rule.items():
        text = next(iter(rules.values())) if len(set(rules.values())) == 1 else without_count
        name = _common_name(list(rules), list(innermost_parts(form)))
        texts.append(f"“{name}”: {text}" if name else text)
    return "; and ".join(texts)


def _common_name(names: list[str], all_names: list[str]) -> str:
    """What tells parts of one rule from the rule's other parts: the words that they share, or the names of a few.

    Examples
    --------
    >>> parts = ["digits, layer 1, fall", "digits, layer 1, majority", "digits, layer 2, fall"]
    >>> _common_name([parts[0], parts[2]], parts), _common_name(parts[1:2], parts)
    ('fall', 'layer 1, majority')
    >>> _common_name(["s = 1", "s = 2"], ["s = 1", "s = 2", "s = 0.5"])
    's = 1” and “s = 2'
    """
    words, all_words = ([WORDS_OF_PART.split(part_name(name)) for name in group] for group in (names, all_names))
    shared = [word for word in words[0] if all(word in others for others in words)]
    if telling := [word for word in shared if not all(word in others for others in all_words)]:
        return ", ".join(telling)
    return "” and “".join(part_name(name) for name in names) if len(names) <= PARTS_NAMED else ""


def innermost_parts(form: dict[str, Any], name: str = "") -> dict[str, dict[str, Any]]:
    """The parts of a rule that have no parts themselves, by their names joined with a comma, as when they were judged.

    A rule without parts has the name "".
    """
    if not form.get("parts"):
        return {name: form}
    innermost: dict[str, dict[str, Any]] = {}
    for inner, part in form["parts"].items():
        innermost |= innermost_parts(part, f"{name}, {inner}" if name else inner)
    return innermost
