"""Data sets in the column ``case``, which reads "DATA SET" or "DATA SET, AXIS=NUMBER"."""

from tasks.judging.rows import Rows


def by_data_set(rows: Rows) -> dict[str, Rows]:
    """The rows of each data set, in alphabetical order."""
    cases: dict[str, set[str]] = {}
    for case in sorted(set(rows.case.tolist())):
        cases.setdefault(case.partition(", ")[0], set()).add(case)
    return {data_set: rows.where(case=names) for data_set, names in cases.items()}
