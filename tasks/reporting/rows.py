"""The measured rows behind a claim, few enough to read and to download with the report.

A table may have 400,000 rows. The report shows the rows that the claim's statements read. Where they are too many, it
shows means, with the smallest and the largest value and the number of rows behind each.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from gramlab.files import atomic

DOWNLOADED, SHOWN = 500, 50  # rows at most in a claim's files, and on its page
LONGEST_CSV = 300_000  # bytes of a whole table: git hosts show no longer file as a table
LABELS = ["arm", "quantity", "dtype", "case", "layer", "seed", "step", "x"]
AVERAGED = ("x", "step", "layer", "case", "dtype", "seed")  # in this order, until the rows are few enough


def judged_rows(table: pd.DataFrame, claim: Any) -> pd.DataFrame:
    """The rows of the quantities that a claim's statements and hypotheses read, with ``rows`` = 1 measurement each.

    Beside a quantity stands what chance gives, where the table has it: null/Q, or null/NAME of a KIND/NAME.
    """
    readers: Iterable[Any] = (*claim.STATEMENTS, *getattr(claim, "HYPOTHESES", ()))
    names = {name for reader in readers for name in reader.reads}
    names |= {f"null/{quantity}" for name in names for quantity in (name, name.partition("/")[2])}
    rows = table.loc[table["quantity"].isin(names), [*LABELS, "value"]]
    return rows.assign(smallest=rows["value"], largest=rows["value"], rows=1)


def condensed(rows: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most ``most`` rows: means over the columns of ``AVERAGED``, one after the other, until they are few enough.

    If they are still too many, these are the first ones.
    """
    labels = list(LABELS)
    for column in (None, *AVERAGED):
        if column:
            labels.remove(column)
        if int((~rows.duplicated(labels)).sum()) <= most:  # the number of groups
            break
    if labels == LABELS:
        return rows.head(most).reset_index(drop=True)
    weighted = rows.assign(value=rows["value"] * rows["rows"]).groupby(labels, as_index=False, sort=False)
    means = weighted.agg({"value": "sum", "smallest": "min", "largest": "max", "rows": "sum"})
    return means.assign(value=means["value"] / means["rows"]).head(most)


def write(folder: Path, key: str, rows: pd.DataFrame) -> None:
    """Write a claim's rows as CSV and as Parquet, without the columns in which all rows are alike."""
    table = condensed(rows, DOWNLOADED)
    labels = [name for name in LABELS if name in table]
    columns = [name for name in labels if name == "quantity" or table[name].nunique() > 1] + ["value"]
    if (table["rows"] > 1).any():
        columns += ["smallest", "largest", "rows"]
    table = table[columns]
    with atomic(folder / f"{key}.csv") as temporary:
        table.to_csv(temporary, index=False, float_format="%.8g")
    with atomic(folder / f"{key}.parquet") as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")


def write_whole(folder: Path, experiment: str, table: pd.DataFrame) -> None:
    """Write a whole table as CSV, without the columns in which all rows are alike; none where it would be too long."""
    path = folder / f"{experiment}.csv"
    columns = [name for name in table if name in ("quantity", "value") or table[name].nunique() > 1]
    text = table[columns].to_csv(index=False, float_format="%.8g") if len(table) * len(columns) < LONGEST_CSV else None
    if text is None or len(text.encode()) > LONGEST_CSV:
        path.unlink(missing_ok=True)
        return
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read(path: Path) -> pd.DataFrame:
    """A claim's rows as ``write`` wrote them, with the columns that it left out."""
    table = pd.read_csv(path, keep_default_na=False)
    missing = {name: "" if name in ("arm", "dtype", "case", "layer") else 0 for name in LABELS if name not in table}
    table = table.assign(**missing)
    if "rows" not in table:
        table = table.assign(smallest=table["value"], largest=table["value"], rows=1)
    return table
