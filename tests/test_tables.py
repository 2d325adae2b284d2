"""Tables refuse rows without a measured value."""

import pandas as pd
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
        ({"quantity": "eq1/residual", "value": 1.0, "seeds": 3}, "columns must be among .*, not 'seeds'"),
        ({"quantity": "eq1/residual", "value": 1.0, "seed": 3_000_000_000}, "seed is 3000000000, .* int32"),
        ({"quantity": "eq1/residual", "value": 1.0, "seed": 10**30}, "seed is 10+, .* int32"),
        ({"quantity": "eq1/residual", "value": 1.0, "seed": "a"}, "seed is 'a', .* int32"),
        ({"quantity": "eq1/residual", "value": 1.0, "case": 3}, "case is 3, .* string"),
    ],
)
def test_a_row_without_a_value_is_refused(row, message):
    with pytest.raises(TableError, match=message):
        tables.table([row])


def test_a_data_frame_is_refused_and_its_records_are_taken(tmp_path):
    rows = [{"layer": "0", "quantity": "nfa", "value": 0.5}, {"layer": "2", "quantity": "nfa", "value": 0.25}]
    frame = pd.DataFrame(rows)
    with pytest.raises(TableError, match=r"not a DataFrame: .* pass frame.to_dict\('records'\)"):
        tables.write(tmp_path / "table.parquet", frame)
    assert not list(tmp_path.iterdir())
    tables.write(tmp_path / "table.parquet", frame.to_dict("records"))
    read = tables.read(tmp_path / "table.parquet").select(list(rows[0]))
    assert read.to_pylist() == rows


@pytest.mark.parametrize("row", ["nfa", ("nfa", 0.5), None])
def test_a_row_that_is_no_dict_is_refused(row):
    with pytest.raises(TableError, match="a row must be a dict"):
        tables.table([row])


def test_a_table_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match="cannot be written"):
        tables.write(tmp_path / "file" / "table.parquet", [{"quantity": "one", "value": 1}])
