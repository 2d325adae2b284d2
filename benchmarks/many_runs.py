"""Many flow runs of a tiny pipeline against one server, and what grows: ``python benchmarks/many_runs.py --runs 200``.

Each run is a process of its own, as a worker starts them, and runs one stage anew. Reported are the server's memory, the
database, DVC's cache, and the files of the clone; docs/scaling.md has the last table.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402


def files(folder: Path) -> tuple[int, float]:
    """How many files there are below a folder, and their size in MB."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes) / 1e6


def memory(port: int) -> float:
    """Resident memory of the server that listens on a port, in MB."""
    listening = {each.pid for each in psutil.net_connections() if each.laddr and each.laddr.port == port and each.pid
                 and each.status == psutil.CONN_LISTEN}  # fmt: skip
    return sum(psutil.Process(number).memory_info().rss for number in listening) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--every", type=int, default=50)
    chosen = parser.parse_args()
    print("| runs | server's memory, MB | database, MB | DVC's cache: files | log files | other files of the clone |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home, port = Path(folder) / "home", dummy_project.port()
        env = dummy_project.environment(home, **dummy_project.at(port))
        root = dummy_project.make(Path(folder) / "project", dummy_project.params(1))
        with dummy_project.server(Path(folder), env):
            for number in range(chosen.runs + 1):
                if number % chosen.every == 0:
                    cached, logs = files(root / ".dvc/cache")[0], files(root / ".scratch")[0]
                    others = files(root)[0] - cached - logs
                    database = sum(path.stat().st_size for path in home.glob("prefect.db*")) / 1e6
                    print(
                        f"| {number} | {memory(port):.0f} | {database:.1f} | {cached} | {logs} | {others} |", flush=True
                    )
                command = [sys.executable, "-m", "flows.reproduce", "simulate@s0", "--force", "--root", str(root)]
                subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)


if __name__ == "__main__":
    main()
