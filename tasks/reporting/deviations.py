"""How a measured table differs from the paper's experiment, as its own rows tell: stand-in data, and missing points.

A claim's module can have two constants more than those that ``tasks.judging.finding`` lists:

PRINTED_SETTINGS
    Settings of a simulation that replace the paper's at both scales: by name the printed value, and words for it.
    ``tasks.reporting.settings`` compares it with what ran.
POINTS
    What the values of x are in the claim's table, such as ``balances``.
"""

from typing import Any

import pandas as pd

from tasks.judging.contract import FORMS
from tasks.judging.rows import Rows
from tasks.reporting.typesetting import number, readable
from tasks.settings.stand_ins import STAND_INS

COLUMNS = ["arm", "case", "seed", "quantity", "x"]  # that are read here
FEW = 5  # points at most that are named one by one


def deviations(table: pd.DataFrame, claim: Any) -> list[str]:
    """The differences in a claim's own rows: those that its statements read, of the printed and the corrected form."""
    judged = Rows(table.loc[table["arm"].isin(FORMS), COLUMNS].drop_duplicates())
    frames = [statement.rows_read(judged).frame for statement in claim.STATEMENTS]
    rows = pd.concat(frames).drop_duplicates()
    return [*stand_ins(rows), *fewer_points(rows, getattr(claim, "POINTS", "values of x"))]


def stand_ins(rows: pd.DataFrame) -> list[str]:
    """The data sets for which others stand in: a case begins with the name of its data set."""
    sets = set(rows["case"].str.split(",").str[0])
    return [f"{readable(folder).partition(' (')[0]}: {difference}"
            for folder, difference in STAND_INS.values() if folder in sets]  # fmt: skip


def fewer_points(rows: pd.DataFrame, points: str) -> list[str]:
    """Where the printed form was measured at some of the corrected form's values of x alone."""
    distinct = rows.drop_duplicates(["arm", "case", "quantity", "x"])
    counts = (
        distinct.groupby(["case", "quantity", "arm"]).size().unstack(fill_value=0).reindex(columns=FORMS, fill_value=0)
    )
    notes = []
    for case, quantity in counts.index[counts["claim"].between(1, counts["corrected"] - 1)]:
        series = distinct[(distinct["case"] == case) & (distinct["quantity"] == quantity)]
        printed, corrected = (set(series.loc[series["arm"] == form, "x"]) for form in FORMS)
        if printed < corrected:
            shown = f" ({', '.join(map(number, sorted(printed)))})" if len(printed) <= FEW else ""
            notes.append(
                f"the printed form has {len(printed)} of the corrected form's {len(corrected)} {points}{shown}"
            )
    return list(dict.fromkeys(notes))
