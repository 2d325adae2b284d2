"""`python -m tasks.compare` on real runs: a setting and an experiment are changed, and the pipeline runs again."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_pipeline import shrink

from tasks.compare import lines
from tasks.reporting.causes import Causes
from tasks.reporting.snapshot import Snapshot

CLAIMS = ("a_fig1", "b_free", "c_lemf_1", "d_svd")
EXPERIMENT = "tasks/papers/neural_collapse/experiments/d_svd.py"
HUGE = "gramlab compare: Invalid value for '--scale': 'huge' is not one of 'quick', 'paper'."
HARMLESS = "tasks/papers/fact/claims/c_lemf_1.py"
IDENTITY = ["-c", "user.name=test", "-c", "user.email=test@localhost"]


def run(clone: Path, environment, *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)


def compare(clone: Path, environment, *arguments: str) -> str:
    done = run(clone, environment, sys.executable, "-m", "tasks.compare", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


def section(text: str, heading: str) -> list[str]:
    """The indented lines below a heading."""
    lines = text.splitlines()
    (start,) = (index for index, line in enumerate(lines) if line.startswith(heading))
    below = lines[start + 1 :]
    return below[: next((index for index, line in enumerate(below) if not line.startswith("  ")), len(below))]


@pytest.fixture(scope="module")
def project(copy_project, environment):
    """The claims judged and committed; then a setting and an experiment changed, and judged again."""
    clone = copy_project("compare")
    shrink(clone, CLAIMS)
    for change in (False, True):
        if change:
            change_setting(clone)
            # the right side without signs, which breaks the claim
            edit(clone / EXPERIMENT, '"claim": h @ W.T,', '"claim": np.abs(h @ W.T),')
            with (clone / HARMLESS).open("a") as file:
                file.write("\n# a remark\n")
        done = run(clone, environment, "dvc", "repro", "report")
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        if not change:
            commit(clone, "before")
    return clone


def change_setting(clone: Path) -> None:
    raw = yaml.safe_load((clone / "params.yaml").read_text())
    raw["centered_nfa"]["simulate"]["b_free"]["quick"]["instances"] = 121
    (clone / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))


def commit(clone: Path, subject: str) -> None:
    for command in (["add", "-A"], [*IDENTITY, "commit", "-q", "-m", subject]):
        subprocess.run(["git", *command], cwd=clone, check=True)


def test_moved_verdicts_and_numbers_are_named_with_their_size(project, environment):
    text = compare(project, environment, "HEAD", "--scale", "quick")
    committed = json.loads(run(project, environment, "git", "show", "HEAD:reports/quick/claims.json").stdout)
    current = json.loads((project / "reports/quick/claims.json").read_text())
    assert (committed["D.svd"]["verdict"], current["D.svd"]["verdict"]) == ("holds", "fails")
    assert text.startswith("quick scale, HEAD -> working tree: 1 of 4 verdicts and ")
    assert "  D.svd: holds -> fails (refuted)\n" in text
    before, now = (report["D.svd"]["statements"][0]["statistic"] for report in (committed, current))
    assert f"  D.svd, U leaves NC1 alone: holds -> fails; statistic {before:.6g} -> {now:.6g}\n" in text
    numbers = section(text, "Numbers")
    assert {line.split(":")[0].strip() for line in numbers} == {"B.free", "D.svd"}
    for line in numbers:
        first, second, percent = map(float, re.search(r": (\S+) -> (\S+) \((\S+) %\)", line).groups())
        assert percent == pytest.approx(100 * abs(first - second) / max(abs(first), abs(second)), rel=0.06)


def test_json_has_the_moved_verdicts_and_all_numbers(project, environment):
    content = json.loads(compare(project, environment, "HEAD", "--scale", "quick", "--json"))["quick"]
    assert content["verdicts"] == [{"claim": "D.svd", "before": "holds", "now": "fails"}]
    assert {change["claim"] for change in content["numbers"]} == {"B.free", "D.svd"}
    text = compare(project, environment, "HEAD", "--scale", "quick")
    assert f"of {content['numbers in all']} numbers moved" in text


def test_what_changed_is_named_with_its_stages_and_claims(project, environment):
    causes = section(compare(project, environment, "HEAD"), "What changed")
    assert sorted(causes) == [
        f"  code: {EXPERIMENT} [simulate@d_svd]: D.svd",
        "  settings: centered_nfa.simulate.b_free.quick.instances: 120 -> 121 [simulate@b_free]: B.free",
    ]


def test_two_commits_compare_as_the_commit_and_the_run(project, environment, tmp_path):
    text = compare(project, environment, "HEAD", "--scale", "quick")
    subprocess.run(["git", "clone", "-q", project, tmp_path / "clone"], check=True)
    clone = tmp_path / "clone"
    for name in ("reports", "tasks", "pipeline", "params.yaml", "dvc.lock"):
        subprocess.run(["cp", "-r", project / name, clone], check=True)
    commit(clone, "after")
    assert compare(clone, environment, "HEAD~1", "HEAD", "--scale", "quick") == text.replace(
        "HEAD -> working tree", "HEAD~1 -> HEAD"
    )
    backwards = compare(clone, environment, "HEAD", "HEAD~1", "--scale", "quick")
    assert "  D.svd: fails -> holds\n" in backwards
    assert "centered_nfa.simulate.b_free.quick.instances: 121 -> 120" in backwards
    same = compare(clone, environment, "HEAD", "HEAD", "--scale", "quick")
    assert re.fullmatch(r"quick scale, HEAD -> HEAD: 4 verdicts and \d+ numbers are the same\n", same)


def test_a_number_that_moves_by_itself_is_another_machine(project, environment):
    """Other bytes of a table from the same code, data and settings."""
    lock = project / "pipeline/quick/centered_nfa/dvc.lock"
    report = project / "reports/quick/claims.json"
    before = lock.read_text(), report.read_text()
    try:
        run(project, environment, "git", "checkout", "-q", "HEAD", "--", "pipeline", "reports/quick/claims.json")
        text = lock.read_text()
        for path in ("data/quick/tables/b_free.parquet", "data/quick/findings/centered_nfa/b_free.json"):
            text = re.sub(rf"(path: {path}\n +hash: md5\n +md5: )\w+", r"\g<1>0123456789abcdef", text)
        lock.write_text(text)
        claims = json.loads(report.read_text())
        claims["B.free"]["statements"][0]["statistic"] *= 1 + 1e-6
        claims["B.free"]["statements"][0]["p"] *= 1 + 1e-13
        report.write_text(json.dumps(claims))
        text = compare(project, environment, "HEAD", "--scale", "quick")
    finally:
        run(project, environment, "git", "checkout", "-q", "HEAD", "--", "pipeline")
        lock.write_text(before[0])
        report.write_text(before[1])
    assert "0 of 4 verdicts and 1 of" in text
    assert "; differences by round-off, not shown: 1\n" in text
    (cause,) = section(text, "What changed")
    assert cause.startswith("  machine: other bytes from the same code, data and settings")
    assert cause.endswith("[simulate@b_free]: B.free")


def test_without_lock_files_git_says_what_changed(project):
    """As at the paper scale, of which git holds tables and no lock files."""

    def changed(key: str) -> dict[str, list[str]]:
        causes = Causes(Snapshot("HEAD", project), Snapshot(None, project), "paper")
        return {stage: [cause.text for cause in stage_causes] for stage, stage_causes in causes.of_claim(key).items()}

    table = project / "reports/paper/tables/d_svd.parquet"
    before = table.read_bytes()
    assert changed("d_svd") == {}  # the experiment's code is another, and its table the same
    try:
        table.write_bytes(before + b" ")
        assert changed("d_svd") == {"simulate@d_svd": [EXPERIMENT]}
    finally:
        table.write_bytes(before)
    assert changed("c_lemf_1") == {"check@c_lemf_1": [HARMLESS]}
    assert changed("a_fig1") == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "gramlab compare: nonsense is not a commit of this repository"),
        (["HEAD", "nonsense"], "gramlab compare: nonsense is not a commit of this repository"),
        (
            ["HEAD", "--scale", "huge"],
            HUGE,
        ),
    ],
)
def test_a_mistake_is_one_line(project, environment, arguments, message):
    done = run(project, environment, sys.executable, "-m", "tasks.compare", *arguments)
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (2, "", [message])


def test_a_damaged_report_and_a_missing_one_are_one_line(project, environment):
    report = project / "reports/quick/claims.json"
    text = report.read_text()
    within_a_letter = text.encode()[: text.encode().index("λ".encode()) + 1]
    damaged = []
    try:
        for content in (text[:1000].encode(), within_a_letter, b"[]", b'{"A.thm1": 1}'):
            report.write_bytes(content)
            damaged.append(run(project, environment, sys.executable, "-m", "tasks.compare", "HEAD"))
        report.unlink()
        gone = compare(project, environment, "HEAD", "--scale", "quick")
    finally:
        report.write_text(text)
    for ended in damaged:
        assert (ended.returncode, ended.stdout) == (2, "")
        (line,) = ended.stderr.splitlines()
        assert line.startswith("gramlab compare: reports/quick/claims.json of the working tree is damaged: ")
    assert gone == "quick scale, HEAD -> working tree: only HEAD has reports/quick/claims.json\n"


def committed_report(root: Path, claims: dict) -> Path:
    """A repository whose one commit has a report of these claims."""
    file = root / "reports/quick/claims.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(claims))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit(root, "before")
    return file


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"verdict": "fails"}, "no code, data or setting of its stages differs"),
        ({"p, Holm": 0.2}, "Holm's correction: another claim of the paper moved"),
        ({"p, Holm": 0.2, "p": 0.1}, "no code, data or setting of its stages differs"),
    ],
)
def test_holms_correction_is_the_cause_of_corrected_p_values_alone(change, cause, tmp_path):
    """A verdict that moves without any number has another cause, such as a hand that wrote it."""
    claim = {"verdict": "holds", "p": 0.01, "p, Holm": 0.04}
    report = committed_report(tmp_path, {"A.x": claim})
    report.write_text(json.dumps({"A.x": claim | change}))
    text = "\n".join(lines(Snapshot("HEAD", tmp_path), Snapshot(None, tmp_path), "quick"))
    (line,) = section(text, "What changed")
    assert line.startswith(f"  {cause}")
    assert line.endswith(": A.x")


def test_only_p_values_come_last_within_a_claim(tmp_path):
    """Numbers such as `positive` and those at `p = 0.5` are no p-values, and come by their size."""

    def report(factor: float) -> dict:
        numbers = {"positive": 1 + 3 * factor, "p = 0.5": 1 + 2 * factor, "slope": 1 + factor}
        p_values = dict.fromkeys(("p", "p_against", "p, Holm", "p_against, Holm"), 1 + 9 * factor)
        statement = {"name": "s", "verdict": "holds", **p_values, "numbers": numbers}
        return {"A.x": {"verdict": "holds", "statements": [statement]}}

    committed_report(tmp_path, report(0.0)).write_text(json.dumps(report(1.0)))
    text = "\n".join(lines(Snapshot("HEAD", tmp_path), Snapshot(None, tmp_path), "quick", shown=7))
    shown = [re.sub(r"  A\.x: s / (numbers / )?(.*): \S+ -> .*", r"\2", line) for line in section(text, "Numbers")]
    assert shown[:3] == ["positive", "p = 0.5", "slope"]
    assert set(shown[3:]) == {"p", "p_against", "p, Holm", "p_against, Holm"}


def committed(folder: Path, report: dict) -> Path:
    """A repository whose one commit has this report at the quick scale; the report's file."""
    file = folder / "reports/quick/claims.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(report))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    commit(folder, "before")
    return file


def between_commit_and_folder(folder: Path) -> str:
    return "\n".join(lines(Snapshot("HEAD", folder), Snapshot(None, folder), "quick"))


def test_one_number_in_one_report_is_said_in_the_singular(tmp_path):
    file = committed(tmp_path, {"A.x": {"verdict": "holds", "a": 1.0}})
    file.write_text(json.dumps({"A.x": {"verdict": "holds", "a": 1.0, "b": 2.0}}))
    assert ", 1 number is in one report only\n" in between_commit_and_folder(tmp_path)


def test_a_claim_that_one_report_lacks_is_said_to_be_in_the_other(tmp_path):
    file = committed(tmp_path, {"A.x": {"verdict": "holds", "a": 1.0}, "A.y": {"verdict": "holds", "a": 1.0}})
    file.write_text(json.dumps({"A.x": {"verdict": "holds", "a": 1.0}, "A.z": {"verdict": "holds", "a": 1.0}}))
    text = between_commit_and_folder(tmp_path)
    assert "  A.y: only in the report of HEAD\n" in text
    assert "  A.z: only in the report of the working tree\n" in text


def test_holms_correction_explains_no_verdict_that_moves_without_a_number(tmp_path):
    file = committed(tmp_path, {"A.x": {"verdict": "holds", "paper": "A", "a": 1.0}})
    file.write_text(json.dumps({"A.x": {"verdict": "fails", "paper": "A", "a": 1.0}}))
    (cause,) = section(between_commit_and_folder(tmp_path), "What changed")
    assert cause == "  no code, data or setting of its stages differs: another machine, or other packages: A.x"
