"""Wall time of a run at 1, 2 and 4 workers against the sum of its work: ``python benchmarks/workers.py``.

The stages are a dummy project's, which sleep, so that the numbers show what the flow itself costs on any machine.
`--launch` sends them through an engine, as in docs/how-to/machines.md.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--simulations", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=5, help="of each stage")
    parser.add_argument("--launch")
    chosen = parser.parse_args()
    print("| workers | sum of work, s | wall time, s | ideal, s | stages run twice |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        env = dummy_project.environment(Path(folder) / "home", **dummy_project.at(dummy_project.port()))
        with dummy_project.server(Path(folder), env):
            for workers in chosen.workers:
                root = Path(folder) / str(workers)
                dummy_project.make(root, dummy_project.params(chosen.simulations), seconds=chosen.seconds)
                command = [sys.executable, "-m", "flows.reproduce", "simulate", "--root", str(root)]
                command += ["--workers", str(workers), *(["--launch", chosen.launch] if chosen.launch else [])]
                began = time.monotonic()
                subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
                wall = time.monotonic() - began
                runs = Counter(dummy_project.begun(root))
                work = chosen.seconds * runs.total()
                ideal = chosen.seconds * -(-runs.total() // workers)
                twice = sum(count - 1 for count in runs.values())
                print(f"| {workers} | {work:.0f} | {wall:.1f} | {ideal:.0f} | {twice} |", flush=True)


if __name__ == "__main__":
    main()
