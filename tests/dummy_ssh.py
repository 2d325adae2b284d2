"""A stand-in for ssh, for tests and benchmarks of launch commands."""

import sys
from pathlib import Path

# as sshd does: a session and an environment of its own, another folder; the program ends with the connection
SSH = """#!{python}
import os, signal, subprocess, sys
*options, host, command = sys.argv[1:]
if os.path.exists("{folder}/lost-" + host):
    sys.exit(255)
with open("{folder}/used", "a") as file:
    file.write(host + "\\n")
remote = subprocess.Popen(["/bin/sh", "-c", command], cwd="/", env={{"NODE": host}}, start_new_session=True)
def close(*_):
    os.killpg(remote.pid, signal.SIGHUP)
    sys.exit(255)
for kind in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C reaches ssh itself too, and may be the first to do so
    signal.signal(kind, close)
sys.exit(remote.wait())
"""


def make(folder: Path) -> Path:
    """A folder with the stand-in; ``used`` in it lists the hosts in the order of their programs."""
    folder.mkdir()
    (folder / "ssh").write_text(SSH.format(python=sys.executable, folder=folder))
    (folder / "ssh").chmod(0o755)
    return folder
