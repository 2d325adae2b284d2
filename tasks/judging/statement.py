"""What a claim's module declares: its statements, the hypotheses under which the paper makes them, and its controls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

KINDS = ("asserted", "printed level", "ours")
REDUCED, OLD_TABLE, NO_DATA, NOT_HERE = "reduced too far", "table out of date", "data not here", "not run here"
# why a statement is not found; a Hypothesis gives "hypothesis not met" or "reduced too far"
REASONS = (
    "refuted", "hypothesis not met", "too few seeds", REDUCED, "control kept", "print differs", OLD_TABLE, NO_DATA,
    NOT_HERE,
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
        What the statement's rows of one arm show. The same function judges the claim and every control.
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
        How many kinds of cases each quantity has at least in the arm ``claim``: a number, or one for each scale where
        the settings have fewer at the quick scale. How many instances a kind has the settings say.
    rows
        The least number of rows that each quantity needs in the arms in which it is judged.
    scales
        The scales at which the statement can be judged.
    data_sets
        The data sets that the statement is about, as their cases' names begin; all by default. Its rule sees the rows
        of these alone.
    least_sets
        How many of these data sets the table must have; where it has fewer, the statement is not judged.
    forms
        The arms in which it is judged: a corrected form may concern the claim's other statements alone. Of a claim
        with a CORRECTION every other statement has both arms.
    corrected_at
        The scales at which its corrected form is measured, where the reduced settings need none.
    stands_in
        Where no control can break the statement: why not, and what shows instead that the rule can fail.
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
    data_sets: tuple[str, ...] = ()
    least_sets: int = 1
    forms: tuple[str, ...] = ("claim", "corrected")
    corrected_at: tuple[str, ...] = ("quick", "paper")
    stands_in: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.name}: kind {self.kind!r}; allowed: {', '.join(KINDS)}")

    def concerned(self, rows: Rows) -> Rows:
        """The rows of the quantities that it reads, on the data sets that it is about."""
        rows = rows.where(quantity=set(self.reads))
        return Rows(rows.frame[_data_sets(rows.frame).isin(self.data_sets)]) if self.data_sets else rows

    def unjudged(self, rows: Rows, scale: str, needs: str = "") -> str:
        """Why it is not judged: its data sets are not in the table, the settings are reduced, or the table is old.

        ``needs`` says what is not at hand of what the claim needs. Without it a data set that is not in the table is
        one that the quick settings leave out, or that takes too long here at the papers' scale.
        """
        in_claim = rows.where(arm="claim").frame
        if in_claim.empty:
            return absent(needs)
        lacking = REDUCED if scale == "quick" else absent(needs)
        if self.data_sets and not _data_sets(in_claim).isin(self.data_sets).any():
            return lacking
        if scale not in self.scales:  # where the paper's own tables lack what the quick tables have, they are older
            return REDUCED if scale == "quick" else OLD_TABLE
        return lacking if set(self.reads) <= set(in_claim["quantity"]) else OLD_TABLE

    def least_cases(self, scale: str) -> int:
        """How many kinds of cases each quantity has at least, at this scale."""
        return self.cases if isinstance(self.cases, int) else self.cases[scale]

    def judgeable(self, rows: Rows) -> bool:
        """Whether the table has the data sets that it is about."""
        in_claim = self.concerned(rows).where(arm="claim").frame
        return not self.data_sets or _data_sets(in_claim).nunique() >= self.least_sets


def _data_sets(frame: pd.DataFrame) -> pd.Series:
    """The data set of each row, with which the name of its case begins."""
    return frame["case"].str.split(",").str[0]


def absent(needs: str) -> str:
    """Why a run is missing: what it needs is not at hand, or it takes too long on the machine that made the report."""
    return NO_DATA if needs else NOT_HERE


@dataclass(frozen=True)
class Grid:
    """Where the settings measure a quantity of an identity or a bound; a table that lacks a part of it is refused.

    ``GRIDS`` of a claim's module has it by the name of the quantity. Without an entry a quantity is in float64 alone.

    Parameters
    ----------
    dtypes
        The precisions; every case, layer, seed and step has all of them.
    layers
        The layers of the arm ``claim``. Empty where chance decides them, as those of a random network.
    steps
        The training steps of the arm ``claim``, or their number.
    x
        The values of ``x`` in every arm, for example step sizes; or their number, where they differ between instances.
    """

    dtypes: tuple[str, ...] = ("float64",)
    layers: tuple[str, ...] = ()
    steps: tuple[int, ...] | int = ()
    x: tuple[float, ...] | int = ()


BOTH_PRECISIONS = ("float32", "float64")


@dataclass(frozen=True)
class Control:
    """How a control's table differs from that of the claim: what it lacks, and which numbers it shares with a form.

    A claim describes each of its controls, so that a table without it is refused. By default a control has every
    quantity that the statements read in the claim's arm, and shares no quantity's numbers with a form.

    Parameters
    ----------
    has
        The quantities that the control has, where it has not all. A statement that reads another one is not set
        against this control.
    shares
        The quantities whose numbers are a form's own.
    because
        Why they are: what the control breaks does not enter them.
    scales
        The scales at which it is measured; the paper's table may be older than the control.
    parts
        The columns in which its parts are those of the claim's arm: its cases and layers but not its steps where
        it is measured before training.
    cases
        The kinds of its cases, where they are not those of the claim's arm; by quantity where they differ. It lacks
        the others of the claim's kinds.
    lacks
        The kinds of the claim's cases that it lacks.
    share
        The least share of the claim's cases that each of its quantities has, where chance decides which cases they are.
        Of the cases that it has it may then lack layers.
    without
        A regular expression that is removed from the names of layers before they are compared: the control's own
        setting, which the names contain.
    grids
        The grids of those quantities that the control has at other steps or values of x than the claim.
    parts_because
        Why the parts differ.
    """

    has: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    because: str = ""
    scales: tuple[str, ...] = ("quick", "paper")
    parts: tuple[str, ...] = ("case", "layer", "step")
    cases: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    lacks: tuple[str, ...] = ()
    share: float = 1.0
    without: str = ""
    grids: dict[str, Grid] = field(default_factory=dict)
    parts_because: str = ""

    def __post_init__(self) -> None:
        differs = len(self.parts) < 3 or self.cases or self.lacks or self.share < 1 or self.without or self.grids
        if differs and not self.parts_because:
            raise ValueError("say why a control's parts are not those of the claim")
        if self.shares and not self.because:
            raise ValueError(f"say why a control shares {', '.join(self.shares)} with the claim")

    def cases_of(self, quantity: str) -> tuple[str, ...]:
        """The kinds of this quantity's cases, where they are not those of the claim's arm."""
        return self.cases.get(quantity, ()) if isinstance(self.cases, dict) else self.cases


@dataclass(frozen=True)
class Drawn:
    """Why a quantity, or a kind of case, does not have the number of instances that the experiment's settings say.

    ``DRAWN`` of a claim's module has it by the name of the quantity or the kind. Such a quantity need not have equally
    many rows at each instance, and such a kind is not counted.

    Parameters
    ----------
    share
        Of a quantity the number of its instances over that of the settings. Below 1 chance decides, and this is the
        least share. 0 where the settings do not say it; then all kinds of cases have equally many instances.
    because
        The reason.
    """

    share: float
    because: str


@dataclass(frozen=True)
class Hypothesis:
    """A condition under which the paper makes its statements, measured beside them.

    Where the rule does not support it, the statements are inconclusive for ``reason``, whatever their own rules find.

    Parameters
    ----------
    name
        A few words: "interpolation", "critical point".
    text
        The condition in a sentence, with its threshold, and where the paper states it.
    rule
        What the rows of the arm that is judged, printed or corrected, show.
    reads
        The quantities that the rule reads.
    reason
        ``hypothesis not met``, or ``reduced too far`` for a condition that only the reduced settings miss.
    statements
        The names of the statements that need it; all by default.
    """

    name: str
    text: str
    rule: Callable[[Rows], Finding]
    reads: tuple[str, ...]
    reason: str = "hypothesis not met"
    statements: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.reason not in ("hypothesis not met", "reduced too far"):
            raise ValueError(f"{self.name}: reason {self.reason!r}")


def quantities(claim: Any) -> tuple[str, ...]:
    """The quantities that a claim's statements read, in the order of the statements."""
    statements = getattr(claim, "STATEMENTS", ())
    return tuple(dict.fromkeys(name for statement in statements for name in statement.reads))
