"""Parts that several figures of this paper share: the order of cases, and a legend below all panels."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def case_number(case: str) -> float:
    """The number of a case "AXIS=NUMBER"."""
    return float(case.rpartition("=")[2])


def cases_by_number(rows: pd.DataFrame) -> list[str]:
    """The cases "AXIS=NUMBER" of a table, in the order of their numbers."""
    return sorted(rows["case"].unique(), key=case_number)


def interval_over_seeds(rows: pd.DataFrame) -> str:
    """What the bands of a figure show, for its legend."""
    return f"Student's 95 % interval over {rows['seed'].nunique()} seeds"


def legend_below(figure: Figure, panels: Iterable[Axes], columns: int, title: str | None = None) -> None:
    """Put one legend for several panels below them; a label that panels share appears once."""
    lines = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend([*lines.values()], [*lines], loc="outside lower left", ncols=columns, fontsize=7, title=title,
                  title_fontsize=7)  # fmt: skip
