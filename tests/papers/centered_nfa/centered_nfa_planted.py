"""What a claim's statements find on planted rows, for the tests of this paper's rules."""

from types import ModuleType

from tasks.judging.rows import Rows


def findings(claim: ModuleType, rows: Rows) -> dict[str, bool | None]:
    """Whether each statement holds, is refuted, or is undecided, by its name; those whose quantities are planted."""
    planted = set(rows.quantity.tolist())
    judgeable = [statement for statement in claim.STATEMENTS if planted >= set(statement.reads)]
    return {statement.name: statement.rule(statement.rows_read(rows)).holds for statement in judgeable}


def supported(claim: ModuleType, rows: Rows) -> set[str]:
    """The names of the statements that hold."""
    return {name for name, holds in findings(claim, rows).items() if holds}


def refuted(claim: ModuleType, rows: Rows) -> set[str]:
    """The names of the statements that are refuted."""
    return {name for name, holds in findings(claim, rows).items() if holds is False}
