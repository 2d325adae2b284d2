"""The tables of Table 3 of paper C, as they are read from files."""

import numpy as np
import pandas as pd
import pytest

from gramlab.files import BadInput
from tasks.papers.fact.experiments.shared.classification_tables import data_sets

ROWS = "1.5,red,yes\n?,blue,no\n2.5,red,no\n3.5,,yes\n"


ARFF = "@relation r\n@attribute a numeric\n@attribute b {red,blue}\n@attribute c {yes,no}\n@data\n"


def test_three_file_formats_hold_the_same_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "a.arff").write_text(ARFF + ROWS.replace(",,", ",?,"))
    (tmp_path / "sets" / "b.csv").write_text("a,b,c\n" + ROWS.replace("?", ""))
    frame = pd.DataFrame({"y": [1, 0, 0, 1], "a": [1.5, None, 2.5, 3.5], "b": ["red", "blue", "red", None]})
    frame.to_parquet(tmp_path / "sets" / "c.parquet")
    (tmp_path / "sets" / "notes.txt").write_text("no table")
    a = np.array([-1, 0, 0, 1]) / np.std([1.5, 2.5, 3.5])  # a missing number is the mean
    for name, x, labels in data_sets("sets", 4):
        assert name in "abc"
        assert np.unique(labels, return_inverse=True)[1].tolist() == [1, 0, 0, 1]
        assert x[:, 0].tolist() == pytest.approx(a.tolist())
        assert x[:, 2].tolist() == pytest.approx([1, -1, 1, -1])  # red
    assert not list(data_sets("sets", 3))  # each table has four rows


def test_a_nominal_column_of_numbers_is_one_hot_coded(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "a.csv").write_text("kind,y\n1,0\n2,1\n9,0\n1,1\n")
    columns = '{"a": {"columns": [{"column": "kind", "kind": "nominal"}]}}'
    (tmp_path / "datasets.json").write_text(columns)
    ((_, x, _),) = data_sets("sets", 4)
    codes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(x, (codes - codes.mean(0)) / codes.std(0))


def test_a_missing_folder_is_refused_and_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="uci: no such folder"):
        list(data_sets("uci", 10))
    assert [name for name, *_ in data_sets(None, 10)][:2] == ["iris", "wine"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "a,y\n1,0\n2,0\n", "at least two classes"),
        ("a.csv", "a,y\n1,0\n2,\n3,1\n", "one in every row"),
        ("a.csv", "y\n0\n1\n", "beside the classes"),
        ("a.csv", "", "not a readable table"),
        ("a.arff", "@relation r\n@attribute a string\n@data\nx\n", "not a readable table"),
        ("a.parquet", "no Parquet", "not a readable table"),
        ("a.txt", "", "no .parquet, .arff, .csv files"),
    ],
)
def test_unusable_tables_are_named(tmp_path, monkeypatch, name, content, says):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=says):
        list(data_sets("", 10))
