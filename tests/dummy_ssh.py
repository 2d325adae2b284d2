"""A stand-in for ssh, for tests and benchmarks of launch commands."""

import sys
from pathlib import Path

# A second process stands in for sshd: it gives the program a session and an environment of its own and another folder,
# and hangs up on it when the connection ends, even if ssh was killed.
SSH = """#!{python}
import os, signal, subprocess, sys
*options, host, command = sys.argv[1:]
if os.path.exists("{folder}/lost-" + host):
    sys.exit(255)
with open("{folder}/used", "a") as file:
    file.write(host + "\\n")
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, which may run the tests, ignores it
remote = subprocess.Popen(["/bin/sh", "-c", command], cwd="/", env={{"NODE": host}}, start_new_session=True)
sshd_end, connection = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.close(connection)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.read(sshd_end, 1)
    try:
        os.killpg(remote.pid, signal.SIGHUP)
    finally:
        os._exit(0)
for kind in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C reaches ssh itself too, and may be the first to do so
    signal.signal(kind, lambda *_: sys.exit(255))
sys.exit(remote.wait())
"""


def make(folder: Path) -> Path:
    """A folder with the stand-in; ``used`` in it lists the hosts in the order of their programs."""
    folder.mkdir()
    (folder / "ssh").write_text(SSH.format(python=sys.executable, folder=folder))
    (folder / "ssh").chmod(0o755)
    return folder
