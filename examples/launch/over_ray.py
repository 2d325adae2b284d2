"""Run a program as a job of a Ray cluster whose machines see this folder.

    python -m flows.reproduce --workers 8 --launch "python examples/launch/over_ray.py http://head:8265 --gpus 1 --"

Ray chooses the machine: each job reserves one core, and so many GPUs. A second try of a stage leaves out the nodes of
Ray on which the first one failed; GRAMLAB_AVOID has their ids. This side speaks HTTP with the head node's job
server and needs no Ray. `ray job submit` would not do: its job goes on when the command is ended.
"""

import argparse
import json
import os
import shlex
import signal
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

PASSED_ON = ("DVC_", "GRAMLAB_", "OMP_", "OPENBLAS_", "MKL_", "PYTHON")  # beginnings of variables' names
FINAL = {"SUCCEEDED", "FAILED", "STOPPED"}
SILENCE = 60.0  # seconds for which the job server may give no answer, for example while the head node is busy
PATIENCE = 3.0  # seconds for a job to stop; the flow waits half a second longer


def ask(address: str, question: dict[str, Any] | None = None, method: str | None = None) -> Any:
    """What the job server answers; with a token where the cluster wants one."""
    token = os.environ.get("RAY_AUTH_TOKEN")
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    data = None if question is None else json.dumps(question).encode()
    try:
        request = urllib.request.Request(address, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:  # its text says why, and urllib does not show it
        raise OSError(f"status {error.code}: {error.read().decode().strip().splitlines()[-1]}") from None


def avoidable(address: str) -> list[str]:
    """The nodes that GRAMLAB_AVOID names; none where the cluster has no other, for then the job would wait for ever."""
    avoid = os.environ.get("GRAMLAB_AVOID", "").split(",")
    nodes = ask(f"{address}/api/v0/nodes")["data"]["result"]["result"] if avoid != [""] else []
    alive = {node["node_id"] for node in nodes if node["state"] == "ALIVE"}
    return avoid if alive - set(avoid) else []


def main() -> int:
    """Run the program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="of the job server, which is the dashboard's")
    parser.add_argument("--gpus", type=float, default=0)
    parser.add_argument("words", nargs="+", help="of the program, after --")
    chosen = parser.parse_args()

    ended: list[int] = []
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda number, _: ended.append(number))
    variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON) or name == "PATH"}
    settings = [f"{name}={value}" for name, value in variables.items()]
    jobs, name = f"{chosen.address.rstrip('/')}/api/jobs/", f"gramlab-{uuid.uuid4()}"
    entrypoint = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(['env', *settings, *chosen.words])}"
    wanted: dict[str, Any] = {"entrypoint_num_cpus": 1, "entrypoint_num_gpus": chosen.gpus}
    try:
        if avoid := avoidable(chosen.address.rstrip("/")):
            wanted["entrypoint_label_selector"] = {"ray.io/node-id": f"!in({','.join(avoid)})"}
        ask(jobs, {"entrypoint": entrypoint, "submission_id": name, **wanted})
    except OSError as error:
        print(f"{chosen.address} takes no job: {error}")
        return 1

    stopped, answered = 0.0, time.monotonic()
    while True:
        try:
            if ended and not stopped:
                ask(f"{jobs}{name}/stop", method="POST")
                stopped = time.monotonic()
            job = ask(jobs + name)
            answered = time.monotonic()
        except OSError as error:
            if time.monotonic() - answered > (PATIENCE if ended else SILENCE):
                print(f"{chosen.address} gives no answer: {error}")
                return 1
            job = {"status": None}
        if job["status"] in FINAL or (stopped and time.monotonic() - stopped > PATIENCE):
            break
        time.sleep(0.1 if stopped else 0.5)
    if ended:
        return 128 + ended[0]
    print(ask(f"{jobs}{name}/logs")["logs"], end="")
    if job["status"] == "SUCCEEDED":
        return 0
    if (file := os.environ.get("GRAMLAB_NODE_FILE")) and job[
        "driver_node_id"
    ]:  # the program's own word is a host's name
        with open(file, "w") as node:
            node.write(job["driver_node_id"])
    if not job["driver_exit_code"]:  # the program itself did not end: a lost node, for example
        print(job["message"].splitlines()[0])
    return job["driver_exit_code"] or 1


if __name__ == "__main__":
    sys.exit(main())
