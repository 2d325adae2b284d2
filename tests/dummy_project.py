"""A dummy project laid out as this one: the real graph of its dvc.yaml files, with stages that cost nothing."""

import fcntl
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PAPER = "fact"
LEFT_OUT = ("reports/quick/atlas.json", "reports/quick/multiverse.json")  # made by stages that are not in the project
PAPERS = (PAPER, "weight_gram")  # a project has those that its settings name
IN_A_SHELL = ("measure", "check")  # kinds of stage whose commands are not of the form `python -m MODULE`
NOT_ON_GPU = ("s1",)  # of the simulations
# variables of the user's, and those of make and pytest, which may have started these tests
PERSONAL = ("PREFECT_", "CUDA_", "GRAMLAB_", "GIT_", "MAKE", "MFLAGS", "PYTEST_")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # tests of downloads name a proxy that is dead
PROGRAM = '''
"""Leave a trace, wait, and write one's outputs; fail or hang if told so."""
import json, os, subprocess, sys, time
from pathlib import Path

name = os.environ["DVC_STAGE"].split(":")[-1]
node = next((os.environ[key] for key in ("GRAMLAB_NODE", "NODE", "SLURMD_NODENAME") if key in os.environ), None)

def trace(event, **more):
    line = {"stage": name, "event": event, "time": time.time(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "node": node, **more}
    with open("trace.jsonl", "a") as file:
        file.write(json.dumps(line) + "\\n")

trace("begin")
orders = json.loads(Path("orders.json").read_text())
if name in orders.get("fail", []):
    sys.exit(name + " was told to fail")
if node in orders.get("broken", {}):  # a node's programs end so, with no output
    sys.exit(orders["broken"][node])
if name in orders.get("edit", {}):
    with open(orders["edit"][name], "a") as file:
        file.write("\\n# edited\\n")
if name in orders.get("hang", []):
    child = subprocess.Popen(["sleep", "600"])
    trace("hang", processes=[os.getpid(), child.pid])
    child.wait()
time.sleep(orders.get("seconds", 0))
verdict = {"id": "C.1", "title": "a claim", "verdict": "holds", "evidence": "exact",
           "controls": {"c": {"rejected": True}}}
if orders.get("provenance"):
    record = Path("data/quick/provenance", name.replace("simulate@", "measure@") + ".json")
    record.parent.mkdir(parents=True, exist_ok=True)
    where = {"node": Path.cwd().name} if "GRAMLAB_LAUNCHED" in os.environ else {}
    record.write_text(json.dumps({"seconds": 1.5, "made": time.time_ns(), **where}))
for out in sorted(map(Path, sys.argv[1:]), key=lambda out: out.suffix == ".svg"):  # figures last
    if out.exists() and out.parts[0] == orders.get("keep"):
        continue
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".svg" and name in orders.get("edit_at_figure", {}):
        file, moment = orders["edit_at_figure"][name]
        if moment == "during":
            out.write_text("half")
        with open(file, "a") as edited:
            edited.write("\\n# edited\\n")
    if out.suffix:
        out.write_text(json.dumps({"c": verdict} if out.parent.name == "verdicts" else name))
    else:
        out.mkdir(exist_ok=True)
        (out / "weights").write_text(name)
for source, target in orders.get("copy", {}).get(name, {}).items():
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_bytes(Path(source).read_bytes())
trace("end")
'''


def params(simulations: int, device: str = "cpu") -> dict[str, Any]:
    """One training run, some simulations, a claim on each."""
    names = [f"s{i}" for i in range(simulations)]
    return {
        "machine": {"data_root": "data/raw", "device": device, "threads": 1},
        "streams": {"root": 0},
        "data": {"roll": {"paper": {"source": "swiss_roll"}, "quick": {}}},
        PAPER: {
            "train": {"run": {"paper": {"data": "roll", "lr": 0.1}, "quick": {}}},
            "simulate": {name: {"paper": {"gpu": name not in NOT_ON_GPU}, "quick": {}} for name in names},
            "claims": {f"c_{name}": name for name in ["run", *names]},
        },
    }


def pipeline(text: str) -> dict[str, Any]:
    """A dvc.yaml with the same graph, whose commands and code are the program above."""
    content = yaml.safe_load(text)
    for kind, stage in content["stages"].items():
        body = stage.get("do", stage)
        outs = [next(iter(out)) if isinstance(out, dict) else out for out in [*body["outs"], *body.get("metrics", [])]]
        body["cmd"] = " ".join(["python", *(["stage.py"] if kind in IN_A_SHELL else ["-m", "stage"]), *outs])
        deps = (dep for dep in body["deps"] if dep.startswith(("data/", "reports/quick/")) and dep not in LEFT_OUT)
        body["deps"] = ["stage.py", *deps]
    content.pop("plots", None)
    return content


@cache
def initialised() -> "tempfile.TemporaryDirectory[str]":
    """A new git and DVC repository that projects are copies of, since `dvc init` takes a second."""
    repository = tempfile.TemporaryDirectory()
    call("git", "init", "--quiet", cwd=Path(repository.name))
    call("dvc", "init", "--quiet", cwd=Path(repository.name))
    return repository


def make(folder: Path, settings: dict[str, Any], **orders: Any) -> Path:
    """The project in a new git and DVC repository."""
    shutil.copytree(initialised().name, folder)
    (folder / "params.yaml").write_text(yaml.safe_dump(settings))
    papers = [name for name in PAPERS if name in settings]
    files = [f"pipeline/{scale}/{name}/dvc.yaml" for scale in ("quick", "paper") for name in ("data", *papers)]
    for name in ("dvc.yaml", "pipeline/paper/dvc.yaml", *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(pipeline((ROOT / name).read_text()), sort_keys=False))
    for paper in papers:
        for section, entries in settings[paper].items():
            for key in entries:
                kind = "claims" if section == "claims" else "experiments"
                file = folder / "tasks/papers" / paper / kind / f"{key}.py"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
    (folder / "stage.py").write_text(PROGRAM)
    (folder / ".gitignore").write_text("/data/\n/trace.jsonl\n/orders.json\n/home/\n/.scratch/\n__pycache__/\n")
    (folder / "orders.json").write_text(json.dumps(orders))
    (folder / ".dvcignore").write_text("__pycache__/\n")
    (folder / ".dvc/config").write_text("[core]\n    analytics = false\n    check_update = false\n")
    call("git", "add", "--all", cwd=folder)
    call("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "start", cwd=folder)
    return folder


def order(folder: Path, **orders: Any) -> None:
    """Tell the stages how to behave from now on."""
    (folder / "orders.json").write_text(json.dumps(orders))


def traces(folder: Path) -> list[dict[str, Any]]:
    """The traces of the stages, in order."""
    path = folder / "trace.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def begun(folder: Path) -> list[str]:
    """The stages that ran, in order."""
    return [trace["stage"] for trace in traces(folder) if trace["event"] == "begin"]


def until_hanging(folder: Path, seconds: float = 60) -> list[int]:
    """The processes of a stage that was told to hang, once it does."""
    assert until(lambda: any(trace["event"] == "hang" for trace in traces(folder)), seconds), traces(folder)
    return next(trace["processes"] for trace in traces(folder) if trace["event"] == "hang")


def environment(home: Path, **more: str) -> dict[str, str]:
    """No Prefect and no setting of the user's is seen or touched; everything stays on this machine."""
    inherited = {name: value for name, value in os.environ.items()
                 if not name.startswith(PERSONAL) and not name.lower().endswith("_proxy")}  # fmt: skip
    private = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1",
              "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120", "NO_COLOR": "1"}  # fmt: skip
    return {**inherited, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **private, **more}


def with_database(home: Path) -> Path:
    """Give a new home of Prefect's the empty database of a server that has run once.

    To make it takes a server some 10 s of the processor, at its first start. It is made once for each version of
    Prefect; test_flows.py and test_prefect.py start servers without it.
    """
    database = ROOT / "build/tests" / f"prefect-{version('prefect')}.db"
    database.parent.mkdir(parents=True, exist_ok=True)
    with database.with_suffix(".lock").open("w") as lock, tempfile.TemporaryDirectory() as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests wait for it
        if not database.exists():
            with server(Path(folder), environment(Path(folder), **server_variables(port()))):
                pass
            with closing(sqlite3.connect(Path(folder, "prefect.db"))) as connection:
                connection.execute("vacuum into ?", [str(Path(folder, "whole.db"))])  # with what the journal has
            shutil.copy(Path(folder, "whole.db"), database.with_suffix(".part"))
            database.with_suffix(".part").rename(database)
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(database, home / "prefect.db")
    return home


def call(*command: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(command, cwd=cwd, env=env or environment(cwd / "home"), capture_output=True, text=True)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def background(command: list[str], cwd: Path, env: dict[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A command that runs meanwhile; it and its children are gone afterwards."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        for kind, seconds in ((signal.SIGINT, 15.0), (signal.SIGKILL, 5.0)):
            if process.poll() is None:
                os.killpg(process.pid, kind)
                until(lambda: process.poll() is not None, seconds)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def alive(process: int) -> bool:
    """Whether a process of this number runs."""
    return psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE


def port() -> int:
    """A free port, below those of outgoing connections, which the system may give away before a server starts."""
    while True:
        number = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", number))
            return number


@contextmanager
def server(cwd: Path, env: dict[str, str], command: Sequence[str] = ("prefect", "server", "start")) -> Iterator[str]:
    """A Prefect server on this machine; its address. A second start takes another port, which `env` then has."""
    for seconds in (90, 180):  # a second start, since another program may take the port first
        with background(list(command), cwd, env, cwd / "server.log"):
            if until(lambda: ask(f"{env['PREFECT_API_URL']}/health") is True, seconds):
                yield env["PREFECT_API_URL"]
                return
        for database in Path(env.get("PREFECT_HOME", cwd / ".prefect")).glob("prefect.db*"):
            database.unlink()  # the next start hangs on one that is half made
        env.update(server_variables(port()))  # another program may hold the port
    raise AssertionError((cwd / "server.log").read_text())


def server_variables(free_port: int) -> dict[str, str]:
    """The environment variables of a server on this port, and of the programs that speak to it."""
    return {"PREFECT_SERVER_API_PORT": str(free_port), "PREFECT_API_URL": f"http://127.0.0.1:{free_port}/api"}


def ask(address: str, question: Any = None) -> Any:
    """What a server answers; None where there is no server."""
    data = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    try:
        with DIRECT.open(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")  # some have no body
    except urllib.error.URLError:
        return None


def until(met: Any, seconds: float, interval: float = 0.1) -> bool:
    """Wait until the condition is met, for at most so many seconds. Return whether it was met."""
    deadline = time.monotonic() + seconds
    while not met():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True
