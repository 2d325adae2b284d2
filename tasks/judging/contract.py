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
FEW = 3  # so many numbers of two seeds may agree by chance, for example accuracies on few samples


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
    judged, with_hypotheses = (
        rows.frame[rows.frame["quantity"].isin({name for each in readers for name in each.reads})]
        for readers in (statements, (*statements, *getattr(claim, "HYPOTHESES", ())))
    )
    refuse = _Refusal(claim.ID, with_hypotheses)
    refuse.where(with_hypotheses["experiment"] != experiment, f"of another experiment than {experiment}")
    refuse.where(with_hypotheses["scale"] != scale, f"of another scale than {scale}")
    not_finite = ~np.isfinite(with_hypotheses["value"]) | ~np.isfinite(with_hypotheses["x"])
    refuse.where(not_finite, "without a finite number")
    refuse.where(with_hypotheses.duplicated(KEYS, keep=False), "with the same key as another row")
    if unknown := set(judged["arm"]) - set(FORMS) - {arm for arm in judged["arm"] if arm.startswith(CONTROL)}:
        raise ContractError(f"{claim.ID}: no arm {min(unknown)!r}; claim, corrected or 'control: ...'")
    arms = set(judged["arm"])
    if "claim" not in arms:
        raise ContractError(f"{claim.ID}: the table has no arm 'claim'")
    if not any(arm.startswith(CONTROL) for arm in arms):
        raise ContractError(f"{claim.ID}: the table has no control; a check that cannot fail shows nothing")
    for statement in statements:
        _complete(claim, statement, statement.concerned(rows).frame)
    if claim.KIND == "statistical" and seeds:
        _all_seeds(claim, judged, seeds)
    _no_copies(claim, judged)


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
    """No two seeds of a form have the same numbers, in all or in one quantity, and no control has those of a form."""
    arms = {arm: rows.sort_values(KEYS).set_index(KEYS[1:])["value"] for arm, rows in frame.groupby("arm")}
    for arm, values in arms.items():
        if arm.startswith(CONTROL):
            for form in FORMS:
                if form in arms and _copied(values, arms[form], trained=claim.KIND == "statistical"):
                    raise ContractError(f"{claim.ID}: the arm {arm!r} has the same numbers as the arm {form!r}")
        elif claim.KIND == "statistical":
            _no_equal_seeds(claim, f"the arm {arm!r}", values, few=1)  # one: a level that every seed reaches
            for quantity, series in values.groupby(level="quantity"):
                _no_equal_seeds(claim, f"{quantity!r} in the arm {arm!r}", series, few=FEW)


def _copied(control: pd.Series, form: pd.Series, trained: bool) -> bool:
    """Whether a control has a form's numbers under all of its keys; before training, a form's first step, it may."""
    steps, first = control.index.unique("step"), form.index.get_level_values("step").min()
    untrained = trained and len(steps) == 1 and steps[0] == first < form.index.get_level_values("step").max()
    return not untrained and control.equals(form.reindex(control.index))


def _no_equal_seeds(claim: Any, where: str, values: pd.Series, few: int) -> None:
    """Refuse two seeds with equal series of more than ``few`` different numbers."""
    by_seed: dict[bytes, int] = {}
    for seed, numbers in values.groupby(level="seed"):
        if numbers.nunique() <= few:
            continue
        content = numbers.to_numpy().tobytes()
        if content in by_seed:
            raise ContractError(f"{claim.ID}: seeds {by_seed[content]} and {seed} of {where} are equal")
        by_seed[content] = seed
