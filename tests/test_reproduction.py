"""The last line of `make repro` says what differs from the commit."""

import copy
import subprocess

import pytest

from tasks.reporting.comparison import difference, numbers, relative, table_hashes

CLAIMS = {
    "A.one": {
        "verdict": "holds",
        "statistic": 1.0,
        "parts": [{"low": 0.5}, {"low": None}],
        "control": {"rejected": True},
    },
    "A.two": {"verdict": "fails", "statistic": -2.0},
}
TABLES = {"a_one.parquet": "1", "a_two.parquet": "2"}


def test_equal_reports():
    line = difference(CLAIMS, copy.deepcopy(CLAIMS), TABLES, dict(TABLES))
    assert line == "2 verdicts and 3 numbers as committed, 2 tables byte for byte"


def test_a_number_a_verdict_a_claim_and_a_table_that_differ_are_named():
    current = copy.deepcopy(CLAIMS)
    current["A.one"]["parts"][0]["low"] = 0.25
    current["A.one"]["statistic"] = 1.1
    line = difference(CLAIMS, current, TABLES, {**TABLES, "a_two.parquet": "3"})
    assert line == (
        "2 verdicts as committed; 2 of 3 numbers differ from the committed ones, the most in A.one / parts / 0 / low: "
        "0.5 -> 0.25; 1 of 2 tables differ"
    )
    current["A.two"]["verdict"] = "holds"
    assert "verdicts that differ: A.two: fails -> holds" in difference(CLAIMS, current, TABLES, TABLES)
    del current["A.two"]
    line = difference(CLAIMS, current, TABLES, TABLES)
    assert "A.two is only in the commit" in line
    assert "A.two / statistic: -2.0 -> None" in line


def test_numbers_are_all_numbers_and_no_truth_values():
    assert dict(numbers({"a": [1, {"b": 2.5}], "c": True, "d": "3", "e": None})) == {
        ("a", "0"): 1.0,
        ("a", "1", "b"): 2.5,
    }
    assert [relative(*pair) for pair in ((1.0, 1.0), (1.0, 2.0), (0.0, 1.0), (None, 1.0))] == [
        0.0, 0.5, 1.0, pytest.approx(float("inf"))
    ]  # fmt: skip


def test_the_committed_hashes_are_read_from_every_lock_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.reporting.snapshot.ROOT", tmp_path)
    lock = "stages:\n  measure@x:\n    outs:\n    - {path: data/quick/tables/x.parquet, md5: old}\n"
    for folder in ("pipeline/one", "pipeline/two/three", ".scratch/fresh/1/pipeline/one"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "dvc.lock").write_text(lock.replace("x", folder[-3:]))
    for command in (
        ["init", "-q"],
        ["add", "pipeline"],
        ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "s"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "pipeline" / "one" / "dvc.lock").write_text(lock.replace("x", "one").replace("old", "new"))
    assert table_hashes("quick", "HEAD") == {"one.parquet": "old", "ree.parquet": "old"}
    assert table_hashes("quick") == {"one.parquet": "new", "ree.parquet": "old"}
    assert table_hashes("quick", root=tmp_path / ".scratch/fresh/1") == {"one.parquet": "old"}
    assert table_hashes("paper") == {}
