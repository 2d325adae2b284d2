"""Run programs on other machines by a launch command, and let a second try avoid the first machine.

A small script starts the program and writes the name of its node into a file of the shared folder. If the program
fails, the next try of its stage has GRAMLAB_AVOID in its environment: the comma-separated names of the nodes on which
it failed. The launch command chooses the node and must leave these out, by an option of its engine or as in
examples/launch.
"""

from pathlib import Path

FOLDER = Path(".scratch", "nodes")  # of a project
SCRIPT = """#!/bin/sh
# Writes the name of this node into a file, and becomes the program.
file=$1
shift
echo "${GRAMLAB_NODE:-${SLURMD_NODENAME:-$(uname -n)}}" >"$file"
exec "$@"
"""


class Launch:
    """A launch command, and the nodes on which it has run the stages of one flow."""

    def __init__(self, command: str, root: Path):
        self.command, self.folder = command, root / FOLDER
        self.tries: dict[str, list[str]] = {}  # the nodes of failed tries, by stage
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "start.sh").write_text(SCRIPT)

    def begin(self, stage: str) -> tuple[str, dict[str, str]]:
        """A prefix for the stage's command, and its environment. A later call for the stage means that a try failed."""
        file = self.folder / stage
        if stage in self.tries:
            node = file.read_text().strip() if file.is_file() else ""  # none if the program did not begin
            self.tries[stage] += [node] if node and node not in self.tries[stage] else []
        file.unlink(missing_ok=True)
        avoid = self.tries.setdefault(stage, [])
        environment = {"GRAMLAB_LAUNCHED": "1", "GRAMLAB_NODE_FILE": str(file)}  # the provenance then names the node
        environment |= {"GRAMLAB_AVOID": ",".join(avoid)} if avoid else {}
        return f"{self.command} sh {FOLDER / 'start.sh'} {FOLDER / stage}", environment
