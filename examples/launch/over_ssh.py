"""Run a program on the first free of several hosts that see this folder.

    python -m flows.reproduce --scale paper --workers 4 --launch "python examples/launch/over_ssh.py node1,node2 --"

Each host runs one program at a time. The program starts in this folder with this environment's PATH and the variables
below. A second try of a stage leaves out the hosts in GRAMLAB_AVOID, where the first one failed. A host that ssh cannot
reach is left out for a minute by all stages. When this process ends, ssh closes the remote terminal, which ends the
program.
"""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

LOCKS = Path(".scratch", "hosts")
UNREACHED = 255  # ssh's exit status where the connection fails or breaks
LEFT_OUT = 60.0  # seconds
PASSED_ON = ("DVC_", "GRAMLAB_", "OMP_", "OPENBLAS_", "MKL_", "PYTHON")  # beginnings of variables' names


def lost(host: str) -> bool:
    """Whether ssh could not reach this host a moment ago; the times are of the folder's clock."""
    mark = LOCKS / f"{host}.lost"
    with tempfile.TemporaryFile(dir=LOCKS) as file:
        now = os.fstat(file.fileno()).st_mtime
    return mark.exists() and now - mark.stat().st_mtime < LEFT_OUT


def free_host(hosts: list[str]) -> tuple[str, TextIO]:
    """Wait for a host on which no other program of this clone runs; the host, and the lock that keeps it."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    avoid = os.environ.get("GRAMLAB_AVOID", "").split(",")
    hosts = [host for host in hosts if host not in avoid] or hosts
    while True:
        for host in [host for host in hosts if not lost(host)] or hosts:
            lock = (LOCKS / host).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return host, lock
            except BlockingIOError:
                lock.close()
        time.sleep(0.2)


def main() -> int:
    """Run the program; its exit status."""
    hosts, separator, *words = sys.argv[1:]
    assert separator == "--", __doc__
    host, lock = free_host(hosts.split(","))
    variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON) or name == "PATH"}
    settings = [f"{name}={value}" for name, value in (variables | {"GRAMLAB_NODE": host}).items()]
    remote = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(['env', *settings, *words])}"
    ssh = subprocess.Popen(["ssh", "-tt", "-o", "BatchMode=yes", host, remote], stdin=subprocess.DEVNULL)
    ended: list[int] = []
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda number, _: (ended.append(number), ssh.terminate()))
    with lock:
        status = ssh.wait()
    if status == UNREACHED and not ended:
        (LOCKS / f"{host}.lost").touch()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
