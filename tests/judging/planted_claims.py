"""A claim made by hand, and tables for it, for the tests of judging."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Control, Hypothesis, Statement


def mean_is_positive(rows: Rows) -> Finding:
    return positive(rows.value, "q")


def statement(name: str = "first", rule: Callable[[Rows], Finding] = mean_is_positive, **more) -> Statement:
    return Statement(name, "a quotation", "Section 1", rule, **{"reads": ("q",), **more})


def claim(
    statements: Sequence[Statement] = (),
    hypotheses: Sequence[Hypothesis] = (),
    kind: str = "statistical",
    correction: str = "",
    controls: dict[str, Control] | None = None,
    equal_seeds: dict[str, str] | None = None,
    needs: str = "",
) -> SimpleNamespace:
    return SimpleNamespace(
        __name__="a_test",
        __doc__="A test.",
        ID="A.test",
        KIND=kind,
        TITLE="T",
        PRINTED="p",
        CORRECTION=correction,
        CONTROLS=controls or {},
        EQUAL_SEEDS=equal_seeds or {},
        NEEDS=needs,
        STATEMENTS=tuple(statements) or (statement(),),
        HYPOTHESES=tuple(hypotheses),
    )


def table(arms: dict[str, Sequence[float]], quantity: str = "q", **columns) -> list[dict]:
    """One row a seed."""
    return [
        {"experiment": "e", "scale": "quick", "arm": arm, "quantity": quantity, "seed": seed, "value": value, **columns}
        for arm, values in arms.items()
        for seed, value in enumerate(values)
    ]


def rows(table_rows: list[dict]) -> Rows:
    return Rows(tables.table(table_rows))
