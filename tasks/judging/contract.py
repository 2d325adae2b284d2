"""What a table must be before a rule reads it. A table that breaks the contract is refused, with the rows named."""

from typing import Any

import numpy as np
import pandas as pd

from tasks.judging.rows import Rows
from tasks.judging.statement import Statement
from tasks.judging.statistics import JudgeError

KEYS = ["arm", "quantity", "case", "layer", "dtype", "seed", "step", "x"]
CONTROL = "control: "
FORMS = ("claim", "corrected")


class ContractError(JudgeError):
    """A table that does not hold what a claim's statements need."""


def admit(rows: Rows, claim: Any, statements: list[Statement], experiment: str, scale: str, seeds: set[int]) -> None:
    """Refuse a table that cannot be judged.

    Parameters
    ----------
    rows
        The table.
    claim
        The claim's module.
    statements
        Those of its statements that are judged at this scale.
    experiment, scale
        The names that every row must carry.
    seeds
        The numbers of seeds that the experiment's settings allow; empty where a row's seed numbers drawn instances.

    Raises
    ------
    ContractError
        Naming the first rows at fault.
    """
    frame = rows.frame[rows.frame["quantity"].isin({name for each in statements for name in each.reads})]
    refuse = _Refusal(claim.ID, frame)
    refuse.where(frame["experiment"] != experiment, f"of another experiment than {experiment}")
    refuse.where(frame["scale"] != scale, f"of another scale than {scale}")
    refuse.where(~np.isfinite(frame["value"]) | ~np.isfinite(frame["x"]), "without a finite number")
    refuse.where(frame.duplicated(KEYS, keep=False), "with the same key as another row")
    if unknown := set(frame["arm"]) - set(FORMS) - {arm for arm in frame["arm"] if arm.startswith(CONTROL)}:
        raise ContractError(f"{claim.ID}: no arm {min(unknown)!r}; claim, corrected or 'control: ...'")
    arms = set(frame["arm"])
    if "claim" not in arms:
        raise ContractError(f"{claim.ID}: the table has no arm 'claim'")
    if not any(arm.startswith(CONTROL) for arm in arms):
        raise ContractError(f"{claim.ID}: the table has no control; a check that cannot fail shows nothing")
    for statement in statements:
        _complete(claim, statement, statement.concerned(rows).frame)
    if claim.KIND == "statistical" and seeds:
        _all_seeds(claim, frame, seeds)
    _no_copies(claim, frame)


class _Refusal:
    def __init__(self, name: str, frame: pd.DataFrame):
        self.name, self.frame = name, frame

    def where(self, at_fault: pd.Series, words: str) -> None:
        """Raise if a row is at fault, with the keys of the first ones."""
        if at_fault.any():
            keys = self.frame.loc[at_fault, KEYS].head(3).to_dict("records")
            raise ContractError(f"{self.name}: {int(at_fault.sum())} rows {words}: {_shown(keys)}")


def _shown(keys: list[dict]) -> str:
    return "; ".join(", ".join(f"{name} {value}" for name, value in key.items() if value != "") for key in keys)


def _complete(claim: Any, statement: Statement, frame: pd.DataFrame) -> None:
    """The arm ``claim`` and, where the table has it, the arm ``corrected`` have all that the statement reads."""
    for arm in statement.forms:
        in_arm = frame[frame["arm"] == arm]
        if arm == "corrected" and not in_arm["quantity"].isin(statement.reads).any():
            continue  # a statement without a corrected form
        for quantity in statement.reads:
            part = in_arm[in_arm["quantity"] == quantity]
            counts = {"rows": (len(part), statement.rows), "cases": (part["case"].nunique(), statement.cases)}
            for unit, (count, least) in counts.items():
                if count < least:
                    raise ContractError(
                        f"{claim.ID}, {statement.name}: {quantity!r} has {count} {unit} in the arm {arm}; "
                        f"the statement needs {least}"
                    )
            if claim.KIND != "statistical":
                _Refusal(f"{claim.ID}, {statement.name}", part).where(part["case"] == "", "without a case")


def _all_seeds(claim: Any, frame: pd.DataFrame, seeds: set[int]) -> None:
    """Every series has exactly the settings' seeds, with equally many rows of each."""
    for key, group in frame.groupby(["arm", "quantity", "case", "layer"]):
        counts = group["seed"].value_counts()
        if set(counts.index) not in [set(range(number)) for number in seeds]:
            wanted = " or ".join(str(number) for number in sorted(seeds))
            raise ContractError(f"{claim.ID}: {key} has the seeds {sorted(counts.index)}; the settings have {wanted}")
        if counts.nunique() > 1:
            raise ContractError(f"{claim.ID}: the seeds of {key} have {counts.min()} to {counts.max()} rows")


def _no_copies(claim: Any, frame: pd.DataFrame) -> None:
    """No two seeds of a form, and no control and the printed form, have the same numbers throughout."""
    arms = {arm: rows.sort_values(KEYS).set_index(KEYS[1:])["value"] for arm, rows in frame.groupby("arm")}
    for arm, values in arms.items():
        if arm.startswith(CONTROL) and values.equals(arms["claim"]):
            raise ContractError(f"{claim.ID}: the arm {arm!r} has the same numbers as the arm 'claim'")
        if claim.KIND != "statistical" or arm not in FORMS:
            continue
        by_seed: dict[bytes, int] = {}
        for seed, numbers in values.groupby(level="seed"):
            if numbers.nunique() == 1:
                continue  # a level that every seed reaches, such as an accuracy of 1
            content = numbers.to_numpy().tobytes()
            if content in by_seed:
                raise ContractError(f"{claim.ID}: seeds {by_seed[content]} and {seed} of the arm {arm!r} are equal")
            by_seed[content] = seed
