"""What a claim's module declares: its statements, and the hypotheses under which the paper makes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

KINDS = ("asserted", "printed level", "ours")
REDUCED, OLD_TABLE, NO_DATA = "reduced too far", "table out of date", "data not here"
# why a statement is not found; a Hypothesis gives "hypothesis not met" or "reduced too far"
REASONS = (
    "refuted", "hypothesis not met", "too few seeds", REDUCED, "control kept", "print differs", OLD_TABLE, NO_DATA,
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
    cases, rows
        The least numbers of cases and of rows that each quantity needs in the arm ``claim``.
    scales
        The scales at which the statement can be judged.
    data_sets
        The data sets that the statement is about, as their cases' names begin; all by default. Its rule sees the rows
        of these alone. Where the table has fewer than ``cases`` cases of them, the statement is not judged.
    forms
        The arms in which it can be judged: a corrected form may concern the claim's other statements alone.
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
    cases: int = 1
    rows: int = 1
    scales: tuple[str, ...] = ("quick", "paper")
    data_sets: tuple[str, ...] = ()
    forms: tuple[str, ...] = ("claim", "corrected")
    stands_in: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.name}: kind {self.kind!r}; allowed: {', '.join(KINDS)}")

    def concerned(self, rows: Rows) -> Rows:
        """The rows of the quantities that it reads, on the data sets that it is about."""
        rows = rows.where(quantity=set(self.reads))
        if not self.data_sets:
            return rows
        return Rows(rows.frame[rows.frame["case"].str.split(",").str[0].isin(self.data_sets)])

    def unjudged(self, rows: Rows, scale: str) -> str:
        """Why it is not judged: its data sets are not in the table, the settings are reduced, or the table is old."""
        in_claim = rows.where(arm="claim").frame
        cases = in_claim["case"].str.split(",").str[0]
        if in_claim.empty or (self.data_sets and not cases.isin(self.data_sets).any()):
            return NO_DATA
        if scale not in self.scales:  # where the paper's own tables lack what the quick tables have, they are older
            return REDUCED if scale == "quick" else OLD_TABLE
        return NO_DATA if set(self.reads) <= set(in_claim["quantity"]) else OLD_TABLE

    def judgeable(self, rows: Rows) -> bool:
        """Whether the table has the data sets that it is about."""
        in_claim = self.concerned(rows).where(arm="claim")
        return not self.data_sets or len(set(in_claim.case.tolist())) >= self.cases


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
