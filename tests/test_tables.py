"""Tables refuse rows without a measured value."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
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
        ({"quantity": "eq1/residual", "value": 1.0, "x": "a"}, "x is 'a', .* double, in row .*residual"),
        ({"quantity": "eq1/residual", "value": 1.0, "step": 1.7}, "step is 1.7 in row .*residual.*: .* whole number"),
        ({"quantity": "eq1/residual", "value": 1.0, "seed": np.float32(2.5)}, r"seed is .*2.5\)? in row .*residual"),
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


@pytest.mark.parametrize("whole", [3, 3.0, np.int64(3), np.float32(3)])
def test_whole_numbers_of_any_type_are_steps_and_seeds(whole):
    row = {"quantity": "nfa", "value": 0.5, "step": whole, "seed": whole}
    columns = tables.table([{"quantity": "nfa", "value": 0.5}, row]).select(["step", "seed"])
    assert columns.to_pylist() == [{"step": 0, "seed": 0}, {"step": 3, "seed": 3}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame, "the type of .*; the type of seed is int64, not int32; "),
        (lambda frame: frame.drop(columns=["x", "arm"]), "it lacks the columns arm, x; "),
        (lambda frame: frame.assign(note="n"), "it has the columns note, which no gramlab table has; "),
    ],
)
def test_a_table_that_pandas_saved_is_refused_with_advice_that_works(change, message, tmp_path):
    path, rows = tmp_path / "table.parquet", [{"layer": "0", "quantity": "nfa", "value": 0.5, "seed": 1}]
    tables.write(path, rows)
    written = tables.read(path)
    frame = change(written.to_pandas().astype({"seed": "int64"}))
    frame.to_parquet(path)
    with pytest.raises(
        TableError, match=rf"not a gramlab table: {message}.*tables.write\(path, frame.to_dict\('records'\)\)"
    ):
        tables.read(path)
    tables.write(path, frame.drop(columns="note", errors="ignore").to_dict("records"))
    assert tables.read(path).equals(written)


def test_a_table_in_another_order_of_columns_is_refused(tmp_path):
    arrow_table = tables.table([{"quantity": "nfa", "value": 0.5}])
    pq.write_table(arrow_table.select(tables.SCHEMA.names[::-1]), tmp_path / "table.parquet")
    with pytest.raises(TableError, match="the order of its columns is not"):
        tables.read(tmp_path / "table.parquet")


@pytest.mark.parametrize("row", ["nfa", ("nfa", 0.5), None])
def test_a_row_that_is_no_dict_is_refused(row):
    with pytest.raises(TableError, match="a row must be a dict"):
        tables.table([row])


def test_a_table_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match="cannot be written"):
        tables.write(tmp_path / "file" / "table.parquet", [{"quantity": "one", "value": 1}])
