"""A coordinator's clone of the dummy project and nodes' clones: no shared folder but git's and DVC's remotes."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dummy_project
import yaml
from dummy_project import ROOT, background, call, order

COPIED = ("flows", "prefect.toml", "prefect.yaml")
ATLAS = "pipeline/atlas/dvc.yaml"
CELLS = {"groups": {"g": 1}, "seeds": 2, "slice": {"a": 1}, "stages": {"first": {"b": 1}, "second": {"c": 1}}}
NODES = ("one", "two")
AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@localhost")


def make(
    folder: Path, settings: dict[str, Any] | None = None, nodes: Sequence[str] = NODES, silence: int = 40
) -> dict[str, Path]:
    """The clones, by ``coordinator`` and the names of the nodes; a run that is silent for so many seconds has died."""
    first = dummy_project.make(folder / "coordinator", settings or dummy_project.params(3), seconds=1)
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, first / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, first / name)
    (first / "flows/automations.yaml").write_text(
        (ROOT / "flows/automations.yaml").read_text().replace("within: 90", f"within: {silence}")
    )
    add_atlas(first)
    call("dvc", "remote", "add", "--quiet", "--default", "store", str(folder / "store"), cwd=first)
    commit(first)
    for name in nodes:
        call("git", "clone", "--quiet", str(first), str(folder / name), cwd=folder)
        order(folder / name, seconds=1, provenance=True)
    return {name: folder / name for name in ("coordinator", *nodes)}


def add_atlas(project: Path) -> None:
    """Give a dummy project the atlas's scale, with two stages of cells."""
    (project / ATLAS).parent.mkdir(parents=True)
    (project / ATLAS).with_name("cells.yaml").write_text(yaml.safe_dump(CELLS))
    (project / ATLAS).write_text(yaml.safe_dump(dummy_project.pipeline((ROOT / ATLAS).read_text()), sort_keys=False))


def commit(clone: Path) -> str:
    """Commit all that has changed; the commit."""
    call("git", "add", "--all", cwd=clone)
    call("git", *AUTHOR, "commit", "--quiet", "-m", "change", cwd=clone)
    return call("git", "rev-parse", "HEAD", cwd=clone).strip()


DEPLOYED = [
    ["prefect", "work-pool", "create", "nodes", "--type", "process"],
    ["prefect", "--no-prompt", "deploy", "-n", "node"],
    ["prefect", "automation", "create", "--from-file", "flows/automations.yaml"],
]


def deploy(
    clones: dict[str, Path], server: dict[str, str], commands: Sequence[Sequence[str]] = DEPLOYED
) -> dict[str, str]:
    """The environment of everybody, once the pool, the deployment and the automation are there."""
    often = {"PREFECT_WORKER_QUERY_SECONDS": "2", "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
    env = {**server, **often, "PYTHONPATH": str(ROOT)}
    for command in commands:
        call(*command, cwd=clones["coordinator"], env=env)
    return env


class Workers(dict[str, "subprocess.Popen[bytes]"]):
    """A worker in each node's clone, started when its name is asked for."""

    def __init__(self, clones: dict[str, Path], env: dict[str, str], stack):
        super().__init__()
        self.clones, self.env, self.stack = clones, env, stack
        self.command = ["GRAMLAB_CLONE=$PWD", "prefect", "worker", "start", "--pool", "nodes", "--limit", "1"]

    def __missing__(self, name: str) -> "subprocess.Popen[bytes]":
        of_node = {**self.env, "PWD": str(self.clones[name])}
        variable, *words = self.command
        command = ["sh", "-c", f"{variable} exec {shlex.join(words)} --name {name}"]
        log = self.clones[name] / "worker.log"
        self[name] = self.stack.enter_context(background(command, self.clones[name], of_node, log))
        return self[name]


def coordinate(clones: dict[str, Path], *arguments: str) -> list[str]:
    """The coordinator's command."""
    options = ["--root", str(clones["coordinator"]), "--nodes", "stage/node", "--workers", "2"]
    return [sys.executable, "-m", "flows.reproduce", *options, *arguments]


def logs(clones: dict[str, Path]) -> str:
    """What the workers have said."""
    return "".join(log.read_text() for clone in clones.values() if (log := clone / "worker.log").is_file())
