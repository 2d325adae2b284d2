"""DVC's lock files: torn ones are mended without a loss, and entries with shared settings are written out."""

from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from flows.lockfiles import mend_lock_file, write_entry


def test_a_merge_conflict_in_a_lock_file_is_not_cut_off(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    text = "schema: '2.0'\nstages:\n  one:\n    outs: []\n<<<<<<< HEAD\n  two:\n    outs: []\n=======\n>>>>>>> other\n"
    lock.write_text(text)
    with pytest.raises(ValueError, match="unresolved merge conflict"):
        mend_lock_file(lock)
    assert lock.read_text() == text


@pytest.mark.parametrize(("end", "kept"), [("", 2), ("\n", 2), ("\n\n", 2), ("  ", 1), ("    ", 1), ("  three", 2)])
def test_blank_last_lines_of_a_lock_file_cost_no_entry(tmp_path: Path, end: str, kept: int) -> None:
    """Spaces do, because the next entry would be written behind them."""
    entry = "  {}:\n    cmd: 'true'\n    outs:\n    - path: {}\n      md5: 0\n      size: 1\n"
    lock = tmp_path / "dvc.lock"
    lock.write_text("schema: '2.0'\nstages:\n" + entry.format("one", "one") + entry.format("two", "two") + end)
    mend_lock_file(lock)
    assert len(yaml.safe_load(lock.read_text())["stages"]) == kept
    assert "three" not in lock.read_text()


@pytest.mark.parametrize("text", ["", "\n", "schema: '2.0'\n", "schema: '2.0'\nstages:\n  one:\n    cmd"])
def test_a_lock_file_that_is_torn_before_its_first_entry_is_dropped(tmp_path: Path, text: str) -> None:
    """DVC refuses an empty file and reads none as one without entries."""
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"one": {"cmd": "true", "outs": ["one"]}}}))
    lock = tmp_path / "dvc.lock"
    lock.write_text(text)
    mend_lock_file(lock)
    assert [stage.name for stage in Repo.init(str(tmp_path), no_scm=True).index.stages] == ["one"]


def test_entries_write_out_the_settings_that_they_share(tmp_path: Path) -> None:
    """Two entries with the anchors that YAML makes of shared settings are no document that libyaml reads."""
    (tmp_path / "params.yaml").write_text("first: &shared {width: 3}\nsecond: *shared\n")
    stage = {"cmd": "true", "params": [{"params.yaml": None}]}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"report": stage, "site": stage}}))
    for stage in Repo.init(str(tmp_path), no_scm=True).index.stages:
        stage.save()
        write_entry(stage)
    locked = yaml.load((tmp_path / "dvc.lock").read_text(), yaml.CSafeLoader)["stages"]
    assert locked.keys() == {"report", "site"}
    for entry in locked.values():
        assert entry["params"]["params.yaml"] == {"first": {"width": 3}, "second": {"width": 3}}
