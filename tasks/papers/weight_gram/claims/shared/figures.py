"""Cases that name a number: its value, and the order of the cases."""

import pandas as pd


def case_number(case: str) -> float:
    """The number of a case "AXIS=NUMBER"."""
    return float(case.rpartition("=")[2])


def cases_by_number(rows: pd.DataFrame) -> list[str]:
    """The cases "AXIS=NUMBER" of a table, in the order of their numbers."""
    return sorted(rows["case"].unique(), key=case_number)
