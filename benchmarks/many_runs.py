"""Many flow runs of a tiny pipeline against one server, and what grows: ``python benchmarks/many_runs.py --runs 200``.

Each run runs one stage anew; 25 runs share a process, to spend the time on runs and not on imports. Reported are the
memory of the server and of the flow's process, the database, DVC's cache, and the files of the clone.
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
    listening = {
        socket.pid
        for socket in psutil.net_connections()
        if socket.laddr and socket.laddr.port == port and socket.pid and socket.status == psutil.CONN_LISTEN
    }
    return sum(psutil.Process(number).memory_info().rss for number in listening) / 1e6


def runs(root: str, count: int) -> None:
    """Run the flow so often in this process; print its resident memory in MB."""
    from flows.reproduce import reproduce

    for _ in range(count):
        assert reproduce(["simulate@s0"], force=True, root=root, return_state=True).is_completed()
    print(psutil.Process().memory_info().rss / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--every", type=int, default=25, help="runs of a process")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        return runs(chosen.inside, chosen.runs)
    print("| runs | server, MB | flow, MB | database, MB | DVC's cache: files | other files of the clone |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home, port = Path(folder) / "home", dummy_project.port()
        env = dummy_project.environment(home, **dummy_project.at(port))
        root = dummy_project.make(Path(folder) / "project", dummy_project.params(1))
        with dummy_project.server(Path(folder), env):
            flow = 0.0
            for number in range(0, chosen.runs + 1, chosen.every):
                if number:
                    command = [sys.executable, __file__, "--inside", str(root), "--runs", str(chosen.every)]
                    done = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)
                    flow = float(done.stdout.split()[-1])
                cached = files(root / ".dvc/cache")[0]
                others = files(root)[0] - cached
                database = sum(path.stat().st_size for path in home.glob("prefect.db*")) / 1e6
                print(
                    f"| {number} | {memory(port):.0f} | {flow:.0f} | {database:.1f} | {cached} | {others} |", flush=True
                )


if __name__ == "__main__":
    main()
