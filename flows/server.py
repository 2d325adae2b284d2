"""The Prefect server that a flow starts if there is no other. It never outlives the flow.

The server has a separate session, so that Ctrl-C in the flow's terminal does not end it before the flow has reported
its outcome. It reads from a pipe that the flow holds open, and ends when the flow closes the pipe or dies.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socket

END_SECONDS = 2.0  # until the server must have ended by itself


@contextmanager
def embedded(log: Path, patience: float) -> Iterator[str]:
    """Run a server on this machine for the length of the block, and yield its address.

    Parameters
    ----------
    log : Path
        The file for its messages.
    patience : float
        Seconds until it must answer.

    Raises
    ------
    TimeoutError
        If the server does not answer in time, or ends at its start.
    """
    environment = {**os.environ, "PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
    code = Path(__file__).resolve().parent.parent
    # the server inherits the socket: a free port's number alone could be another program's before the server binds it
    with socket() as bound, log.open("ab") as file:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        command = [sys.executable, "-m", "flows.server", str(bound.fileno())]
        process = subprocess.Popen(
            command, cwd=code, env=environment, stdin=subprocess.PIPE, stdout=file, stderr=file,
            start_new_session=True, pass_fds=[bound.fileno()],
        )  # fmt: skip
    around_proxies()
    try:
        address = f"http://127.0.0.1:{port}/api"
        deadline = time.monotonic() + patience
        while not _answers(f"{address}/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"Prefect's server did not start; {log} says why")
            time.sleep(0.05)
        yield address
    finally:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(2 * END_SECONDS)


def around_proxies() -> None:
    """Reach this machine without the proxy that the environment may name; programs started later do the same."""
    exceptions = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [exceptions, "127.0.0.1"]))


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def end_with(pipe: int) -> None:
    """End this process when no process holds the other end of the pipe."""
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    import uvicorn

    app = "prefect.server.api.server:create_app"
    config = uvicorn.Config(app, factory=True, log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[socket(fileno=int(sys.argv[1]))])
