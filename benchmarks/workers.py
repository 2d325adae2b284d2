"""Wall time of a run at 1, 2 and 4 workers against the sum of its work: ``python benchmarks/workers.py``.

The stages of a dummy project sleep, so that the numbers show the cost of the flow on any machine. They run on this
machine (``here``), through `examples/launch/over_ssh.py` with a fake ssh and one host per worker (``ssh``), or in other
clones on this machine, one per worker (``nodes``). ``--launch`` uses another engine, as in docs/how-to/machines.md.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_nodes  # noqa: E402
import dummy_project  # noqa: E402
import dummy_ssh  # noqa: E402

NAMES = ("one", "two", "three", "four")  # of nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], choices=range(1, len(NAMES) + 1))
    parser.add_argument("--where", nargs="+", choices=["here", "ssh", "nodes"], default=["here", "ssh", "nodes"])
    parser.add_argument("--simulations", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=5, help="of each stage")
    parser.add_argument("--launch")
    chosen = parser.parse_args()
    print("| where | workers | sum of work, s | wall time, s | ideal, s | stages run twice | load |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        env = dummy_project.environment(Path(folder) / "home", **dummy_project.at(dummy_project.port()))
        ssh = dummy_ssh.make(Path(folder) / "hosts")
        env["PATH"] = f"{ssh}{os.pathsep}{env['PATH']}"
        over_ssh = f"{sys.executable} {ROOT / 'examples/launch/over_ssh.py'} {{hosts}} --"
        with dummy_project.server(Path(folder), env):
            for where in ["here"] if chosen.launch else chosen.where:
                for workers in chosen.workers:
                    root = Path(folder) / f"{where}{workers}"
                    with ExitStack() as stack:
                        if where == "nodes":
                            clones = nodes(root, env, NAMES[:workers], chosen.simulations, chosen.seconds, stack)
                            more = ["--nodes", "stage/node"]
                        else:
                            settings = dummy_project.params(chosen.simulations)
                            clones = [dummy_project.make(root, settings, seconds=chosen.seconds)]
                            hosts = ",".join(NAMES[:workers])
                            launch = chosen.launch or (over_ssh.format(hosts=hosts) if where == "ssh" else "")
                            more = ["--launch", launch] if launch else []
                        command = [sys.executable, "-m", "flows.reproduce", "simulate", "--root", str(clones[0])]
                        began = time.monotonic()
                        command += ["--workers", str(workers), *more]
                        done = subprocess.run(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT)  # fmt: skip
                        assert done.returncode == 0, done.stdout
                        wall = time.monotonic() - began
                    runs = sum((Counter(dummy_project.begun(clone)) for clone in clones), Counter())
                    work = chosen.seconds * runs.total()
                    ideal = chosen.seconds * -(-runs.total() // workers)
                    twice = sum(count - 1 for count in runs.values())
                    load = os.getloadavg()[0]
                    print(
                        f"| {where} | {workers} | {work:.0f} | {wall:.1f} | {ideal:.0f} | {twice} | {load:.0f} |",
                        flush=True,
                    )


def nodes(
    folder: Path, env: dict[str, str], names: tuple[str, ...], simulations: int, seconds: float, stack: ExitStack
) -> list[Path]:  # fmt: skip
    """A coordinator's clone and those of the nodes, with a worker in each that has started."""
    clones = dummy_nodes.make(folder, dummy_project.params(simulations), names, silence=90)
    for name in names:
        dummy_project.order(clones[name], seconds=seconds)
    if "GRAMLAB_DEPLOYED" not in env:  # the server's other runs use the same deployment
        env.update(dummy_nodes.deploy(clones, env), GRAMLAB_DEPLOYED="1")
    workers = dummy_nodes.Workers(clones, env, stack)
    for name in names:
        assert workers[name].poll() is None
    assert dummy_project.until(lambda: dummy_nodes.logs(clones).count("started!") == len(names), 120)
    return list(clones.values())


if __name__ == "__main__":
    main()
