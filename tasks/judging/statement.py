"""What a claim's module declares: its statements, the hypotheses under which the paper makes them, and its controls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from gramlab.arguments import did_you_mean
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

KINDS = ("asserted", "printed level", "ours")
REDUCED, OLD_TABLE = "reduced too far", "table out of date"
NOT_AT_HAND, TOO_LONG = "data or machine not here", "takes too long here"
DIGITS = "digits"  # the data set of the quick scale
# why a statement is not found; a Hypothesis gives "hypothesis not met" or "reduced too far"
REASONS = (
    "refuted", "hypothesis not met", "too few seeds", "seeds disagree", REDUCED, "control kept", "print differs",
    OLD_TABLE, NOT_AT_HAND, TOO_LONG,
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A sentence, a number or a drawing of the paper, with the rule that judges it.

    Parameters
    ----------
    name
        A few words that tell this statement from the claim's others.
    quote
        The paper's own words, or for a drawing a description of what it shows.
    place
        Where in the paper: "Theorem 1", "Figure 7, caption".
    rule
        The function that judges the statement's rows of an arm: those of the claim, and those of every control.
    reads
        The quantities that the rule reads; a table that lacks one of them in the arm ``claim`` is refused.
    kind
        ``asserted``: the paper says that it holds; these statements alone decide the claim. ``printed level``: whether
        a measured number equals the printed number. ``ours``: a sharper test than the paper asserts.
    printed
        The printed number or formula that this statement is about, for the report.
    derived
        The form that we derive, where it differs from the printed form.
    cases
        The least number of kinds of cases that each quantity has in the arm ``claim``; by scale, if the quick settings
        have fewer. The settings say how many instances a kind has.
    rows
        The least number of rows of each quantity, in every arm in which the statement is judged.
    scales
        The scales at which the statement can be judged.
    unreduced
        Whether it is judged only with the paper's own training: not if ``affordable`` in params.yaml changes it.
    data_sets
        The data sets that the statement is about; all by default. A case's name begins with the name of its data set.
        The rule sees only the rows of these data sets.
    least_sets
        The least number of these data sets in the table. With fewer the statement is not judged.
    forms
        The arms in which it is judged. A statement that the claim's CORRECTION does not concern has ``claim`` alone.
    corrected_at
        The scales at which its corrected form is measured. The quick settings may need no correction.
    stands_in
        For a statement that no control can break: the reason, and another way to see that its rule can fail.
    """

    name: str
    quote: str
    place: str
    rule: Callable[[Rows], Finding]
    reads: tuple[str, ...]
    kind: str = "asserted"
    printed: str = ""
    derived: str = ""
    cases: int | dict[str, int] = 1
    rows: int = 1
    scales: tuple[str, ...] = ("quick", "paper")
    unreduced: bool = False
    data_sets: tuple[str, ...] = ()
    least_sets: int = 1
    forms: tuple[str, ...] = ("claim", "corrected")
    corrected_at: tuple[str, ...] = ("quick", "paper")
    stands_in: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            nearest = did_you_mean(self.kind, KINDS)
            raise ValueError(f"{self.name}: kind {self.kind!r}{nearest}; allowed: {', '.join(KINDS)}")

    def concerns(self, scale: str) -> bool:
        """Whether it is about data of this scale: one on digits alone has no place at the paper scale."""
        return scale == "quick" or self.data_sets != (DIGITS,)

    def rows_read(self, rows: Rows) -> Rows:
        """The rows that the statement reads: its quantities, on its data sets."""
        return _of_data_sets(rows.where(quantity=set(self.reads)), self.data_sets)

    def judged_at(self, scale: str, reduced: bool) -> bool:
        """Whether it is judged at this scale; ``reduced`` says whether ``affordable`` changes the paper's training."""
        return self.concerns(scale) and scale in self.scales and not (self.unreduced and reduced)

    def why_not_judged(self, rows: Rows, scale: str, needs: str = "", reduced: bool = False) -> str:
        """Why it is not judged: its data sets are not in the table, the settings are reduced, or the table is old.

        ``needs`` is the claim's NEEDS: a download or a machine that is not at hand. If it is empty, an absent data set
        was left out by the quick settings, or at the paper scale takes too long here.
        """
        in_claim = rows.where(arm="claim").frame
        if in_claim.empty:
            return reason_not_run(needs)
        lacking = REDUCED if scale == "quick" else reason_not_run(needs)
        if self.data_sets and not _data_sets(in_claim).isin(self.data_sets).any():
            return lacking
        if self.unreduced and reduced:
            return REDUCED
        if scale not in self.scales:  # a table of the paper scale without the statement's numbers is older
            return REDUCED if scale == "quick" else OLD_TABLE
        return lacking if set(self.reads) <= set(in_claim["quantity"].unique()) else OLD_TABLE

    def least_cases(self, scale: str) -> int:
        """The least number of kinds of cases of each quantity, at this scale."""
        return self.cases if isinstance(self.cases, int) else self.cases[scale]

    def judgeable(self, rows: Rows) -> bool:
        """Whether the table has enough of the statement's data sets."""
        in_claim = self.rows_read(rows).where(arm="claim").frame
        return not self.data_sets or _data_sets(in_claim).nunique() >= self.least_sets


def _of_data_sets(rows: Rows, data_sets: tuple[str, ...]) -> Rows:
    """The rows of these data sets, or all without any."""
    return Rows(rows.frame[_data_sets(rows.frame).isin(data_sets)]) if data_sets else rows


def _data_sets(frame: pd.DataFrame) -> pd.Series:
    """The data set of each row: the beginning of its case's name."""
    return frame["case"].str.split(",").str[0]


def reason_not_run(needs: str) -> str:
    """Why a run is missing: what it needs is not at hand, or it takes too long on the machine that made the report."""
    return NOT_AT_HAND if needs else TOO_LONG


@dataclass(frozen=True)
class Grid:
    """Where the settings measure a quantity of an identity or a bound; a table that lacks a part of it is refused.

    ``GRIDS`` of a claim's module has it by the name of the quantity. Without an entry a quantity is in float64 alone.

    Parameters
    ----------
    dtypes
        The precisions; every case, layer, seed and step has all of them.
    layers
        The layers of the arm ``claim``. Empty if there is only one, or if each instance has layers of its own. Every
        case, seed and step has all of them, unless ``layers_of`` says which.
    layers_of
        The layers that a case and its seed must have, where cases differ.
    steps
        The training steps of the arm ``claim``, or their number. Every case, seed and layer has all of them, unless
        ``steps_of`` says which.
    steps_of
        The steps that a case and its seed must have, where cases differ.
    x
        The values of ``x`` in every arm, for example step sizes; or their number, where they differ between instances.
    """

    dtypes: tuple[str, ...] = ("float64",)
    layers: tuple[str, ...] = ()
    layers_of: Callable[[str, int], tuple[str, ...]] | None = None
    steps: tuple[int, ...] | int = ()
    steps_of: Callable[[str, int], tuple[int, ...]] | None = None
    x: tuple[float, ...] | int = ()


BOTH_PRECISIONS = ("float32", "float64")


@dataclass(frozen=True)
class Control:
    """What a control breaks, and how its rows differ from the claim's: what they lack, what is equal to a form's.

    A claim describes each of its controls, and a table without one of them is refused. By default a control has every
    quantity that the statements read in the claim's arm, and no quantity has the same numbers as in a form.

    Parameters
    ----------
    text
        What is done otherwise than in the claim, in a sentence for the report.
    has
        The quantities of the control, if it lacks some. A statement that reads another quantity is not compared with
        this control.
    equal_quantities
        The quantities with the same numbers in the control and in a form.
    equal_statements
        The names of the statements that read only numbers that are the same in the control and in a form.
    equal_because
        The reason: these quantities, or what these statements read of them, do not depend on what the control breaks.
    scales
        The scales at which a table must have it. A table of the paper scale may be older than the control.
    parts
        The columns in which the control is like the claim's arm. A control that is measured before training has the
        claim's cases and layers, but not its steps: ``("case", "layer")``.
    cases
        The kinds of its cases, if they are not those of the claim's arm; by quantity, if quantities differ. The control
        has no other kinds.
    data_set
        The data set that it is measured on, if it has an arm for each. At the paper scale a table lacks the control
        if the claim's arm lacks this data set, which was not prepared on that machine.
    lacks
        The kinds of the claim's cases that the control lacks.
    least_share
        The least share of the claim's cases that each quantity has, if chance decides which cases the control has. Its
        cases may then lack layers.
    ignored_in_layers
        A regular expression that is removed from the names of layers before they are compared: the control's own
        setting, which the names contain.
    grids
        The grids of those quantities that the control has at other steps or values of x than the claim.
    parts_because
        The reason for the other parts.
    """

    text: str = ""
    has: tuple[str, ...] = ()
    equal_quantities: tuple[str, ...] = ()
    equal_statements: tuple[str, ...] = ()
    equal_because: str = ""
    scales: tuple[str, ...] = ("quick", "paper")
    parts: tuple[str, ...] = ("case", "layer", "step")
    cases: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    data_set: str = ""
    lacks: tuple[str, ...] = ()
    least_share: float = 1.0
    ignored_in_layers: str = ""
    grids: dict[str, Grid] = field(default_factory=dict)
    parts_because: str = ""

    def __post_init__(self) -> None:
        differs = (
            len(self.parts) < 3
            or self.cases
            or self.lacks
            or self.least_share < 1
            or self.ignored_in_layers
            or self.grids
        )
        if differs and not self.parts_because:
            raise ValueError("say why a control's parts are not those of the claim")
        if (shared := (*self.equal_quantities, *self.equal_statements)) and not self.equal_because:
            raise ValueError(f"say why a control shares {', '.join(shared)} with the claim")

    def tests(self, statement: "Statement") -> bool:
        """Whether the control can break the statement: it reads numbers that the control does not share with a form."""
        return statement.name not in self.equal_statements and not set(statement.reads) <= set(self.equal_quantities)

    def cases_of(self, quantity: str) -> tuple[str, ...]:
        """The kinds of this quantity's cases, if they are not those of the claim's arm; else empty."""
        return self.cases.get(quantity, ()) if isinstance(self.cases, dict) else self.cases


@dataclass(frozen=True)
class Drawn:
    """A quantity or a kind of case whose number of instances is not that of the experiment's settings.

    ``DRAWN`` of a claim's module has it by the name of the quantity or the kind. Instances of the quantity may have
    different numbers of rows: in a control always, in a form if the share is above 0. The instances of the kind are not
    counted.

    Parameters
    ----------
    share
        For a quantity, its number of instances divided by that of the settings. Below 1, chance decides the number, and
        this is the least share. 0 if the settings do not say the number; then all kinds of cases have equally many
        instances.
    because
        The reason.
    """

    share: float
    because: str


@dataclass(frozen=True)
class Hypothesis:
    """A condition under which the paper makes its statements, measured beside them.

    If the rule does not support it, the statements are inconclusive for ``reason``, whatever their own rules find.

    Parameters
    ----------
    name
        A few words: "interpolation", "critical point".
    text
        The condition in a sentence, with its threshold, and where the paper states it.
    rule
        The function that judges the condition. It reads the arm in which the statement is judged, printed or corrected.
    reads
        The quantities that the rule reads.
    reason
        ``hypothesis not met``, or ``reduced too far`` for a condition that only the reduced settings miss.
    statements
        The names of the statements that need it; all by default.
    data_sets
        The data sets on which it is measured, as in ``Statement``; all by default.
    """

    name: str
    text: str
    rule: Callable[[Rows], Finding]
    reads: tuple[str, ...]
    reason: str = "hypothesis not met"
    statements: tuple[str, ...] = ()
    data_sets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.reason not in ("hypothesis not met", "reduced too far"):
            raise ValueError(f"{self.name}: reason {self.reason!r}")

    def rows_read(self, rows: Rows) -> Rows:
        """The rows that its rule reads: its quantities, on its data sets."""
        return _of_data_sets(rows.where(quantity=set(self.reads)), self.data_sets)


def quantities(claim: Any) -> tuple[str, ...]:
    """The quantities that a claim's statements read, in the order of the statements."""
    statements = getattr(claim, "STATEMENTS", ())
    return tuple(dict.fromkeys(name for statement in statements for name in statement.reads))
