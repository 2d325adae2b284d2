"""From the findings of a paper to the verdicts on its claims and their statements.

A statement
  holds            its rule supports it after Holm's correction, and at least one control breaks it
  holds corrected  its printed form does not hold, and its corrected form holds
  fails            its rule refutes it after Holm's correction
  inconclusive     the data decide nothing, no control breaks it, a hypothesis of the paper is not met, or the table
                   lacks its corrected form

A statement whose data are not here, or whose table is older than the statement, is not judged. A claim fails if one of
its asserted statements fails. Otherwise it is inconclusive if one of them is inconclusive, or if there is a control
that none of them rejects. Otherwise it holds corrected if one of them holds corrected. Otherwise it holds. A verdict
other than ``holds`` and ``holds corrected`` has a reason.
"""

import re
from typing import Any

from tasks.judging.rules import decided
from tasks.judging.statement import OLD_TABLE

VERDICTS = ("holds", "holds corrected", "fails", "inconclusive")
SUPPORTED = ("holds", "holds corrected")
NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.,]*(e[-+]?\d+)?")  # not that in a name such as NC1


def judge(findings: dict[str, dict[str, Any]], waiting: int = 0) -> dict[str, dict[str, Any]]:
    """The verdicts on the claims of a paper by key, after Holm's correction over its asserted statements.

    Every p-value of a printed or a corrected form counts as a test. So does each asserted statement that is not judged;
    those of claims without a finding are ``waiting``. P-values for and against the statements are two families,
    corrected separately. A control is judged like its statement, with the same correction. If it is then undecided, it
    is rejected if it differs from the claim.
    """
    forms = [
        form
        for finding in findings.values()
        for statement in finding.get("statements", ())
        if statement["kind"] == "asserted"
        for form in statement["forms"].values()
    ]
    others = waiting + sum(_unjudged(finding) if finding["ran"] else finding["tests"] for finding in findings.values())
    for name in ("p", "p_against"):
        correct(forms, name, others)
    for finding in findings.values():
        for statement in finding.get("statements", ()):
            for form in statement["forms"].values():
                for control in form["controls"].values():
                    outcome = decision(control)
                    control["undecided"] = outcome is None
                    control["rejected"] = bool(control["farther off"]) if outcome is None else not outcome
    return {key: _claim(finding) if finding["ran"] else _not_run(finding) for key, finding in findings.items()}


def _unjudged(finding: dict[str, Any]) -> int:
    """The number of asserted statements that have no form: their numbers are missing, or are not those of the paper."""
    return sum(statement["kind"] == "asserted" and not statement["forms"] for statement in finding["statements"])


def correct(forms: list[dict[str, Any]], name: str, others: int = 0) -> None:
    """Write Holm's step-down p-values into the forms, as ``NAME, Holm``.

    ``others`` is the number of further tests, whose p-values count as larger than all of these. The p-values of a
    form's controls are multiplied by the same number as its own. Without this correction 2.5 % of all controls would
    pass by chance, at a level at which their claim does not.
    """
    tested = sorted((form for form in forms if form[name] is not None), key=lambda form: form[name])
    adjusted = 0.0
    for rank, form in enumerate(tested):
        factor = len(tested) + others - rank
        adjusted = max(adjusted, min(1.0, factor * form[name]))
        form[f"{name}, Holm"] = adjusted
        for control in form["controls"].values():
            if control[name] is not None:
                control[f"{name}, Holm"] = min(1.0, factor * control[name])


def decision(form: dict[str, Any]) -> bool | None:
    """Whether a form is supported (True), refuted (False) or undecided (None), after Holm's correction."""
    p, p_against = (form.get(f"{name}, Holm", form[name]) for name in ("p", "p_against"))
    return decided(p, p_against, form["certain"])


def _claim(finding: dict[str, Any]) -> dict[str, Any]:
    statements = [_statement(statement, finding["hypotheses"]) for statement in finding["statements"]]
    all_asserted = [statement for statement in statements if statement["kind"] == "asserted"]
    asserted = [statement for statement in all_asserted if statement["forms"]]
    controls = _controls(asserted)
    rank = {"fails": 0, "inconclusive": 1, "holds corrected": 2, "holds": 3}
    deciding = min(asserted, key=lambda statement: rank[statement["verdict"]])
    verdict, reason = deciding["verdict"], deciding["reason"]
    kept_controls = [name for name, control in controls.items() if not control["rejected"]]
    if verdict in SUPPORTED and (kept_controls or not controls):
        verdict, reason = "inconclusive", "control kept"
    levels = [statement for statement in statements if statement["kind"] == "printed level" and statement["forms"]]
    as_printed = levels and all(statement["verdict"] in SUPPORTED for statement in levels)
    hidden = ("statements", "ran", "tests")
    return {
        **{name: value for name, value in finding.items() if name not in hidden},
        "verdict": verdict,
        "reason": reason,
        "supported": sum(statement["verdict"] in SUPPORTED for statement in asserted),
        "asserted": len(all_asserted),
        "deciding": deciding["name"],
        "evidence": "matches print" if as_printed and verdict in SUPPORTED else deciding["evidence"],
        "measured": "; ".join(measurements(asserted)),
        "statements": statements,
        "controls": controls,
    }


def measurements(statements: list[dict[str, Any]]) -> list[str]:
    """What was measured for statements; texts that differ in their numbers alone get the statements' names.

    Examples
    --------
    >>> measurements([{"name": "transposed", "measured": "error 1e-14"}, {"name": "powers", "measured": "error 2e-15"}])
    ['transposed: error 1e-14', 'powers: error 2e-15']
    """
    texts = dict.fromkeys(statement["measured"] for statement in statements if statement["measured"])
    shapes = [NUMBER.sub("", text) for text in texts]
    return list(dict.fromkeys(
        f"{statement['name']}: {text}" if shapes.count(NUMBER.sub("", text)) > 1 else text
        for statement in statements if (text := statement["measured"])
    ))  # fmt: skip


def _not_run(finding: dict[str, Any]) -> dict[str, Any]:
    """A claim of which nothing was judged: its data are not here, or its table is older than its statements."""
    return {
        **{name: value for name, value in finding.items() if name not in ("ran", "tests")},
        "statements": [_statement(statement, []) for statement in finding["statements"]],
        "verdict": "not run",
        "supported": 0,
        "asserted": finding["tests"],
    }


def _statement(statement: dict[str, Any], hypotheses: list[dict[str, Any]]) -> dict[str, Any]:
    """The verdict on a statement, the form that decides it, and why it is not found."""
    forms = statement["forms"]
    if not forms:
        # a rule that has read no rows has neither a text nor numbers
        return {**statement, "verdict": "not judged", "reason": statement["unjudged"], "rule": "", "numbers": {}}
    unmet = {form: unmet_conditions(hypotheses, statement, form) for form in forms}
    form = "claim"
    if "corrected" in forms and (unmet["claim"] or not _is_shown(forms["claim"], statement)):
        form = "corrected"
    deciding = forms[form]
    rejecting = [name for name, control in deciding["controls"].items() if control["rejected"]]
    supported = decision(deciding)
    if statement["lacks its corrected form"] and (unmet[form] or not _is_shown(deciding, statement)):
        verdict, reason = "inconclusive", OLD_TABLE  # the corrected form decides, and the table is older than it
    elif unmet[form]:
        first = unmet[form][0]  # a table that is older than the hypothesis lacks what it reads
        verdict, reason = "inconclusive", first["reason"] if first["forms"] else OLD_TABLE
    elif supported is False:
        verdict, reason = "fails", "print differs" if statement["kind"] == "printed level" else "refuted"
    elif supported is None:
        verdict, reason = "inconclusive", "seeds disagree" if deciding["certain"] is None else "too few seeds"
    elif not _is_shown(deciding, statement):
        verdict, reason = "inconclusive", "control kept"
    else:
        verdict, reason = ("holds corrected" if form == "corrected" else "holds"), ""
    names = ("statistic", "low", "high", "p", "rule", "measured", "evidence", "numbers")
    return {
        **statement,
        "verdict": verdict,
        "reason": reason,
        "form": "corrected" if form == "corrected" else "printed",
        **{name: deciding[name] for name in names},
        "rejecting controls": rejecting,
    }


def _is_shown(form: dict[str, Any], statement: dict[str, Any]) -> bool:
    """Whether a form is supported and, of an asserted statement, broken by a control."""
    needs_control = statement["kind"] == "asserted" and not statement["stands in"]
    broken = any(control["rejected"] for control in form["controls"].values())
    return decision(form) is True and (broken or not needs_control)


def unmet_conditions(hypotheses: list[dict[str, Any]], statement: dict[str, Any], form: str) -> list[dict[str, Any]]:
    """The hypotheses that a form of a statement needs and does not meet."""
    return [
        hypothesis
        for hypothesis in hypotheses
        if not hypothesis["statements"] or statement["name"] in hypothesis["statements"]
        if condition_in_form(hypothesis, form).get("holds") is not True
    ]


def condition_in_form(hypothesis: dict[str, Any], form: str) -> dict[str, Any]:
    """The finding on a hypothesis in a form, or in the printed form if it has none of its own; empty without either."""
    forms = hypothesis["forms"]
    return forms.get(form, forms.get("claim", {}))


def _controls(asserted: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By the name of a control: whether a statement rejects it in the form that decides, and which ones do."""
    controls: dict[str, dict[str, Any]] = {}
    for statement in asserted:
        deciding = statement["forms"]["corrected" if statement["form"] == "corrected" else "claim"]
        for name, control in deciding["controls"].items():
            entry = controls.setdefault(name, {"rejected": False, "by": []})
            if control["rejected"]:
                entry["rejected"] = True
                entry["by"].append(statement["name"])
    return controls
