"""Try a launch command on a dummy project of 19 stages that sleep: ``python benchmarks/launch.py "LAUNCH COMMAND"``.

The engine must run with two nodes; examples/launch/README.md says how to start each engine, and has the last outputs.
The program tries a whole run of two stages at once, Ctrl-C, `kill -9` of the flow, and a node on which every program
fails. The shell command of ``--lose`` ends a node while both work; its stage must then run on the other node. The
command of ``--queue`` prints a line for each program that the engine still has; without it nothing checks the queue.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402
from dummy_project import alive, background, begun, order, traces, until, until_hanging  # noqa: E402


def seconds_until(met, limit: float = 60) -> str:
    """The time until ``met`` is true, in words."""
    began = time.monotonic()
    return f"{time.monotonic() - began:.1f} s" if until(met, limit, 0.05) else f"not within {limit:.0f} s"


def again(root: Path) -> dict[str, str]:
    """The nodes of each stage that ran more than once."""
    nodes_by_stage: dict[str, list[str]] = {}
    for trace in traces(root):
        nodes_by_stage.setdefault(trace["stage"], []).extend([str(trace["node"])] if trace["event"] == "begin" else [])
    return {stage: " then ".join(nodes) for stage, nodes in nodes_by_stage.items() if len(nodes) > 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("launch")
    parser.add_argument("--queue")
    parser.add_argument("--lose")
    chosen = parser.parse_args()

    def empty() -> bool:
        return not chosen.queue or not subprocess.run(chosen.queue, shell=True, capture_output=True).stdout.strip()

    # the engine's nodes must see this folder, which holds all files, under the same name
    with tempfile.TemporaryDirectory() as folder:
        root, log = Path(folder) / "project", Path(folder) / "log"
        dummy_project.make(root, dummy_project.params(6), seconds=2)
        (root / "examples").symlink_to(ROOT / "examples")  # launch commands run in the project's folder
        env = dummy_project.environment(Path(folder) / "home", **dummy_project.at(dummy_project.port()))
        command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), "--launch", chosen.launch]

        def run(*arguments: str) -> tuple[int, str]:
            began = time.monotonic()
            with background([*command, "--workers", "2", *arguments], ROOT, env, log) as flow:
                status = flow.wait(600)
            return status, f"status {status}, {time.monotonic() - began:.0f} s"

        with dummy_project.server(Path(folder), env):
            status, ending = run()
            assert status == 0, log.read_text()
            times = Counter(begun(root))
            nodes = Counter(trace["node"] for trace in traces(root) if trace["event"] == "begin" and trace["node"])
            print(f"a whole run: {ending}; {len(times)} stages ran, {times.total() - len(times)} of them twice")
            print(f"    programs by node: {dict(sorted(nodes.items()))}", flush=True)
            for name, kind in (("Ctrl-C", signal.SIGINT), ("kill -9", signal.SIGKILL)):
                (root / "trace.jsonl").unlink()
                order(root, hang=["train@run"])
                with background([*command, "run", "--force"], ROOT, env, log) as flow:
                    programs = until_hanging(root, 120)
                    os.kill(flow.pid, kind)
                    began = time.monotonic()
                    program = seconds_until(lambda: not any(map(alive, programs)))  # noqa: B023
                    assert until(lambda: flow.poll() is not None, 60)
                    assert until(empty, 60)
                    outcome = f"the flow too, and the queue is empty, after {time.monotonic() - began:.1f} s"
                    print(f"{name}: the program has ended after {program}; {outcome}", flush=True)
            (root / "trace.jsonl").unlink()
            order(root, broken={sorted(nodes)[0]: 1})
            status, ending = run("simulate", "--force")
            print(f"a broken node, {sorted(nodes)[0]}: {ending}; run again: {again(root)}", flush=True)
            if chosen.lose:
                (root / "trace.jsonl").unlink()
                order(root, seconds=10)
                with background([*command, "--workers", "2", "simulate", "--force"], ROOT, env, log) as flow:
                    assert until(lambda: len(begun(root)) == 2, 120), log.read_text()
                    subprocess.run(chosen.lose, shell=True, check=True)
                    assert flow.wait(600) == 0, log.read_text()
                print(f"a lost node: {len(set(begun(root)))} stages ended well; run again: {again(root)}")
                print("".join(f"    {line}\n" for line in log.read_text().splitlines() if line.startswith("[")), end="")


if __name__ == "__main__":
    main()
