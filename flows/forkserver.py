"""A process that loads the stages' libraries once and starts each program as a copy of itself.

``python -m flows.forkserver MODULES...`` reads requests from the socket that is its standard input, one at a time: what
to run, and with it the program's output and a leash. The program runs in a process group of its own under a
supervisor. Once the other end of the leash is closed (the owner closed it, crashed, or was killed), the supervisor
interrupts the group, then terminates it, then kills it. `flows.runner` is the owner's side.

No module of this project is loaded here: a program must see the code as it is when the program starts.
"""

import contextlib
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

GRACE = ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 1.0))


def main(modules: list[str]) -> None:
    """Serve until the owner has closed the socket."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    requests = socket.socket(fileno=0)
    while True:
        message, files, *_ = socket.recv_fds(requests, 65536, 2)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            supervise(json.loads(message), *files)
            os._exit(0)
        for file in files:
            os.close(file)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def supervise(request: dict[str, Any], output: int, leash: int) -> None:
    """Run one program; at its end, or when the leash is let go, end its process group and report the exit status."""
    group = os.fork()
    if group == 0:
        os.close(leash)
        program(request, output)
    with contextlib.suppress(OSError):  # both processes set it, so that it is set before either goes on
        os.setpgid(group, group)
    os.close(output)  # its reader sees the end once the group is gone

    def watch() -> None:
        while os.read(leash, 1):
            pass
        end(group)

    threading.Thread(target=watch, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(group, 0)[1])
    end(group)
    with contextlib.suppress(OSError):
        os.write(leash, str(status if status >= 0 else 128 - status).encode())


def end(group: int) -> None:
    """End every process of the group."""
    for kind, seconds in GRACE:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, kind)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.02)


def program(request: dict[str, Any], output: int) -> None:
    """Become the program: a Python module, or a command of the shell."""
    os.setpgid(0, 0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    if request["module"] is None:
        os.execl("/bin/sh", "sh", "-c", request["command"])
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.path[0] = request["folder"]
    sys.argv = [request["module"], *request["arguments"]]
    status: Any = 1
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as error:
        status = error.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
