"""Tables refuse rows without a measured value."""

import pytest

from gramlab import tables
from gramlab.tables import TableError


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"quantity": "eq1/residual"}, "needs a quantity and a number"),
        ({"value": 1.0}, "needs a quantity and a number"),
        ({"quantity": "eq1/residual", "value": None}, "needs a quantity and a number"),
        ({"quantity": "eq1/residual", "value": True}, "needs a quantity and a number"),
        ({"quantity": "eq1/residual", "value": "1"}, "needs a quantity and a number"),
        ({"quantity": "eq1/residual", "value": 1.0, "case": None}, "case is None"),
        ({"quantity": "eq1/residual", "value": float("nan")}, "value is nan"),
        ({"quantity": "eq1/residual", "value": 1.0, "seeds": 3}, "no column"),
    ],
)
def test_a_row_without_a_value_is_refused(row, message):
    with pytest.raises(TableError, match=message):
        tables.table([row])


def test_a_table_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match="cannot be written"):
        tables.write(tmp_path / "file" / "table.parquet", [{"quantity": "one", "value": 1}])
