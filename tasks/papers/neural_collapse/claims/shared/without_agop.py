"""NC2 of Deep RFM against that of the same seed without the AGOP, M = I, which is another arm of the table."""

from dataclasses import dataclass, replace

import pandas as pd

from tasks.judging.contract import CONTROL
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Statement
from tasks.judging.statistics import JudgeError
from tasks.papers.neural_collapse.claims.shared.deep_rfm import by_layer

NO_AGOP = CONTROL + "M = I"
WITHOUT = "nc2/agop, M = I"


@dataclass(frozen=True)
class AgainstNoAgop(Statement):
    """A statement that compares NC2 after M^{1/2} with that of M = I, seed by seed.

    A rule sees one arm. So the rows of M = I stand in every other arm too, under the name ``WITHOUT``; only those of
    the arm's own seeds, because a control may have fewer. M = I itself is no control of this statement: its difference
    from itself is 0 by construction.
    """

    def rows_read(self, rows: Rows) -> Rows:
        """The rows that the statement reads, and in every arm those of M = I."""
        frame = super().rows_read(rows).frame
        without, others = frame[frame["arm"] == NO_AGOP], frame[frame["arm"] != NO_AGOP]
        beside = []
        for arm, in_arm in others.groupby("arm"):
            paired = without.merge(in_arm[["case", "seed"]].drop_duplicates())
            beside.append(paired.assign(arm=arm, quantity=WITHOUT))
        return Rows(pd.concat([others, *beside], ignore_index=True))


def agop_lowers_nc2(rows: Rows) -> Finding:
    """In the last layer NC2 after M^{1/2} is lower than NC2 with M = I."""
    if not len(rows.where(quantity=WITHOUT)):
        raise JudgeError(f"NC2 has nothing to be compared with: the table has no arm {NO_AGOP!r}")
    agop, without = (by_layer(rows, quantity)[:, -1] for quantity in ("nc2/agop", WITHOUT))
    finding = positive(without - agop, "NC2 in the last layer with M = I minus NC2 after √M")
    return replace(finding, measured=f"NC2 after the last √M is {agop.mean():.2g}, and {without.mean():.2g} with M = I")
