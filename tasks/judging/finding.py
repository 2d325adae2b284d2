"""From the rows of a table to the findings on a claim: what each statement's rule finds in every arm.

A claim's module (``tasks/papers/PAPER/claims/KEY.py``) has a docstring, which says the claim in our words, and
``draw(rows, claim)``, which draws its figure. It has these constants; ID, KIND, TITLE, PRINTED and STATEMENTS are
required:

ID, KIND, TITLE
    KIND is ``statistical``, ``exact`` or ``bound``.
PRINTED
    The print in short, with its place.
STATEMENTS, HYPOTHESES
    What the paper states, and under which conditions.
CORRECTION, CORRECTS
    The form that we derive, in words; which of CORRECTED_KINDS it is.
CONTROLS, CORRECTED
    How the table of a control, by its name, and of the arm ``corrected`` differs from that of the arm ``claim``.
RETIRED
    The controls that the claim has no more, by their names, with the reason. A table of the paper scale that is older
    may have them; nothing reads them.
DRAWN, DRAWN_NAMES
    The quantities and kinds of cases with another number of instances than the settings say; a regular expression of
    cases whose names are drawn.
with_all_forms
    A function that makes the arms of both forms of the table's rows, if they are parts of the same runs.
GRIDS
    The precisions, layers, steps and values of x at which each quantity of an identity or a bound is measured.
UNEVEN
    Why some cases lack layers.
EQUAL_SEEDS
    The quantities that two seeds may share, with the reason.
NEEDS
    What the claim needs and is not at hand: a download, a larger machine.
SETTINGS, DATA_SETS
    The names of the settings that the report shows; those of the training run's data sets that the claim concerns.

A rule sees the rows of one arm at a time: ``claim`` as printed, ``corrected`` where the print is wrong, and each
``control: ...``, where the hypothesis is broken on purpose. The control "X, corrected" tests the corrected form; if it
exists, "X" tests the printed form alone. Any other control tests both.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tasks.judging.contract import CONTROL, FORMS, admit, controls_of
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import OLD_TABLE, Control, Hypothesis, Statement
from tasks.judging.statistics import welch

OF_CORRECTED = ", corrected"
CORRECTED_KINDS = {  # what a CORRECTION corrects
    "a formula": "A printed formula, condition or conclusion is wrong.",
    "a detail": "Only a strict inequality, a convention on 0, or one of two differing definitions is wrong.",
    "a setting": "The corrected form has another setting of the networks or of the data than the printed one.",
    "a measure": "The corrected form has a quantity that is computed in another way.",
    "our statement": "The paper's own statements are judged as printed. A statement of ours has a corrected form.",
}


def find(
    claim: Any, letter: str, rows: Rows, experiment: str, scale: str, seeds: set[int], reduced: bool = False
) -> dict[str, Any]:
    """What the rules of the claim's statements and hypotheses find; ``ran`` is False where none can be judged.

    ``reduced`` says whether ``affordable`` in params.yaml changes the paper's training.
    """
    applicable = [statement for statement in claim.STATEMENTS if statement.concerns(scale)]
    at_scale = [statement for statement in applicable if statement.judged_at(scale, reduced)]
    statements = [statement for statement in at_scale if statement.judgeable(rows)]
    hypotheses: tuple[Hypothesis, ...] = getattr(claim, "HYPOTHESES", ())
    asserted = [statement for statement in claim.STATEMENTS if statement.kind == "asserted"]
    needs = getattr(claim, "NEEDS", "")
    reasons = {statement.name: statement.why_not_judged(rows, scale, needs, reduced) for statement in applicable}
    judged = [statement for statement in statements if statement.kind == "asserted"]
    if not any(len(statement.rows_read(rows).where(arm="claim")) for statement in judged):
        return not_run(claim, letter, reasons)
    admit(rows, claim, statements, experiment, scale, seeds)
    unjudged = [statement for statement in applicable if statement not in statements]
    return {
        **_description(claim, letter),
        "ran": True,
        "statements": [
            _statement(statement, rows, controls_of(claim), _needs_corrected_form(claim, statement, scale))
            for statement in statements
        ]
        + [_unjudged(statement, reasons[statement.name]) for statement in unjudged],
        "hypotheses": [_hypothesis(hypothesis, rows) for hypothesis in hypotheses],
        "smallest violations": smallest_violations(rows, asserted[0].reads[0].split("/")[0]),
    }


def not_run(claim: Any, letter: str, reasons: dict[str, str]) -> dict[str, Any]:
    """The finding on a claim of which nothing can be judged, with the reasons of the scale's statements by name."""
    listed = [statement for statement in claim.STATEMENTS if statement.name in reasons]
    asserted = [reasons[statement.name] for statement in listed if statement.kind == "asserted"]
    return {
        **_description(claim, letter),
        "ran": False,
        "reason": OLD_TABLE if OLD_TABLE in asserted else asserted[0],
        "statements": [_unjudged(statement, reasons[statement.name]) for statement in listed],
        "hypotheses": [],
    }


def number_asserted(claim: Any) -> int:
    """The number of a claim's asserted statements, each of which is a test."""
    return sum(statement.kind == "asserted" for statement in claim.STATEMENTS)


def _description(claim: Any, letter: str) -> dict[str, Any]:
    return {
        "id": claim.ID,
        "paper": letter,
        "kind": claim.KIND,
        "title": claim.TITLE,
        "statement": " ".join((claim.__doc__ or "").split()),
        "printed": claim.PRINTED,
        "correction": getattr(claim, "CORRECTION", ""),
        "corrects": getattr(claim, "CORRECTS", ""),
        "tests": number_asserted(claim),
        "control texts": {name: control.text for name, control in controls_of(claim).items() if control.text},
        "data sets": list(getattr(claim, "DATA_SETS", ())),
        "settings": getattr(claim, "SETTINGS", None),
    }


def _needs_corrected_form(claim: Any, statement: Statement, scale: str) -> bool:
    """Whether a statement's corrected form has to be measured at this scale."""
    return bool(getattr(claim, "CORRECTION", "")) and "corrected" in statement.forms and scale in statement.corrected_at


def _unjudged(statement: Statement, reason: str) -> dict[str, Any]:
    return {**_words(statement), "forms": {}, "unjudged": reason}


def _words(statement: Statement) -> dict[str, Any]:
    names = ("name", "quote", "place", "kind", "printed", "derived", "stands_in")
    return {name.replace("_", " "): getattr(statement, name) for name in names}


def _statement(statement: Statement, rows: Rows, controls: dict[str, Control], needs_corrected: bool) -> dict[str, Any]:
    """What the rule finds in the printed and in the corrected form, and in the controls of each."""
    arms = by_arm(statement, rows, controls)
    forms = {}
    for form in statement.forms:
        if form not in arms:
            continue
        form_controls = {arm: finding for arm, finding in arms.items() if _is_control_of(arm, form, arms)}
        forms[form] = {
            **summary(arms[form]),
            "controls": {
                arm.removeprefix(CONTROL): {
                    "farther off": farther_off(control, arms[form]),
                    "kept": held_parts(control),
                    **summary(control),
                }
                for arm, control in form_controls.items()
            },
        }
    lacks_corrected = needs_corrected and "corrected" not in forms
    return {**_words(statement), "forms": forms, "lacks its corrected form": lacks_corrected}


def by_arm(statement: Statement, rows: Rows, controls: dict[str, Control]) -> dict[str, Finding]:
    """The findings in every arm that has each quantity that the statement reads.

    A control that shares with a form all that the statement reads breaks nothing that the statement is about, and is
    left out: it would be rejected or kept as the form itself is.
    """
    rows, reads = statement.rows_read(rows), set(statement.reads)
    findings = {}
    for (arm,), in_arm in rows.by("arm").items():
        control = controls.get(arm.removeprefix(CONTROL)) if arm.startswith(CONTROL) else None
        if set(in_arm.quantity.tolist()) >= reads and (control is None or control.tests(statement)):
            findings[arm] = statement.rule(in_arm)
    return findings


def _is_control_of(arm: str, form: str, arms: dict[str, Finding]) -> bool:
    """Whether an arm is a control of this form."""
    if not arm.startswith(CONTROL):
        return False
    if arm.endswith(OF_CORRECTED):
        return form == "corrected"
    return form == "claim" or arm + OF_CORRECTED not in arms


def _hypothesis(hypothesis: Hypothesis, rows: Rows) -> dict[str, Any]:
    """What a hypothesis's rule finds in each form that has its quantities; another form is judged by the print's."""
    rows = hypothesis.rows_read(rows)
    by_form = {form: rows.where(arm=form) for form in FORMS}
    findings = {form: summary(hypothesis.rule(in_form)) for form, in_form in by_form.items() if len(in_form)}
    return {
        "name": hypothesis.name,
        "text": hypothesis.text,
        "reason": hypothesis.reason,
        "statements": list(hypothesis.statements),
        "forms": findings,
    }


def smallest_violations(rows: Rows, name: str) -> dict[str, str]:
    """By arm, the smallest instance that violates the rule, or how many instances the search tried in vain."""
    texts = {}
    for (arm,), result in rows.where(quantity={f"{name}/smallest", f"{name}/searched"}).by("arm").items():
        instance, value = result.case[0], f"{float(result.value[0]):.6g}"
        texts[arm] = instance or f"none among {value} instances"
        if instance and value != "1":
            texts[arm] += f": {value} times what the rule allows"
    return texts


def farther_off(control: Finding, claim: Finding) -> list[str]:
    """The parts in which a control that the rule cannot decide differs from the claim; "" is a rule without parts.

    Of the parts that are not supported, one has to differ significantly from the claim's and to lie farther from the
    target. All these tests together err in 5 % of the cases at most (Welch, Bonferroni). Without them a few noisy seeds
    would be enough to reject a control. If all parts are supported before Holm's correction, it is the part with the
    largest p-value: this part is undecided where the control is.
    """
    compared = dict(_compared(control, claim))
    return [name for name, pair in compared.items() if _differs(*pair, 1 - 0.05 / len(compared))]


def _compared(control: Finding, claim: Finding, name: str = "") -> Iterator[tuple[str, tuple[Finding, Finding]]]:
    """The parts that may differ, by their names joined with a comma: the control's and the claim's."""
    shared = {inner: part for inner, part in control.parts.items() if inner in claim.parts}
    tested = {inner: part for inner, part in shared.items() if part.p is not None}  # Holm may leave these alone open
    if not (control.parts and claim.parts):
        yield name, (control, claim)
    elif tested and all(part.holds for part in shared.values()):
        weakest = max(tested, key=lambda inner: tested[inner].p or 0.0)
        shared = {weakest: shared[weakest]}
    else:
        shared = {inner: part for inner, part in shared.items() if not part.holds}
    for inner, part in shared.items():
        yield from _compared(part, claim.parts[inner], f"{name}, {inner}" if name else inner)


def _differs(control: Finding, claim: Finding, level: float) -> bool:
    """Whether a control without parts lies farther from the target than the claim, by Welch's interval at a level."""
    if not (control.sample and claim.sample):
        return False
    samples = np.array(control.sample), np.array(claim.sample)
    control_distance, claim_distance = (_distance(sample, claim.target) for sample in samples)
    _, low, high = welch(*samples, level)
    return bool(control_distance > claim_distance) and (low > 0 or high < 0)  # no interval of a single seed is either


def _distance(sample: np.ndarray, target: float) -> float:
    """The distance of the mean from the target; minus the mean if the target is infinite: the larger the better."""
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


def summary(finding: Finding) -> dict[str, Any]:
    """A finding without its sample; its parts the same."""
    hidden = ("parts", "sample", "target")
    content = {name: value for name, value in vars(finding).items() if name not in hidden}
    return {**content, "parts": {name: summary(part) for name, part in finding.parts.items()}}
