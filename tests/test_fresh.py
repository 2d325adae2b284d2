"""Verdicts on fresh seeds: real runs of a few claims with tiny settings, and the counts of what came back."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import dummy_project
import pytest
import yaml
from test_pipeline import shrink

import flows.fresh
from tasks.reporting import fresh

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ("a_fig7", "a_tl", "b_free", "c_lemf_1", "d_svd")  # verdicts need a claim of each paper
ROOTS = ("11", "12")
COMMITTED = {"A.fig7": "fails", "A.tl": "holds", "B.free": "holds", "C.lemF.1": "holds", "D.svd": "holds"}


def repeat(project: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "flows.fresh", *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=1500)


def verdicts(project: Path, root: str) -> dict[str, str]:
    """What a root's run has left, by claim."""
    files = sorted((project / ".scratch/fresh" / root / "data/quick/verdicts").glob("*.json"))
    return {claim["id"]: claim["verdict"] for file in files for claim in json.loads(file.read_text()).values()}


def tables(project: Path, root: str) -> dict[str, tuple[bytes, int]]:
    """Bytes of a root's tables, and when they were written."""
    files = (project / ".scratch/fresh" / root / "data/quick/tables").glob("*.parquet")
    return {file.stem: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.fixture(scope="module")
def environment(environment, tmp_path_factory):
    """With one Prefect server for all runs; those of tests/atlas/test_fresh_atlas.py start their own."""
    home = tmp_path_factory.mktemp("server")
    folder = dummy_project.with_database(home / "home")
    private = dummy_project.environment(folder, **dummy_project.server_variables(dummy_project.port()))
    with dummy_project.server(home, private):
        yield {**private, **{name: environment[name] for name in ("PYTHONPATH", "DVC_NO_ANALYTICS")}}


@pytest.fixture(scope="module")
def project(copy_project, environment):
    """A project of five claims, and one call on two roots."""
    clone = copy_project("fresh")
    shrink(clone, CLAIMS)
    (clone / "reports/quick/claims.json").write_text(json.dumps({k: {"verdict": v} for k, v in COMMITTED.items()}))
    return clone, repeat(clone, environment, *ROOTS)


def test_counts_are_those_of_a_count_by_hand(project):
    clone, done = project
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((clone / fresh.FILE).read_text())
    assert record["roots"].keys() == set(ROOTS)
    assert all(root["seconds"] > 0 for root in record["roots"].values())
    by_root = {root: verdicts(clone, root) for root in ROOTS}
    assert record["claims"].keys() == by_root["11"].keys() == COMMITTED.keys()
    for name, claim in record["claims"].items():
        assert claim["verdicts"] == {root: by_root[root][name] for root in ROOTS}
        count = 0
        for root in ROOTS:
            if by_root[root][name] == COMMITTED[name]:
                count += 1
        assert (claim["came back"], claim["runs"], claim["share"]) == (count, 2, count / 2)
        assert claim["fragile"] == (count < 2)


def test_each_root_draws_other_numbers_and_the_project_is_left_alone(project):
    clone, _ = project
    for root in ROOTS:
        settings = yaml.safe_load((clone / ".scratch/fresh" / root / "params.yaml").read_text())
        assert settings["streams"]["root"] == int(root)
        assert settings == {**yaml.safe_load((clone / "params.yaml").read_text()), "streams": settings["streams"]}
    first, second = (tables(clone, root) for root in ROOTS)
    assert first.keys() == second.keys() >= {"a_fig7", "a_tl", "b_free"}
    assert all(first[key][0] != second[key][0] for key in ("a_fig7", "a_tl"))
    assert not (clone / "data/quick").exists()


def test_a_second_call_runs_only_what_has_changed(project, environment):
    """An edit of a simulation's settings repeats this experiment alone; a lost table comes back with the same bytes."""
    clone, _ = project
    before = {root: tables(clone, root) for root in ROOTS}
    params = clone / "params.yaml"
    raw = yaml.safe_load(params.read_text())
    raw["weight_gram"]["simulate"]["a_tl"]["quick"]["instances"] += 1
    params.write_text(yaml.safe_dump(raw, sort_keys=False))
    (clone / ".scratch/fresh/12/data/quick/tables/a_fig7.parquet").unlink()
    done = repeat(clone, environment, *ROOTS)
    assert done.returncode == 0, done.stdout + done.stderr
    for root in ROOTS:
        after = tables(clone, root)
        assert after["a_tl"][0] != before[root]["a_tl"][0]
        assert after["b_free"] == before[root]["b_free"]
        assert after["a_fig7"][0] == before[root]["a_fig7"][0]
    assert tables(clone, "11")["a_fig7"] == before["11"]["a_fig7"]


def test_roots_that_ran_elsewhere_are_kept(project, environment):
    """The kept root has a verdict that no run here gives; it counts against the report's verdict of today."""
    clone, _ = project
    record = json.loads((clone / fresh.FILE).read_text())
    record["roots"]["99"] = {"seconds": 1.0}
    for claim in record["claims"].values():
        claim["verdicts"] = {"11": "another", "99": "from elsewhere"}
    (clone / fresh.FILE).write_text(json.dumps(record))
    done = repeat(clone, environment, "11", "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    merged = json.loads((clone / fresh.FILE).read_text())
    assert merged["roots"].keys() == {"11", "12", "99"}
    assert merged["roots"]["99"] == {"commit": record["commit"], "seconds": 1.0}
    by_hand = verdicts(clone, "11")
    for name, claim in merged["claims"].items():
        assert claim["verdicts"] == {"11": by_hand[name], "99": "from elsewhere"}
        assert (claim["came back"], claim["runs"]) == (int(by_hand[name] == COMMITTED[name]), 2)
    # roots 12 and 99 ran with other settings of A.tl, and of no other claim
    params = clone / "params.yaml"
    raw = yaml.safe_load(params.read_text())
    raw["weight_gram"]["simulate"]["a_tl"]["quick"]["instances"] += 1
    params.write_text(yaml.safe_dump(raw, sort_keys=False))
    done = repeat(clone, environment, "11", "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    after = json.loads((clone / fresh.FILE).read_text())["claims"]
    assert after["A.tl"]["verdicts"].keys() == {"11"}
    assert all(claim["verdicts"].keys() == {"11", "99"} for name, claim in after.items() if name != "A.tl")
    assert len({claim["settings"]["11"] for claim in after.values()}) == len(after)


def test_a_root_that_fails_leaves_the_record_alone(project, environment):
    """Else a root could be left out because of its outcome."""
    clone, _ = project
    before = (clone / fresh.FILE).read_bytes()
    broken = clone / "tasks/papers/weight_gram/claims/a_tl.py"
    code = broken.read_text()
    broken.write_text(code.replace("STATEMENTS = (", "NO_STATEMENTS = ("))
    done = repeat(clone, environment, ROOTS[0])
    broken.write_text(code)
    assert done.returncode == 1
    assert "root 11 failed" in done.stderr
    assert (clone / fresh.FILE).read_bytes() == before
    assert repeat(clone, environment, "0").returncode == repeat(clone, environment, "11", "11").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["11", "--scale", "atls"],
            "Invalid value for '--scale': 'atls' is not one of 'quick', 'atlas'; did you mean 'atlas'?",
        ),
        (["11", "11"], "Invalid value: each root counts once"),
        ([], "Missing argument 'roots'."),
    ],
)
def test_a_mistake_is_one_line(arguments, line):
    command = [sys.executable, "-m", "flows.fresh", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{line}\n")


PLAIN = {**os.environ, "PYTHONPATH": "", "DVC_NO_ANALYTICS": "1"}  # for calls that start no server
SLOW_TO_END = """
import signal, sys, time
from pathlib import Path

def end(number, frame):
    time.sleep(1)
    Path("ended").touch()
    sys.exit(130)

for kind in (signal.SIGINT, signal.SIGTERM):
    signal.signal(kind, end)
Path("begun").touch()
time.sleep(60)
"""


@pytest.fixture(scope="module")
def untouched(copy_project):
    """A project whose flow, once it is interrupted, takes longer to end than `subprocess.run` waits."""
    clone = copy_project("untouched")
    (clone / "flows/reproduce.py").write_text(SLOW_TO_END)
    return clone


def refused(project: Path, *arguments: str, **environment: str) -> str:
    """The line that refuses a call; nothing has been copied then."""
    done = repeat(project, {**PLAIN, **environment}, *arguments)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
    assert done.returncode in (1, 2)
    assert not (project / ".scratch/fresh").exists()
    return done.stderr


def test_mistakes_are_found_before_the_roots_run(untouched):
    report, record = (untouched / name for name in ("reports/quick/claims.json", fresh.FILE))
    before = report.read_text(), record.read_text()
    record.unlink()
    missing = refused(untouched, "11", "--keep")
    record.write_text(before[1][:100])
    damaged = refused(untouched, "11", "--keep")
    record.write_text(before[1])
    claims = json.loads(before[0])
    report.write_text(json.dumps({**claims, "A.new": claims.pop("A.fig7")}))
    other = refused(untouched, "11")
    report.write_text(before[0])
    assert missing == "Invalid value: reports/fresh.json is missing; without --keep it is made anew\n"
    assert damaged.startswith("Invalid value: reports/fresh.json is damaged (")
    assert other == (
        "Invalid value: reports/quick/claims.json has other claims than params.yaml; `make repro` makes it anew\n"
    )


@pytest.mark.parametrize("variable", ["GIT_DIR", "PATH"])
def test_without_a_repository_or_without_git_a_call_is_refused_in_one_line(untouched, variable):
    line = refused(untouched, "11", **{variable: "/nowhere"})
    assert line.startswith("git cannot list the project's files: ")


def test_a_file_whose_name_is_no_utf_8_is_copied(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "params.yaml").write_text("streams:\n  root: 0\n")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").touch()
    name = os.fsdecode(b"caf\xe9.md")  # in Latin-1
    (tmp_path / name).write_text("a note")
    monkeypatch.setattr(flows.fresh, "ROOT", tmp_path)
    assert (flows.fresh.copy(11) / name).read_text() == "a note"


@pytest.mark.parametrize(
    ("kill", "kind", "status"),
    [(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)],  # a terminal's, and that of `kill`
)
def test_a_call_that_is_ended_waits_for_the_flow_to_end(untouched, kill, kind, status):
    copy = untouched / ".scratch/fresh/11"
    command = [sys.executable, "-m", "flows.fresh", "11"]
    process = subprocess.Popen(command, cwd=untouched, env=PLAIN, start_new_session=True)
    try:
        assert dummy_project.until((copy / "begun").exists, 120)
        kill(process.pid, kind)
        assert process.wait(30) == status
        assert (copy / "ended").exists()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(copy)


@pytest.mark.parametrize(("count", "runs", "fragile"), [(10, 10, False), (9, 10, False), (8, 10, True), (4, 5, True),
                                                        (5, 5, False), (0, 1, True), (18, 20, False)])  # fmt: skip
def test_fragile_is_what_came_back_in_fewer_than_9_of_10(count, runs, fragile):
    by_root = {str(root): "holds" if root < count else "fails" for root in range(runs)}
    assert fresh.came_back("holds", by_root)["fragile"] == fragile


def test_the_report_counts_against_its_own_verdicts(tmp_path, monkeypatch):
    monkeypatch.setattr(fresh, "ROOT", tmp_path)
    assert fresh.fresh_runs("quick", {"A.tl": "holds"}) == {}
    (tmp_path / "reports").mkdir()
    claims = {"A.tl": {"verdict": "fails", "verdicts": {"1": "holds", "2": "holds", "3": "fails"}}, "A.old": {}}
    (tmp_path / fresh.FILE).write_text(json.dumps({"scale": "quick", "claims": claims}))
    runs = fresh.fresh_runs("quick", {"A.tl": "holds", "B.new": "fails"})
    assert runs == {"A.tl": {"came back": 2, "runs": 3, "share": 2 / 3, "fragile": True}}
    assert fresh.fresh_runs("paper", {"A.tl": "holds"}) == {}
