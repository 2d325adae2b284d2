"""Run a program on a worker of a Dask cluster whose machines see this folder.

    python -m flows.reproduce --workers 8 --launch "python examples/launch/over_dask.py tcp://scheduler:8786 --"

Dask chooses the worker; start workers with `--nthreads 1` where a machine should run one program at a time. A second
try of a stage leaves out the workers whose names are in GRAMLAB_AVOID. Dask cannot end a thread that runs, so the
worker asks twice a second whether the program is still wanted.
"""

import os
import signal
import subprocess
import sys
import time
import uuid

from distributed import Client, Event, get_client, get_worker

PASSED_ON = ("DVC_", "GRAMLAB_", "OMP_", "OPENBLAS_", "MKL_", "PYTHON")  # beginnings of variables' names


def work(words: list[str], folder: str, variables: dict[str, str], name: str) -> tuple[int, str]:
    """On the worker: run the program until it ends or is no longer wanted; its exit status and output."""
    unwanted = Event(name, client=get_client())
    environment = {**os.environ, **variables, "GRAMLAB_NODE": str(get_worker().name)}
    process = subprocess.Popen(words, cwd=folder, env=environment, start_new_session=True, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    while True:
        try:
            output, _ = process.communicate(timeout=0.5)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            if unwanted.is_set():
                os.killpg(process.pid, signal.SIGKILL)


def others(client: Client) -> list[str] | None:
    """The addresses of the workers that GRAMLAB_AVOID does not name; nothing where those are all or none."""
    avoid = os.environ.get("GRAMLAB_AVOID", "").split(",")
    names = {address: str(worker["name"]) for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()}
    left = [address for address, name in names.items() if name not in avoid]
    return left if 0 < len(left) < len(names) else None


def main() -> int:
    """Run the program; its exit status."""
    address, separator, *words = sys.argv[1:]
    assert separator == "--", __doc__
    variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON) or name == "PATH"}
    name = f"unwanted-{uuid.uuid4()}"
    with Client(address, set_as_default=False) as client:
        unwanted = Event(name, client=client)
        future = client.submit(work, words, os.getcwd(), variables, name, pure=False, retries=0, workers=others(client))
        ended: list[int] = []
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, lambda number, _: ended.append(number))
        while not (future.done() or ended):
            time.sleep(0.1)
        if ended:
            unwanted.set()
            future.result(timeout=2)
            return 128 + ended[0]
        status, output = future.result()
    print(output, end="")
    return int(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    sys.exit(main())
