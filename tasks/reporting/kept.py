"""Parts of rules that hold for every control, and statements that need no control."""

from collections.abc import Iterator, Mapping
from typing import Any

from tasks.judging.verdict import SUPPORTED
from tasks.reporting.words import deciding_form, innermost_parts


def parts_kept_by_every_control(claims: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The parts of asserted statements that every control keeps, for each claim that holds.

    Parameters
    ----------
    claims : mapping
        The content of a claims.json.

    Returns
    -------
    dict
        By id "parts", how many parts have a control, and "kept", the names of those that no control breaks, each as
        "statement: part". A claim without such parts is left out.
    """
    by_claim = {}
    for name, claim in claims.items():
        if claim["verdict"] not in SUPPORTED:
            continue
        parts = dict(_parts(claim))
        if names := [part for part, is_kept in parts.items() if is_kept]:
            by_claim[name] = {"parts": len(parts), "kept": names}
    return by_claim


def number_of_parts(claims: Mapping[str, Mapping[str, Any]]) -> int:
    """How many parts of the asserted statements of claims that hold have a control."""
    return sum(len(dict(_parts(claim))) for claim in claims.values() if claim["verdict"] in SUPPORTED)


def statements_with_stand_in(claims: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The claims and names of the asserted statements that rest on what stands in for a control."""
    return [(name, statement["name"]) for name, claim in claims.items() for statement in claim["statements"]
            if statement["kind"] == "asserted" and statement["stands in"] and statement["forms"]]  # fmt: skip


def _parts(claim: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each part of an asserted statement's deciding form that a control has, and whether all such controls keep it."""
    for statement in claim["statements"]:
        if statement["kind"] != "asserted" or not statement["forms"]:
            continue
        form = deciding_form(statement)
        of_controls = [innermost_parts(control) for control in form["controls"].values()]
        for part in innermost_parts(form):
            held = [leaves[part]["holds"] is True for leaves in of_controls if part in leaves]
            if held:
                yield f"{statement['name']}{': ' * bool(part)}{part}", all(held)
