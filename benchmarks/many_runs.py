"""Measure the growth over many flow runs against one server: ``python benchmarks/many_runs.py --runs 200``.

Each run repeats one stage of a tiny pipeline; 25 runs share a process, to save imports. The program reports the memory
of the server and of the flow's process, the size of the database and of DVC's cache, and the number of files of the
clone. With ``--days 30`` the runs and events in the database are dated back by so many days between two processes, and
the server deletes those that are older than prefect.toml allows.
"""

import argparse
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402


def files(folder: Path) -> tuple[int, float]:
    """The number of files below a folder, and their size in MB."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes) / 1e6


def memory(port: int) -> float:
    """Resident memory of the server that listens on a port, in MB."""
    listening = {
        socket.pid
        for socket in psutil.net_connections()
        if socket.laddr and socket.laddr.port == port and socket.pid and socket.status == psutil.CONN_LISTEN
    }
    return sum(psutil.Process(number).memory_info().rss for number in listening) / 1e6


def runs(root: str, count: int) -> None:
    """Run the flow ``count`` times in this process, and print its resident memory in MB."""
    from flows.reproduce import reproduce

    for _ in range(count):
        assert reproduce(["simulate@s0"], force=True, root=root, return_state=True).is_completed()
    print(psutil.Process().memory_info().rss / 1e6)


def pass_days(database: Path, days: float) -> None:
    """Date the runs and events of a server's database back."""
    with sqlite3.connect(database, timeout=60) as connection:
        for table, column in (("flow_run", "end_time"), ("events", "occurred"), ("event_resources", "occurred")):
            back = f"strftime('%Y-%m-%d %H:%M:%f000', {column}, '-{days} days')"
            connection.execute(f"UPDATE {table} SET {column} = {back} WHERE {column} IS NOT NULL")


def database_state(database: Path) -> tuple[int, int, float, float]:
    """The runs in a server's database, those past the retention, and its size and free space in MB."""
    settings = tomllib.loads((ROOT / "prefect.toml").read_text())["server"]["services"]["db_vacuum"]
    with sqlite3.connect(database, timeout=60) as connection:

        def number(query: str) -> int:
            return int(connection.execute(query).fetchone()[0])

        limit = f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{settings['retention_period']} seconds')"
        page = number("PRAGMA page_size") / 1e6
        return (
            number("SELECT count(*) FROM flow_run"),
            number(f"SELECT count(*) FROM flow_run WHERE end_time < {limit}"),
            number("PRAGMA page_count") * page,
            number("PRAGMA freelist_count") * page,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--every", type=int, default=25, help="runs of a process")
    parser.add_argument("--days", type=float, default=0, help="that pass between two processes")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        return runs(chosen.inside, chosen.runs)
    print("| runs | in the database | server, MB | flow, MB | database, MB | of it free, MB | DVC's cache: files "
          "| other files of the clone |")  # fmt: skip
    print("| ---: " * 8 + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        database = home / "prefect.db"
        often = {f"PREFECT_SERVER_SERVICES_DB_VACUUM_{name}_SECONDS": "2" for name in ("LOOP", "ORPHAN_CLEANUP_LOOP")}
        env = dummy_project.environment(
            home, **dummy_project.at(dummy_project.port()), **(often if chosen.days else {})
        )
        shutil.copy(ROOT / "prefect.toml", folder)
        root = dummy_project.make(Path(folder) / "project", dummy_project.params(1))
        with dummy_project.server(Path(folder), env):
            flow, port = 0.0, int(env["PREFECT_SERVER_API_PORT"])  # which a second start may have changed
            for number in range(0, chosen.runs + 1, chosen.every):
                if number:
                    command = [sys.executable, __file__, "--inside", str(root), "--runs", str(chosen.every)]
                    done = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)
                    flow = float(done.stdout.split()[-1])
                if chosen.days:
                    pass_days(database, chosen.days)
                    assert dummy_project.until(lambda: database_state(database)[1] == 0, 120, every=1)
                    time.sleep(10)  # for the logs, artifacts and events of the runs that are gone
                count, _, size, free = database_state(database)
                cached = files(root / ".dvc/cache")[0]
                others = files(root)[0] - cached
                print(f"| {number} | {count} | {memory(port):.0f} | {flow:.0f} | {size:.1f} | {free:.1f} | {cached} "
                      f"| {others} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
