"""A node's git whose remote asks for a password: nobody is there to answer."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from dummy_project import ROOT, call, environment

PROGRAM = """
import os, pty, sys
from flows.graph import Refused
from flows.nodes import git

os.setsid()
_, terminal = pty.openpty()
os.open(os.ttyname(terminal), os.O_RDWR)  # it is now this process's terminal, as of a worker that somebody has started
try:
    git("fetch", "--quiet", "--all", folder=sys.argv[1])
except Refused as error:
    print(error)
"""


class AsksForAPassword(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


def test_git_asks_nobody_for_a_password(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), AsksForAPassword) as remote:
        threading.Thread(target=remote.serve_forever, daemon=True).start()
        call("git", "init", "--quiet", cwd=tmp_path)
        address = f"http://127.0.0.1:{remote.server_port}/store.git"
        call("git", "remote", "add", "origin", address, cwd=tmp_path)
        env = environment(tmp_path / "home", PYTHONPATH=str(ROOT), GIT_CONFIG_GLOBAL="/dev/null", GIT_ASKPASS="")
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        remote.shutdown()
    assert "git fetch: fatal: could not read Username for" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
