"""The rows of a table as the rules read them."""

import re
from typing import Any

import numpy as np
import pandas as pd


class Rows:
    """Rows of a gramlab table; each column is an attribute, as an array.

    >>> rows = Rows({"arm": ["claim", "claim", "control: noise"], "seed": [0, 1, 0], "value": [1.0, 2.0, 9.0]})
    >>> rows.where(arm="claim").value
    array([1., 2.])
    >>> [seed for (seed,) in rows.by("seed")]
    [0, 1]
    """

    def __init__(self, table: Any):
        self.frame: pd.DataFrame = table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)

    def __getattr__(self, name: str) -> np.ndarray:
        if name == "frame" or name not in self.frame:
            raise AttributeError(name)
        return self.frame[name].to_numpy()

    def __len__(self) -> int:
        return len(self.frame)

    def where(self, **wanted: Any) -> "Rows":
        """The rows whose columns equal the given values, or are among them where a set is given."""
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            column = self.frame[name]
            keep &= (column.isin(value) if isinstance(value, set) else column == value).to_numpy(bool)
        return Rows(self.frame[keep])

    def by_seed(self, **wanted: Any) -> np.ndarray:
        """The values of the rows that ``where`` selects, in the order of their seeds."""
        selected = self.where(**wanted)
        return selected.value[np.argsort(selected.seed)]

    def by(self, *names: str) -> dict[tuple[Any, ...], "Rows"]:
        """The rows grouped by these columns, in sorted order of their values."""
        groups = self.frame.groupby(list(names))
        return {tuple(getattr(value, "item", lambda v=value: v)() for value in values): Rows(group)
                for values, group in groups}  # fmt: skip


FOUND = "found by hypothesis"  # the case of the smallest violation, which an arm has if the search finds one
DRAWN = "drawn"  # the kind of the cases whose names are drawn


def kind_and_instance(case: str, drawn_names: str = "") -> tuple[str, int | None]:
    """The kind of a case and the number of its instance; None if the name has no number. Then the seed is the number.

    The name of an instance ends in its number. If the rest of the name is drawn too, the name begins with the number,
    and the kind is ``drawn``.

    Parameters
    ----------
    case
        The name of the case.
    drawn_names
        A regular expression of the other names that are drawn; the claim's ``DRAWN_NAMES``. Its groups give the kind.

    Examples
    --------
    >>> kind_and_instance("low rank, tall, 7"), kind_and_instance("spread 7"), kind_and_instance("7: relu, skip")
    (('low rank, tall', 7), ('spread', 7), ('drawn', 7))
    >>> kind_and_instance("dead"), kind_and_instance("dead, n 11", r"(dead)?.*n \\d+")
    (('dead', None), ('dead', None))
    """
    if match := re.fullmatch(r"(\d+)(: .*)?", case):
        return DRAWN, int(match[1])
    if drawn_names and (match := re.fullmatch(drawn_names, case)):
        return "".join(filter(None, match.groups())) or DRAWN, None
    if match := re.fullmatch(r"(.*), (\d+)|([a-z]+) (\d+)", case):
        return match[1] or match[3], int(match[2] or match[4])
    return case, None
