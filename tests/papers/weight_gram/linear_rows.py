"""What the measures of bounds and of propositions share: the rows of the linear experiments, and round-off."""

ROUND_OFF = 8 * 2.0**-53


def double(rows):
    return [row for row in rows if row["dtype"] == "float64"]


def rows_of(rows, **where):
    return [row for row in double(rows) if all(row.get(name, "") == value for name, value in where.items())]


def assert_round_off(rows):
    assert rows
    assert max(row["value"] for row in rows) <= ROUND_OFF
