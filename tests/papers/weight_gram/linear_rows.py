"""What the measures of bounds and of propositions share: the rows of the linear experiments, and round-off."""

from helpers import in_double

ROUND_OFF = 8 * 2.0**-53


def rows_of(rows, **where):
    return [row for row in in_double(rows) if all(row.get(name, "") == value for name, value in where.items())]


def assert_round_off(rows):
    assert rows
    assert max(row["value"] for row in rows) <= ROUND_OFF
