"""The contract of a table with the rules that read it. A table that breaks it is refused, and the error names rows."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from tasks.judging.ranges import rows_out_of_range
from tasks.judging.rows import FOUND, Rows, kind_and_instance
from tasks.judging.statement import Control, Drawn, Grid, Statement
from tasks.judging.statistics import JudgeError, round_off

KEYS = ["arm", "quantity", "case", "layer", "dtype", "seed", "step", "x"]
SERIES = KEYS[:4]  # of a statistical claim
CONTROL = "control: "
FORMS = ("claim", "corrected")
FEW = 3  # two seeds may agree in this many different values by chance, for example in accuracies on few samples
SAMPLES = 100_000  # accuracies are measured on fewer samples


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
        The numbers of seeds or instances that the experiment's settings allow; empty if the settings name none.

    Raises
    ------
    ContractError
        Naming the first rows at fault.
    """
    judged, with_hypotheses = (
        rows.frame[rows.frame["quantity"].isin({name for statement in readers for name in statement.reads})]
        for readers in (statements, (*statements, *getattr(claim, "HYPOTHESES", ())))
    )
    refuse = _Refusal(claim.ID, with_hypotheses)
    refuse.if_any(with_hypotheses["experiment"] != experiment, f"of another experiment than {experiment}")
    refuse.if_any(with_hypotheses["scale"] != scale, f"of another scale than {scale}")
    not_finite = ~np.isfinite(with_hypotheses["value"]) | ~np.isfinite(with_hypotheses["x"])
    refuse.if_any(not_finite, "without a finite number")
    refuse.if_any(with_hypotheses.duplicated(KEYS, keep=False), "with the same key as another row")
    all_rows = _Refusal(claim.ID, rows.frame)  # figures show rows that no rule reads
    for limits, at_fault in rows_out_of_range(rows.frame).items():
        all_rows.if_any(at_fault, f"with a value outside of its quantity's range, {limits}", "value")
    arms = set(judged["arm"].unique())  # a set of a whole column takes seconds: it makes a string of each cell
    if unknown := arms - set(FORMS) - {arm for arm in arms if arm.startswith(CONTROL)}:
        raise ContractError(
            f"{claim.ID}: unknown arm {min(unknown)!r}; an arm is called claim, corrected or {CONTROL + 'NAME'!r}"
        )
    if "claim" not in arms:
        raise ContractError(f"{claim.ID}: the table has no arm 'claim'")
    if not any(arm.startswith(CONTROL) for arm in arms):
        raise ContractError(f"{claim.ID}: the table has no control; a check that cannot fail shows nothing")
    for statement in statements:
        frame = statement.rows_read(rows).frame
        _complete(claim, statement, frame, _needed_forms(claim, statement, judged, scale))
        _all_kinds(claim, statement, frame, scale)
    _complete_controls(claim, statements, judged, scale)
    if seeds:
        (_all_seeds if claim.KIND == "statistical" else _all_instances)(claim, with_hypotheses, seeds)
    if seeds and claim.KIND == "statistical":
        _equal_seeds(claim, judged)
    _no_copies(claim, judged)


class _Refusal:
    def __init__(self, name: str, frame: pd.DataFrame):
        self.name, self.frame = name, frame

    def if_any(self, at_fault: pd.Series, words: str, *more: str) -> None:
        """Raise if a row is at fault, with the keys of the first ones, and more of their columns."""
        if at_fault.any():
            keys = self.frame.loc[at_fault, [*KEYS, *more]].head(3).to_dict("records")
            count = int(at_fault.sum())
            raise ContractError(f"{self.name}: {count} row{'s' * (count > 1)} {words}: {_shown(keys)}")


def _shown(keys: list[dict]) -> str:
    return "; ".join(", ".join(f"{name} {value}" for name, value in key.items() if value != "") for key in keys)


def _needed_forms(claim: Any, statement: Statement, frame: pd.DataFrame, scale: str) -> tuple[str, ...]:
    """The forms that must have all quantities of a statement.

    If a table has an arm ``corrected``, every statement with a corrected form needs it there. A statement that lost its
    corrected form would be judged on the print, and nobody would notice. A table without this arm is older than the
    correction; the verdict says so (``tasks/judging/verdict.py``).
    """
    in_corrected = set(frame.loc[frame["arm"] == "corrected", "quantity"].unique())
    needed = bool(getattr(claim, "CORRECTION", "")) and scale in statement.corrected_at and bool(in_corrected)
    return statement.forms if needed or in_corrected & set(statement.reads) else ("claim",)


def _complete(claim: Any, statement: Statement, frame: pd.DataFrame, forms: tuple[str, ...]) -> None:
    """Refuse a table in which one of these arms lacks rows that the statement reads."""
    for arm in forms:
        in_arm = frame[frame["arm"] == arm]
        for quantity in statement.reads:
            part = in_arm[in_arm["quantity"] == quantity]
            if len(part) < statement.rows:
                raise ContractError(
                    f"{claim.ID}, {statement.name}: {quantity!r} has {len(part)} rows in the arm {arm}; "
                    f"the statement needs {statement.rows}"
                )
            if claim.KIND != "statistical":
                _Refusal(f"{claim.ID}, {statement.name}", part).if_any(part["case"] == "", "without a case")


def _all_kinds(claim: Any, statement: Statement, frame: pd.DataFrame, scale: str) -> None:
    """Refuse a table whose arm ``claim`` has fewer kinds of cases than the statement needs.

    The other arms have the cases of this arm (``tasks/judging/parts.py``).
    """
    drawn = instances(claim, frame[frame["arm"] == "claim"])
    for quantity in statement.reads:
        present, least = set(drawn.loc[drawn["quantity"] == quantity, "kind"]), statement.least_cases(scale)
        if len(present) < least:
            raise ContractError(
                f"{claim.ID}, {statement.name}: {quantity!r} has {len(present)} kinds of cases in the arm claim; "
                f"the statement needs {least}. The table has: {', '.join(map(repr, sorted(present)))}"
            )


def instances(claim: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the kind of their case and the number of their instance, as columns ``kind`` and ``instance``.

    In a statistical claim each case is a kind, and its instances are the seeds. In the other claims the number of an
    instance stands in the name of the case, or is the seed. The smallest violation that a search found
    is left out: an arm without a violation has no such case.
    """
    if claim.KIND == "statistical":
        return frame.assign(kind=frame["case"], instance=frame["seed"])
    frame = frame[frame["case"] != FOUND]
    names = {case: kind_and_instance(case, getattr(claim, "DRAWN_NAMES", "")) for case in frame["case"].unique()}
    numbers = frame["case"].map({case: number for case, (_, number) in names.items()})
    return frame.assign(
        kind=frame["case"].map({case: kind for case, (kind, _) in names.items()}),
        instance=numbers.fillna(frame["seed"]).astype(int),
    )


def _complete_controls(claim: Any, statements: list[Statement], frame: pd.DataFrame, scale: str) -> None:
    """Refuse a control without the quantities that the claim says it has; by default all of the claim's arm.

    A statement is not compared with a control that lacks one of its quantities. So a control that lost a quantity by
    mistake could no longer count against the claim.
    """
    quantities = {arm: set(rows["quantity"].unique()) for arm, rows in frame.groupby("arm")}
    described = controls_of(claim)
    read = {name for statement in statements for name in statement.reads}
    data_sets = set(frame.loc[frame["arm"] == "claim", "case"].unique())
    names = [
        CONTROL + name
        for name, control in described.items()
        if scale in control.scales and (scale == "quick" or not control.data_set or control.data_set in data_sets)
    ]
    for arm in names + sorted(arm for arm in quantities if arm.startswith(CONTROL)):
        control = described.get(arm.removeprefix(CONTROL), Control())
        wanted = read & set(control.has or quantities["claim"])
        if lacking := sorted(wanted - quantities.get(arm, set())):
            raise ContractError(
                f"{claim.ID}: {lacking[0]!r} has no rows in the arm {arm!r}; the claim says that this control has it, "
                "or does not say that it lacks it"
            )


def refuse_undescribed(rows: Rows, claim: Any) -> None:
    """Refuse controls that the claim does not describe: nobody would miss them if they vanished.

    A description counts at both scales. A new table of the paper scale may have a control that the committed table,
    which is older, need not have.

    Raises
    ------
    ContractError
        Naming the controls.
    """
    described = {CONTROL + name for name in controls_of(claim)}
    read = rows.frame["quantity"].isin({name for statement in claim.STATEMENTS for name in statement.reads})
    arms = rows.frame.loc[read, "arm"]
    if undescribed := sorted(set(arms[arms.str.startswith(CONTROL)]) - described):
        raise ContractError(
            f"{claim.ID}: CONTROLS does not describe {', '.join(map(repr, undescribed))}; if a control that no claim "
            "describes vanished from a table, nothing would refuse the table"
        )


def without_retired(rows: Rows, claim: Any, scale: str) -> Rows:
    """The rows of the paper scale without the controls that the claim has no more; a committed table is older.

    RETIRED of the claim's module names these controls. At the quick scale no table is older than the claim, and
    ``refuse_undescribed`` refuses them.
    """
    retired = {CONTROL + name for name in getattr(claim, "RETIRED", {})} if scale == "paper" else set()
    return Rows(rows.frame[~rows.frame["arm"].isin(retired)])


def with_all_forms(rows: Rows, claim: Any) -> Rows:
    """The rows with the arms of both forms, if the claim takes these from the same runs.

    ``with_all_forms`` of the claim's module makes them, for example of the first iterates and of all.
    """
    add_forms = getattr(claim, "with_all_forms", None)
    return Rows(add_forms(rows.frame)) if add_forms else rows


def controls_of(claim: Any) -> dict[str, Control]:
    """What the claim says of its controls, by their names."""
    return getattr(claim, "CONTROLS", {})


def _all_seeds(claim: Any, frame: pd.DataFrame, seeds: set[int]) -> None:
    """Refuse a series that has not exactly the settings' seeds; the series of hypotheses too.

    A hypothesis that lost the seeds that miss it would be met.
    """
    for key, group in frame.groupby(SERIES):
        present = set(group["seed"])
        if present not in [set(range(number)) for number in seeds]:
            wanted = " or ".join(str(number) for number in sorted(seeds))
            raise ContractError(f"{claim.ID}: {key} has the seeds {sorted(present)}; the settings have {wanted}")


def _equal_seeds(claim: Any, frame: pd.DataFrame) -> None:
    """Refuse a series whose seeds differ in their steps or number of rows, or that is in several precisions.

    A rule that reads a row a seed would count the second precision as further seeds. ``GRIDS`` of the claim's module
    names the quantities that have several.
    """
    rows_of = frame.groupby([*SERIES, "seed"]).size().groupby(SERIES).agg(["min", "max", "size"])
    for key, (least, most) in rows_of.loc[rows_of["min"] < rows_of["max"], ["min", "max"]].iterrows():
        raise ContractError(f"{claim.ID}: the seeds of {key} have {least} to {most} rows")
    seeds_at = frame.groupby([*SERIES, "step"])["seed"].nunique()
    number = rows_of["size"].reindex(seeds_at.index.droplevel("step")).to_numpy()
    for (*series, step), present in seeds_at[seeds_at.to_numpy() < number].items():
        of_all = rows_of.at[tuple(series), "size"]
        raise ContractError(f"{claim.ID}: {tuple(series)} has {present} of its {of_all} seeds at step {step}")
    grids = getattr(claim, "GRIDS", {})
    for key, dtypes in frame.groupby(SERIES)["dtype"].unique().items():
        if len(dtypes) > len(grids.get(key[1], Grid()).dtypes):
            raise ContractError(
                f"{claim.ID}: {key} is in {' and '.join(map(repr, sorted(dtypes)))}; a seed has one precision, unless "
                "GRIDS of the claim says otherwise"
            )


def _all_instances(claim: Any, frame: pd.DataFrame, seeds: set[int]) -> None:
    """Refuse a kind of case without the settings' instances, or whose instances have different numbers of rows.

    ``DRAWN`` of the claim's module names the exceptions.
    """
    drawn: dict[str, Drawn] = getattr(claim, "DRAWN", {})
    for (arm, quantity), rows in instances(claim, frame).groupby(["arm", "quantity"]):
        # a control may have rows at several p that the name of a case rounds to one
        if quantity not in drawn or not (drawn[quantity].share or arm.startswith(CONTROL)):
            _equal_counts(claim, rows)
        if controls_of(claim).get(arm.removeprefix(CONTROL), Control()).least_share < 1:
            continue  # chance decides which cases it has: tasks/judging/parts.py counts them
        numbers = {kind: set(group["instance"]) for kind, group in rows.groupby("kind") if kind not in drawn}
        share = drawn[quantity].share if quantity in drawn else 1
        if share:
            promised = set(range(round(max(share, 1) * max(seeds))))
            least = min(share, 1) * len(promised)
        else:
            promised = set(range(1 + max(rows["instance"])))
            least = len(promised) // max(len(numbers), 1)
        for kind, present in numbers.items():
            if present - promised or len(present) < least:
                lacking = ", ".join(map(str, sorted(promised - present)[:3])) or "none"
                raise ContractError(
                    f"{claim.ID}: {quantity!r} has {len(present)} instances of the case {kind!r} in the arm {arm!r}; "
                    f"of {len(promised)} it must have at least {least:g} and no others. Lacking: {lacking}"
                )


def _equal_counts(claim: Any, rows: pd.DataFrame) -> None:
    """Refuse a quantity with fewer rows, for example step sizes, at a case, layer, seed or step than at another."""
    counts = rows.groupby(["case", "layer", "dtype", "seed", "step"]).size()
    if counts.nunique() > 1:
        arm, quantity = rows[["arm", "quantity"]].iloc[0]
        fewest = dict(zip(counts.index.names, counts.idxmin(), strict=True))
        raise ContractError(
            f"{claim.ID}: {quantity!r} has {counts.min()} to {counts.max()} rows in the arm {arm!r}; the fewest at "
            f"{_shown([fewest])}"
        )


def _no_copies(claim: Any, frame: pd.DataFrame) -> None:
    """Refuse two seeds of a form with equal numbers, and a control with the numbers of a form.

    Both are compared in all quantities together, and in each quantity alone.
    """
    arms = {arm: rows.sort_values(KEYS).set_index(KEYS[1:])["value"] for arm, rows in frame.groupby("arm")}
    trained = claim.KIND == "statistical"
    for arm, values in arms.items():
        if arm.startswith(CONTROL):
            control = controls_of(claim).get(arm.removeprefix(CONTROL), Control())
            for form in (form for form in FORMS if form in arms):
                if _is_copy(values, arms[form], trained):
                    raise ContractError(f"{claim.ID}: the arm {arm!r} has the same numbers as the arm {form!r}")
                for quantity, series in values.groupby(level="quantity"):
                    if (
                        quantity not in control.equal_quantities
                        and _cannot_agree_by_chance(series)
                        and _is_copy(series, arms[form], trained)
                    ):
                        raise ContractError(
                            f"{claim.ID}: {quantity!r} has the same numbers in the arm {arm!r} as in the arm {form!r}; "
                            "the claim does not say that this control shares them"
                        )
        elif trained:
            _no_equal_seeds(claim, f"the arm {arm!r}", values, few=1)  # a single value may be a level that all reach
            equal_seeds = getattr(claim, "EQUAL_SEEDS", {})
            for quantity, series in values.groupby(level="quantity"):
                if quantity not in equal_seeds:
                    _no_equal_seeds(claim, f"{quantity!r} in the arm {arm!r}", series, few=FEW)


def _is_copy(control: pd.Series, form: pd.Series, trained: bool) -> bool:
    """Whether a control's numbers are those of a form at the same keys.

    A control that is measured before training alone may have the numbers of the form's first step.
    """
    steps, first = control.index.unique("step"), form.index.get_level_values("step").min()
    untrained = trained and len(steps) == 1 and steps[0] == first < form.index.get_level_values("step").max()
    return not untrained and control.equals(form.reindex(control.index))


def is_discrete(values: np.ndarray) -> bool:
    """Whether all values are shares of few samples, such as accuracies, counts, and levels as 0 and 1.

    Such a number differs from a fraction with a denominator of at most ``SAMPLES`` by no more than round-off. So does
    about one in a hundred thousand random numbers in float64.
    """
    numbers = np.unique(values)
    nearest = np.array([float(Fraction(number).limit_denominator(SAMPLES)) for number in numbers])
    return bool((np.abs(numbers - nearest) <= round_off(numbers)).all())


def _cannot_agree_by_chance(values: pd.Series, few: int = FEW) -> bool:
    """Whether numbers agree in two places by no accident: they are continuous, or more than a few different values."""
    return values.nunique() > few or not is_discrete(values.to_numpy())


def _no_equal_seeds(claim: Any, where: str, values: pd.Series, few: int) -> None:
    """Refuse two seeds with equal series: of continuous numbers, or of more than ``few`` different ones."""
    by_seed: dict[bytes, int] = {}
    for seed, numbers in values.groupby(level="seed"):
        if not _cannot_agree_by_chance(numbers, few):
            continue
        content = numbers.to_numpy().tobytes()
        if content in by_seed:
            raise ContractError(f"{claim.ID}: seeds {by_seed[content]} and {seed} of {where} are equal")
        by_seed[content] = seed
