"""The server forgets old runs, with the settings of prefect.toml."""

import shutil
import sqlite3
import subprocess
import sys
import tomllib
from datetime import datetime, timedelta
from pathlib import Path

import dummy_project
from dummy_project import ROOT, ask, until

RUNS = """
from prefect import flow
@flow
def tiny():
    print("a line", flush=True)
for _ in range(2):
    tiny()
"""


def test_a_run_that_ended_before_the_retention_time_is_deleted_and_a_later_one_stays(tmp_path: Path) -> None:
    shutil.copy(ROOT / "prefect.toml", tmp_path)
    days = tomllib.loads((ROOT / "prefect.toml").read_text())["server"]["services"]["db_vacuum"]["retention_period"]
    env = dummy_project.environment(
        dummy_project.with_database(tmp_path / "home"), **dummy_project.server_variables(dummy_project.port()),
        PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS="2",
    )  # fmt: skip
    with dummy_project.server(tmp_path, env) as address:
        subprocess.run([sys.executable, "-c", RUNS], cwd=tmp_path, env=env, check=True, capture_output=True)
        runs = ask(f"{address}/flow_runs/filter", {})
        assert len(runs) == 2
        ends = {"old": timedelta(seconds=days + 3600), "young": timedelta(seconds=days - 3600)}
        with sqlite3.connect(tmp_path / "home/prefect.db", timeout=30) as database:
            for run, age in zip(runs, ends.values(), strict=True):
                end = datetime.fromisoformat(run["end_time"]).replace(tzinfo=None) - age
                changed = database.execute(
                    "UPDATE flow_run SET end_time = ? WHERE id = ?", (end.isoformat(" "), run["id"])
                )
                assert changed.rowcount == 1
        assert until(lambda: len(ask(f"{address}/flow_runs/filter", {}) or runs) < 2, 60, interval=1)
        (left,) = ask(f"{address}/flow_runs/filter", {})
        assert left["id"] == runs[1]["id"]
