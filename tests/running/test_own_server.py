"""The Prefect server that a flow starts for itself."""

import socket
import subprocess
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from dummy_project import ask, with_database

from flows import server


def test_no_program_takes_the_port_before_the_server_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program tries to, once the flow has chosen a port and before the server's process begins."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")  # `embedded` sets them
    monkeypatch.setenv("PREFECT_HOME", str(with_database(tmp_path / "home")))
    ports: list[int] = []

    class Socket(socket.socket):
        def getsockname(self) -> tuple[str, int]:
            name = super().getsockname()
            ports.append(name[1])
            return name

    start = subprocess.Popen
    with ExitStack() as stack:

        def start_later(*arguments, **options) -> "subprocess.Popen[bytes]":
            other = stack.enter_context(closing(socket.socket()))
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                other.bind(("127.0.0.1", ports[-1]))
                other.listen()
            return start(*arguments, **options)

        monkeypatch.setattr(server, "socket", Socket)
        monkeypatch.setattr(subprocess, "Popen", start_later)
        with server.embedded(tmp_path / "log", 120) as address:
            assert address == f"http://127.0.0.1:{ports[-1]}/api"
            assert ask(f"{address}/health") is True, (tmp_path / "log").read_text()
