"""The pipeline from outside: a real `dvc repro` on tiny settings, of a few claims, in a copy of the project."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from test_declared_stages import commands, expanded, files, outside

from flows.graph import Graph
from gramlab.files import atomic
from tasks.settings import SHARED

A, DATA = (f"pipeline/quick/{folder}/dvc.yaml" for folder in ("weight_gram", "data"))
CLAIMS = ("a_eq1", "a_thm1", "a_fig1", "a_fig4", "a_fig7", "a_tl", "b_prop2", "c_lemf_1", "d_svd")
TINY = {  # with as many cases, rows and seeds as the claims' statements need
    "train": {"epochs": 5, "snapshots": 1},
    "simulate": {},
}
NARROW = {"a_fig4": {"model": {"hidden": [32, 32, 32, 32]}}}  # the quick scale has four layers of width 256
WITNESS = """
import atexit, json, os, sys

@atexit.register
def witness():
    # which of the project's files a stage has loaded, for the test of its dependencies
    root = os.getcwd() + os.sep
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    argv = sys.orig_argv[1:]
    if len(argv) > 1 and argv[1].startswith("tasks."):
        ours = sorted(file.removeprefix(root) for file in files if file.startswith((root + "tasks", root + "gramlab")))
        with open(os.environ["WITNESS"], "a") as out:
            print(json.dumps([argv[1].removeprefix("tasks."), "".join(argv[2:3]), ours]), file=out)
"""


def shrink(project: Path, claims: tuple[str, ...] = CLAIMS) -> None:
    """A few claims, what they need, tiny settings, and a short search for counterexamples."""
    raw = yaml.safe_load((project / "params.yaml").read_text())
    papers = {name: section for name, section in raw.items() if name not in SHARED}
    experiments, sets = set(), set()
    for paper in papers.values():
        paper["claims"] = {key: of for key, of in paper["claims"].items() if key in claims}
        experiments |= set(paper["claims"].values())
    for paper in papers.values():
        for section, small in TINY.items():
            paper[section] = {key: entry for key, entry in paper[section].items() if key in experiments}
            for key, entry in paper[section].items():
                entry["quick"] = {**entry.get("quick", {}), **small, **NARROW.get(key, {})}
        sets |= {entry["paper"]["data"] for entry in paper["train"].values()}
    raw["data"] = {key: entry for key, entry in raw["data"].items() if key in sets}
    (project / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))
    shorten_search(project / "tasks/measuring/counterexamples.py")
    cells = project / "pipeline/atlas/cells.yaml"
    atlas = yaml.safe_load(cells.read_text())
    for group in atlas["groups"].values():
        group["steps"] = min(group["steps"], 3)
    for cell in atlas["slice"].values():
        cell.pop("steps", None)  # of its own, more than its group's
    cells.write_text(yaml.safe_dump({**atlas, "seeds": 2}, sort_keys=False))


def shorten_search(file: Path) -> None:
    """Few examples, which hypothesis leaves as large as it finds them: to shrink each takes most of a search's time."""
    code = file.read_text()
    for long, short in (("EXAMPLES = 300", "EXAMPLES = 20"), ("Phase.generate, Phase.shrink", "Phase.generate")):
        assert long in code
        code = code.replace(long, short)
    file.write_text(code)


def dvc(project: Path, environment, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(
        ["dvc", *arguments], cwd=project, env=environment, capture_output=True, text=True, timeout=1500
    )
    if code is not None:
        assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def write_checkpoints(project: Path, every: float) -> None:
    """Set the seconds between two checkpoints, on which no result depends."""
    raw = yaml.safe_load((project / "params.yaml").read_text())
    raw["machine"]["checkpoint_seconds"] = every
    (project / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))


def bytes_of(project: Path) -> dict[str, bytes]:
    """What the stages left, without provenance."""
    outputs = [file for file in project.glob("data/quick/**/*") if file.is_file() and "provenance" not in file.parts]
    return {str(file.relative_to(project)): file.read_bytes() for file in outputs}


@pytest.fixture(scope="module")
def project(copy_project, environment, tmp_path_factory):
    """A finished run, and which files each stage loaded on the way."""
    clone = copy_project("pipeline")
    shrink(clone)
    watch = tmp_path_factory.mktemp("witness")
    (watch / "sitecustomize.py").write_text(WITNESS)
    witnessed = {**environment, "PYTHONPATH": str(watch), "WITNESS": str(watch / "loaded.jsonl")}
    done = dvc(clone, witnessed, "repro")
    loaded = [json.loads(line) for line in (watch / "loaded.jsonl").read_text().splitlines()]
    return clone, done, {(stage, key): files for stage, key, files in loaded}


@pytest.fixture(scope="module")
def prepared(project, copy_project, environment):
    """A copy with prepared data, in which a checkpoint is written whenever one can be; nothing is trained."""
    clone = copy_project("prepared", project[0])
    write_checkpoints(clone, every=0)
    dvc(clone, environment, "repro", f"{DATA}:prepare@photos", f"{DATA}:prepare@photo_benchmarks")
    return clone


@pytest.fixture
def untrained(prepared, tmp_path):
    """The same for one test alone."""
    return shutil.copytree(prepared, tmp_path / "gramlab", symlinks=True)


def test_every_claim_gets_a_verdict(project):
    clone, _, _ = project
    claims = json.loads((clone / "reports" / "quick" / "claims.json").read_text())
    assert len(claims) == len(CLAIMS)
    needed = "id paper kind title verdict reason statements supported asserted controls printed experiment figure table"
    for claim in claims.values():
        assert set(needed.split()) <= claim.keys()
        assert claim["verdict"] in ("holds", "holds corrected", "fails", "inconclusive")
        assert {"rejected", "by"} <= next(iter(claim["controls"].values())).keys()
        assert (clone / claim["table"]).is_file()
        assert (clone / claim["figure"]).is_file()
        key = claim["id"].lower().replace(".", "_")
        assert json.loads((clone / f"data/quick/provenance/check@{key}.json").read_text())["seconds"] > 0


def test_a_second_run_runs_no_stage(project, environment):
    clone, first, _ = project
    assert "Running stage" in first.stdout
    assert "Running stage" not in dvc(clone, environment, "repro").stdout
    assert "up to date" in dvc(clone, environment, "status", *files()).stdout


def test_what_a_stage_imports_lies_under_its_dependencies(project):
    clone, _, loaded = project
    stages = expanded(clone)
    assert len(loaded) == sum(len(stage["cmd"]) for stage in stages.values())
    for name, stage in stages.items():
        for task, key in commands(stage):
            crossed = outside(set(loaded[task, key or ("" if task == "site" else "--scale")]), stage)
            assert not crossed, f"{name} imports {crossed}"


def test_forcing_a_stage_gives_the_same_bytes(project, environment):
    clone, _, _ = project
    before = bytes_of(clone)
    names = [f"{A}:train@a_fig7", *(f"{A}:{stage}" for stage in ("measure@a_fig7", "simulate@a_tl"))]
    dvc(clone, environment, "repro", "--force", "--single-item", *names, f"{A}:check@a_fig7")
    assert bytes_of(clone) == before


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(project, untrained, environment):
    """SIGKILL of the whole process group at several moments of the training stages; then a plain `dvc repro`.

    A kill while DVC writes its own files, which lasts milliseconds, is mended as docs/how-to/recovery.md says.
    """
    (clone, _, _), killed = project, untrained
    targets = [f"{A}:train@a_fig7", f"{A}:train@a_fig4"]
    kills = 0
    for seconds in (4.0, 5.5, 7.0):
        run = subprocess.Popen(
            ["dvc", "repro", *targets], cwd=killed, env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            kills += 1
        run.wait()
        Graph(killed, "quick")
    assert kills
    write_checkpoints(killed, every=20)  # after each of the remaining steps they would take most of the time
    dvc(killed, environment, "repro", *targets)
    want = {name: content for name, content in bytes_of(clone).items() if "/train/" in name}
    got = {name: content for name, content in bytes_of(killed).items() if "/train/" in name}
    assert got == {name: content for name, content in want.items() if "a_fig1" not in name}
    assert not list((killed / ".scratch").glob("*"))


def test_the_seconds_of_an_interrupted_run_count(untrained, environment):
    resumed = untrained
    name = (
        "from tasks import stage, train; one = stage.Stage('train', 'a_fig7', 'quick')\n"
        "print(train.fingerprint(one, one.settings.train['a_fig7'], stage.compute(one.settings)))"
    )
    run = {"cwd": resumed, "env": environment, "capture_output": True, "text": True, "check": True}
    folder = resumed / ".scratch" / subprocess.run([sys.executable, "-c", name], **run).stdout.strip()
    folder.mkdir(parents=True)
    (folder / "seconds").write_text("1000.000\n")
    subprocess.run([sys.executable, "-m", "tasks.train", "a_fig7"], **run)
    assert 1000 < json.loads((resumed / "data/quick/provenance/train@a_fig7.json").read_text())["seconds"] < 1100
    assert not folder.exists()


@pytest.mark.parametrize("changed", ["its own", "the machine's", "others'"])
def test_a_training_is_refused_if_its_own_settings_change_meanwhile(project, untrained, environment, changed):
    (clone, _, _), edited = project, untrained
    params = edited / "params.yaml"
    before = params.read_text()
    raw = yaml.safe_load(before)
    refused = changed != "others'"
    if changed == "its own":
        raw["weight_gram"]["train"]["a_fig7"]["quick"]["lr"] = 0.5
    elif changed == "the machine's":
        raw["machine"]["threads"] = 2
    else:  # those of another training and of a claim
        raw["weight_gram"]["train"]["a_fig4"]["quick"]["lr"] = 0.5
        raw["weight_gram"]["claims"]["a_fig7"] = "a_fig4"
    after = yaml.safe_dump(raw, sort_keys=False)  # before the training, which may end in as little time
    train = [f"{A}:train@a_fig7"]
    run = subprocess.Popen(["dvc", "repro", *train], cwd=edited, env=environment, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not list(edited.glob(".scratch/*/**/step-*.sha256")):
        time.sleep(0.002)
    assert run.poll() is None
    with atomic(params) as temporary:
        temporary.write_text(after)
    _, printed = run.communicate()
    assert bool(run.returncode) == refused
    assert ("train@a_fig7: its settings in params.yaml changed while the stage ran" in printed) == refused
    # what was trained is not lost with its record: put back, it goes on from the checkpoint
    assert bool(list(edited.glob(".scratch/*/**/step-*.sha256"))) == refused
    params.write_text(before)
    dvc(edited, environment, "repro", *train)
    assert not list((edited / ".scratch").glob("*"))
    want, got = ({n: c for n, c in bytes_of(folder).items() if "/train/a_fig7/" in n} for folder in (clone, edited))
    assert want
    assert got == want


@pytest.mark.parametrize(
    ("stage", "left"),
    [
        (f"{A}:train@a_fig1", "data/quick/train/a_fig1/data.sha256"),  # DVC hashes what it left
        ("report", "reports/quick/claims.json"),  # the first of the report's files is there
        ("site", "reports/index.html"),
    ],
)
def test_killed_while_dvc_hashes_and_in_the_report(project, environment, stage, left):
    clone, _, _ = project
    before = bytes_of(clone)
    inode_before = (clone / left).stat().st_ino
    run = subprocess.Popen(
        ["dvc", "repro", "--force", "--single-item", stage],
        cwd=clone,
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while run.poll() is None and not ((clone / left).is_file() and (clone / left).stat().st_ino != inode_before):
        time.sleep(0.002)
    assert run.poll() is None
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    Graph(clone, "quick")
    dvc(clone, environment, "repro", stage)
    assert bytes_of(clone) == before
    assert stage not in dvc(clone, environment, "status", stage).stdout


def test_a_change_reruns_what_depends_on_it_and_no_more(project, environment):
    clone, _, _ = project
    check = clone / "tasks/papers/weight_gram/claims/a_fig7.py"
    original = check.read_text()
    before = set(json.loads(dvc(clone, environment, "status", *files(), "--json").stdout))
    check.write_text(original + "\n# a remark\n")
    try:
        stale = dvc(clone, environment, "status", *files(), "--json").stdout
        assert set(json.loads(stale)) - before == {f"{A}:check@a_fig7", "report", "site"}
    finally:
        check.write_text(original)


def test_a_loss_that_becomes_nan_fails_the_stage_and_caches_nothing(project, environment):
    clone, _, _ = project
    params = clone / "params.yaml"
    original = params.read_text()
    raw = yaml.safe_load(original)
    raw["weight_gram"]["train"]["a_fig1"]["quick"]["lr"] = 1e30
    params.write_text(yaml.safe_dump(raw, sort_keys=False))
    try:
        done = dvc(clone, environment, "repro", f"{A}:train@a_fig1", code=None)
        assert done.returncode != 0
        assert re.search(r"train@a_fig1: the loss of seed \d is not a finite number at step \d+", done.stderr)
        assert not (clone / "data" / "quick" / "train" / "a_fig1").exists()
    finally:
        params.write_text(original)
    done = dvc(clone, environment, "repro", f"{A}:train@a_fig1")  # the good run comes back from the cache
    assert "is cached" in done.stdout or "didn't change" in done.stdout or "Checking out" in done.stdout


def test_a_truncated_table_is_named_and_not_judged(project, environment):
    clone, _, _ = project
    table = clone / "data" / "quick" / "tables" / "a_tl.parquet"
    complete = table.read_bytes()
    table.unlink()
    table.write_bytes(complete[:200])
    finding = clone / "data/quick/findings/weight_gram/a_tl.json"
    before = finding.read_bytes()
    command = [sys.executable, "-m", "tasks.check", "a_tl"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    table.write_bytes(complete)
    assert done.returncode == 1
    assert "a_tl.parquet: not a readable Parquet table" in done.stderr.splitlines()[-1]
    assert finding.read_bytes() == before


def test_a_check_and_the_report_load_no_torch(project, environment):
    clone, _, _ = project
    code = "import sys, tasks.check, tasks.verdicts, tasks.report, tasks.site; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=clone, env=environment, check=True)


def test_a_failed_check_keeps_the_committed_report(project, environment):
    """DVC removes what a stage makes before the stage runs; the report's files stay until new ones are there."""
    clone, _, _ = project
    params = clone / "params.yaml"
    original = params.read_text()
    before = {path: path.read_bytes() for path in (clone / "reports/quick").rglob("*") if path.is_file()}
    raw = yaml.safe_load(original)
    raw["weight_gram"]["claims"]["a_fig7"] = "a_fig77"
    params.write_text(yaml.safe_dump(raw, sort_keys=False))
    try:
        for target in ([], [f"{A}:check@a_fig7"]):
            done = dvc(clone, environment, "repro", *target, code=None)
            assert done.returncode != 0
            assert "a_fig77" in done.stderr
        assert {path: path.read_bytes() for path in before} == before
    finally:
        params.write_text(original)
    dvc(clone, environment, "repro")


def test_dvcs_own_commands_answer(project, environment):
    clone, _, _ = project
    assert f"{A}:train@a_fig4" in dvc(clone, environment, "dag", "--mermaid").stdout
    metrics = json.loads(dvc(clone, environment, "metrics", "show", "--json").stdout)
    assert metrics[""]["data"]["reports/quick/counts.json"]["data"]["claims"] == len(CLAIMS)
    plots = dvc(clone, environment, "plots", "show", "--json", "-o", str(clone / "build")).stdout
    assert "reports/quick/figures" in plots
    diff = dvc(clone, environment, "params", "diff", "--json").stdout
    assert json.loads(diff)  # the tiny settings against the committed ones
    fewer = ["--name", "fewer", "-S", "weight_gram.simulate.a_tl.quick.instances=1", f"{A}:simulate@a_tl"]
    run = dvc(clone, environment, "exp", "run", *fewer)
    assert "fewer" in dvc(clone, environment, "exp", "show", "--csv").stdout + run.stdout
