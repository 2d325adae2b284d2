"""Which parts a whole table must have. A part is a case, a layer and a step at which a quantity is measured.

``tasks/judging/contract.py`` refuses tables that cannot be judged, and counts seeds and instances. This module
compares the arms, cases, layers and quantities of a table with each other. If a part is lost, the rule sees fewer
numbers, and a claim may hold because the numbers that refute it are missing.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pandas as pd

from tasks.judging.contract import CONTROL, ContractError, controls_of, instances
from tasks.judging.rows import FOUND, Rows
from tasks.judging.statement import Control, Grid, Statement

PARTS = ("case", "layer", "step")
DRAWS = ("seed", "dtype")  # parts of identities and bounds too; of statistical claims the contract counts the seeds


def refuse_incomplete(rows: Rows, claim: Any, scale: str) -> None:
    """Refuse a table that lacks a quantity, an arm or a part.

    At the quick scale a table has every quantity that a statement reads and, of a claim with a CORRECTION, the arm
    ``corrected``. At the paper scale a committed table may be older than the claim, which the verdict says.

    Every arm has the parts of the arm ``claim`` and no others. ``Control`` describes controls with other parts, and
    CORRECTED of the claim's module describes an arm ``corrected`` with other parts.

    In a statistical claim every layer of a case has all steps of this case. Every case of a quantity has all of its
    layers, and all quantities that a statement reads have the same cases, unless the claim's UNEVEN says why not.

    In the other claims a quantity has the precisions, layers, training steps and values of x of its ``Grid``.

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
    statements = [statement for statement in claim.STATEMENTS if statement.judged_at(scale, reduced=False)]
    frame = rows.frame[rows.frame["quantity"].isin({name for statement in statements for name in statement.reads})]
    if scale == "quick":
        yield from _quantities_and_forms(
            rows, claim, [statement for statement in statements if statement.judgeable(rows)]
        )
    parts = instances(claim, frame)[["arm", "quantity", "kind", *PARTS, *DRAWS]].drop_duplicates()
    if claim.KIND == "statistical":
        yield from _without_a_case(parts)
        if not getattr(claim, "UNEVEN", ""):
            yield from _holes(parts, (), ("case", "layer"))
        yield from _holes(parts, ("case",), ("layer", "step"))
        for statement in statements:
            yield from _other_cases(claim, statement, parts)
    yield from _unlike_the_claim(claim, parts)
    if claim.KIND != "statistical":
        for (arm, quantity), group in frame[frame["case"] != FOUND].groupby(["arm", "quantity"]):
            yield from _off_the_grid(claim, arm, quantity, group)


def _quantities_and_forms(rows: Rows, claim: Any, statements: list[Statement]) -> Iterator[str]:
    """The quantities that the claim's arm lacks, and the arm ``corrected`` if a correction has none."""
    in_claim = set(rows.where(arm="claim").quantity.tolist())
    for statement in () if getattr(claim, "NEEDS", "") else statements:
        for quantity in statement.reads:
            if quantity not in in_claim:
                yield f"{quantity!r} has no rows in the arm 'claim', and {statement.name!r} reads it"
    corrected = [
        statement.name
        for statement in statements
        if "corrected" in statement.forms and "quick" in statement.corrected_at
    ]
    if getattr(claim, "CORRECTION", "") and corrected and in_claim and "corrected" not in set(rows.arm.tolist()):
        yield f"the table has no arm 'corrected', and {corrected[0]!r} has a corrected form"


def _without_a_case(parts: pd.DataFrame) -> Iterator[str]:
    """The quantities of which some rows have a case and others none."""
    for (arm, quantity), group in parts.groupby(["arm", "quantity"]):
        empty = group["case"] == ""
        if empty.any() and not empty.all():
            yield f"{quantity!r} has rows without a case in the arm {arm!r}, and others with one"


def _holes(parts: pd.DataFrame, fixed: tuple[str, ...], crossed: tuple[str, str]) -> Iterator[str]:
    """The combinations of two columns at which a quantity has no row, for each value of the fixed columns."""
    for (arm, quantity, *place), group in parts.groupby(["arm", "quantity", *fixed]):
        present = _tuples(group, list(crossed))
        lacking = set(product(group[crossed[0]].unique(), group[crossed[1]].unique())) - present
        if lacking:
            part = (*place, *min(lacking))
            yield f"{quantity!r} has no rows at {_words((*fixed, *crossed), part)} in the arm {arm!r}"


def _off_the_grid(claim: Any, arm: str, quantity: str, rows: pd.DataFrame) -> Iterator[str]:
    """The precisions, layers, steps and values of x that a quantity of an identity or a bound lacks in an arm.

    The other arms have the layers and steps of the arm ``claim``, which ``_unlike_the_claim`` compares.
    """
    described = controls_of(claim).get(arm.removeprefix(CONTROL), Control()).grids
    grid = described.get(quantity, getattr(claim, "GRIDS", {}).get(quantity, Grid()))
    place = ["case", "layer", "step", "seed"]
    for values, present in sorted(_values_at(rows, place, "dtype").items()):
        if lacking := set(grid.dtypes) - present:
            where = _words((*place, "dtype"), (*values, min(lacking)))
            yield f"{quantity!r} has no rows at {where} in the arm {arm!r}; the settings have it"
            break
    if arm == "claim" or quantity in described:
        yield from _lacking(grid.layers, rows["layer"], "layer", quantity, arm)
        yield from _lacking(grid.steps, rows["step"], "step", quantity, arm)
        yield from _instances_lack(grid.layers_of or grid.layers, rows, "layer", "step")
        yield from _instances_lack(grid.steps_of or grid.steps, rows, "step", "layer")
    if not isinstance(grid.x, int):
        yield from _lacking(grid.x, rows["x"], "x", quantity, arm)
    elif (most := int(rows.groupby(["case", "layer", "dtype", "seed", "step"]).size().max())) != grid.x:
        yield f"{quantity!r} has {most} values of x at an instance in the arm {arm!r}; the settings have {grid.x}"


def _lacking(promised: tuple[Any, ...] | int, column: pd.Series, name: str, quantity: str, arm: str) -> Iterator[str]:
    """The promised values that a column lacks, or how many it has where their number is promised."""
    if isinstance(promised, int):
        if (number := column.nunique()) != promised:
            yield f"{quantity!r} has {number} values of {name} in the arm {arm!r}; the settings have {promised}"
    elif lacking := [value for value in promised if value not in set(column)]:
        values = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in lacking[:3])
        yield (
            f"{quantity!r} has no rows at {name} {values} in the arm {arm!r}; the settings have {len(promised)} values "
            f"of {name}"
        )


def _instances_lack(promised: Any, rows: pd.DataFrame, name: str, beside: str) -> Iterator[str]:
    """The first instance that lacks a promised value of a column, in words.

    What is promised may be the values, their number, or a function of the case and the seed that gives the values.
    """
    if not promised:
        return
    arm, quantity = rows[["arm", "quantity"]].iloc[0]
    places = ["case", "seed", beside]
    for place, values in sorted(_values_at(rows, places, name).items()):
        where = f"at {_words(places, place)} in the arm {arm!r}"
        if isinstance(promised, int):
            if len(values) != promised:
                yield f"{quantity!r} has {len(values)} values of {name} {where}; the settings have {promised}"
                return
        elif lacking := [v for v in (promised(*place[:2]) if callable(promised) else promised) if v not in values]:
            yield f"{quantity!r} has no rows of the {name} {lacking[0]} {where}; the settings have them"
            return


def _tuples(rows: pd.DataFrame, columns: list[str]) -> set[tuple[Any, ...]]:
    """The different combinations of the values of the columns."""
    return set(rows[columns].drop_duplicates().itertuples(index=False, name=None))


def _values_at(rows: pd.DataFrame, places: Sequence[str], name: str) -> dict[tuple[Any, ...], set[Any]]:
    """The values that a column has at each combination of the values of ``places``."""
    present: dict[tuple[Any, ...], set[Any]] = {}
    for *place, value in _tuples(rows, [*places, name]):
        present.setdefault(tuple(place), set()).add(value)
    return present


def _other_cases(claim: Any, statement: Statement, parts: pd.DataFrame) -> Iterator[str]:
    """The cases that a quantity lacks in the claim's arm, though another quantity of the statement has them."""
    in_claim = parts[(parts["arm"] == "claim") & parts["quantity"].isin(statement.reads)]
    cases = {quantity: set(group["case"].unique()) for quantity, group in in_claim.groupby("quantity")}
    every = set().union(*cases.values())
    for quantity, present in () if getattr(claim, "UNEVEN", "") else cases.items():
        if lacking := every - present:
            yield (
                f"{quantity!r} has no rows at {_words(('case',), (min(lacking),))} in the arm 'claim', "
                f"and another quantity of {statement.name!r} has some"
            )


def _unlike_the_claim(claim: Any, parts: pd.DataFrame) -> Iterator[str]:
    """The differences between the parts of each other arm and those of the claim's arm, for each quantity."""
    in_claim = dict(list(parts[parts["arm"] == "claim"].groupby("quantity")))
    for (arm, quantity), in_arm in parts[parts["arm"] != "claim"].groupby(["arm", "quantity"]):
        described = controls_of(claim).get(arm.removeprefix(CONTROL), Control())
        control = getattr(claim, "CORRECTED", Control()) if arm == "corrected" else described
        if quantity in in_claim and quantity in (control.has or in_claim):
            yield from _other_kinds(control, in_arm)
            yield from _other_parts(claim, control, in_claim[quantity], in_arm)


def _other_kinds(control: Control, in_arm: pd.DataFrame) -> Iterator[str]:
    """The kinds of cases that an arm lacks against the claim's description of it, and those that it should not have."""
    arm, quantity = in_arm[["arm", "quantity"]].iloc[0]
    present, described = set(in_arm["kind"].unique()), set(control.cases_of(quantity))
    unexpected = present - described if described else present & set(control.lacks)
    for kinds, has, said in ((described - present, "no rows", "some"), (unexpected, "rows", "none")):
        for kind in sorted(kinds):
            yield f"{quantity!r} has {has} of the case {kind!r} in the arm {arm!r}; the claim says that it has {said}"


def _other_parts(claim: Any, control: Control, in_claim: pd.DataFrame, in_arm: pd.DataFrame) -> Iterator[str]:
    """The parts that an arm lacks and the claim's arm has, and the reverse.

    Cases are compared only if their kind belongs to both arms by the claim's description.
    """
    arm, quantity = in_arm[["arm", "quantity"]].iloc[0]
    columns = list(control.parts)
    if "case" in columns:
        columns += DRAWS if claim.KIND != "statistical" else ()
        described = control.cases_of(quantity) or tuple(in_claim["kind"].unique())
        in_claim = in_claim[in_claim["kind"].isin(described) & ~in_claim["kind"].isin(control.lacks)]
        in_arm = in_arm[in_arm["kind"].isin(in_claim["kind"].unique()) | ~in_arm["kind"].isin(described)]
    if control.ignored_in_layers:
        in_claim, in_arm = (
            rows.assign(layer=rows["layer"].str.replace(control.ignored_in_layers, "", regex=True))
            for rows in (in_claim, in_arm)
        )
    ours, its = (_tuples(rows, columns) for rows in (in_claim, in_arm))
    for arm_at_fault, other, lacking in ((arm, "claim", ours - its), ("claim", arm, its - ours)):
        if lacking and (control.least_share == 1 or arm_at_fault == "claim"):
            yield (
                f"{quantity!r} has no rows at {_words(columns, min(lacking))} in the arm {arm_at_fault!r}, "
                f"and the arm {other!r} has some"
            )
    cases, those_left = (len(rows[["case", "seed"]].drop_duplicates()) for rows in (in_claim, in_arm))
    if those_left < control.least_share * cases and control.least_share < 1:
        yield (
            f"{quantity!r} has {those_left} of the claim's {cases} cases in the arm {arm!r}; the claim says that it "
            f"has at least {control.least_share:.0%} of them"
        )


def _words(columns: Sequence[str], part: tuple) -> str:
    """A part in words, without the columns that are empty."""
    words = [f"{name} {value}" for name, value in zip(columns, part, strict=True) if value != ""]
    return ", ".join(words) or "the table's only case and layer"
