"""Which parts a whole table must have. A part is a case, a layer and a step at which a quantity is measured.

``tasks/judging/contract.py`` refuses tables that cannot be judged. A table that can be judged may still have lost a
part: the rule then sees fewer numbers, and the claim may hold without those that would refute it.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

from tasks.judging.contract import CONTROL, ContractError, controls_of
from tasks.judging.rows import Rows
from tasks.judging.statement import Control, Statement

PARTS = ("case", "layer", "step")


def refuse_incomplete(rows: Rows, claim: Any, scale: str) -> None:
    """Refuse a table that lacks a quantity, an arm or a part.

    At the quick scale the table is as old as the claim, so it has every quantity that a statement reads, and the arm
    ``corrected`` of a correction. At the papers' scale a committed table may be older, which the verdict says.
    In a statistical claim all arms have the parts of the claim's arm and no others; a control has them in the columns
    that ``Control.parts`` names. Every layer of a case has all steps of this case. Every case of a quantity has all
    of its layers, and all quantities that a statement reads have the same cases, unless the claim's ``UNEVEN`` says
    why not.

    Parameters
    ----------
    rows
        The table.
    claim
        The claim's module.
    scale
        ``quick`` or ``paper``.

    Raises
    ------
    ContractError
        Naming what the table lacks.
    """
    for lacking in incomplete(rows, claim, scale):
        raise ContractError(f"{claim.ID}: {lacking}")


def incomplete(rows: Rows, claim: Any, scale: str) -> Iterator[str]:
    """What the table lacks, in words; nothing if the table is whole."""
    statements = [statement for statement in claim.STATEMENTS if scale in statement.scales]
    frame = rows.frame[rows.frame["quantity"].isin({name for statement in statements for name in statement.reads})]
    if scale == "quick":
        yield from _quantities_and_forms(rows, claim, [each for each in statements if each.judgeable(rows)])
    if claim.KIND == "statistical":
        parts = frame[["arm", "quantity", *PARTS]].drop_duplicates()
        yield from _without_a_case(parts)
        if not getattr(claim, "UNEVEN", ""):
            yield from _holes(parts, (), ("case", "layer"))
        yield from _holes(parts, ("case",), ("layer", "step"))
        for statement in statements:
            yield from _other_cases(claim, statement, parts)
        yield from _unlike_the_claim(claim, parts)


def _quantities_and_forms(rows: Rows, claim: Any, statements: list[Statement]) -> Iterator[str]:
    """The quantities that the claim's arm lacks, and the arm ``corrected`` if a correction has none."""
    in_claim = set(rows.where(arm="claim").quantity.tolist())
    for statement in () if getattr(claim, "NEEDS", "") else statements:
        for quantity in statement.reads:
            if quantity not in in_claim:
                yield f"{quantity!r} has no rows in the arm 'claim', and {statement.name!r} reads it"
    corrected = [each for each in statements if "corrected" in each.forms and "quick" in each.corrected_at]
    if getattr(claim, "CORRECTION", "") and corrected and in_claim and "corrected" not in set(rows.arm.tolist()):
        yield f"the table has no arm 'corrected', and {corrected[0].name!r} has a corrected form"


def _without_a_case(parts: pd.DataFrame) -> Iterator[str]:
    """The quantities of which some rows have a case and others none."""
    for (arm, quantity), group in parts.groupby(["arm", "quantity"]):
        empty = group["case"] == ""
        if empty.any() and not empty.all():
            yield f"{quantity!r} has rows without a case in the arm {arm!r}, and others with one"


def _holes(parts: pd.DataFrame, fixed: tuple[str, ...], crossed: tuple[str, str]) -> Iterator[str]:
    """The combinations of two columns at which a quantity has no row, for each value of the fixed columns."""
    for (arm, quantity, *place), group in parts.groupby(["arm", "quantity", *fixed]):
        present = set(zip(group[crossed[0]], group[crossed[1]], strict=True))
        lacking = set(product(group[crossed[0]].unique(), group[crossed[1]].unique())) - present
        if lacking:
            part = (*place, *min(lacking))
            yield f"{quantity!r} has no rows at {_words((*fixed, *crossed), part)} in the arm {arm!r}"


def _other_cases(claim: Any, statement: Statement, parts: pd.DataFrame) -> Iterator[str]:
    """The cases that a quantity lacks in the claim's arm, and another one that the statement reads has."""
    in_claim = parts[(parts["arm"] == "claim") & parts["quantity"].isin(statement.reads)]
    cases = {quantity: set(group["case"]) for quantity, group in in_claim.groupby("quantity")}
    every = set().union(*cases.values())
    for quantity, present in () if getattr(claim, "UNEVEN", "") else cases.items():
        if lacking := every - present:
            yield (
                f"{quantity!r} has no rows at {_words(('case',), (min(lacking),))} in the arm 'claim', "
                f"and another quantity of {statement.name!r} has some"
            )


def _unlike_the_claim(claim: Any, parts: pd.DataFrame) -> Iterator[str]:
    """The parts that another arm lacks and the claim's arm has, and those that the claim's arm lacks."""
    described = controls_of(claim)
    in_claim = dict(list(parts[parts["arm"] == "claim"].groupby("quantity")))
    for (arm, quantity), group in parts[parts["arm"] != "claim"].groupby(["arm", "quantity"]):
        control = described.get(arm.removeprefix(CONTROL), Control())
        if quantity not in in_claim or quantity not in (control.has or in_claim):
            continue
        columns = control.parts
        ours, its = (
            {*frame[list(columns)].itertuples(index=False, name=None)} for frame in (in_claim[quantity], group)
        )
        for arm_at_fault, other, lacking in ((arm, "claim", ours - its), ("claim", arm, its - ours)):
            if lacking:
                yield (
                    f"{quantity!r} has no rows at {_words(columns, min(lacking))} in the arm {arm_at_fault!r}, "
                    f"and the arm {other!r} has some"
                )


def _words(columns: tuple[str, ...], part: tuple) -> str:
    """A part in words, without the columns that are empty."""
    words = [f"{name} {value}" for name, value in zip(columns, part, strict=True) if value != ""]
    return ", ".join(words) or "the table's only case and layer"
