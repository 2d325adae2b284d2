"""DVC's own commands in a fresh clone, where no stage has run: metrics, plots and params."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tasks.reporting.counts import VERDICTS, counts, verdicts

SCALES = ("quick", "paper")


@pytest.fixture(scope="module")
def clone(copy_project, tmp_path_factory):
    """A git clone, with lock files and without data, of the project as it stands."""
    clone = tmp_path_factory.mktemp("clone") / "gramlab"
    subprocess.run(["git", "clone", "-q", copy_project("origin", locks=True), clone], check=True)
    assert not list(clone.glob("data/*/"))
    return clone


@pytest.fixture
def dvc(clone, environment):
    """A function that runs a DVC command in the clone; it may print nothing on stderr."""

    def run(*arguments: str) -> str:
        done = subprocess.run(["dvc", *arguments], cwd=clone, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def refuted(clone):
    """The claim A.fig7 held in the commit and fails in the working tree."""
    files = [clone / "reports/quick" / name for name in ("verdicts.json", "counts.json")]
    before = [path.read_text() for path in files]
    results = claims(clone, "quick")
    assert results["A.fig7"]["verdict"] == "holds"
    results["A.fig7"]["verdict"] = "fails"
    for path, content in zip(files, (verdicts(results), counts(results)), strict=True):
        path.write_text(json.dumps(content))
    yield
    for path, text in zip(files, before, strict=True):
        path.write_text(text)


def claims(clone: Path, scale: str) -> dict:
    return json.loads((clone / "reports" / scale / "claims.json").read_text())


def test_the_commands_of_the_page_run_in_a_fresh_clone(clone, environment, printed):
    (block,) = printed("docs/how-to/running.md")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    output = block.run(clone, {**environment, "PATH": path})
    assert "reports/paper/counts.json" in output
    assert (clone / "dvc_plots/index.html").as_uri() in output


@pytest.mark.parametrize("scale", SCALES)
def test_the_committed_counts_and_verdicts_are_those_of_the_claims(clone, scale):
    verdicts = {name: claim["verdict"] for name, claim in claims(clone, scale).items()}
    assert json.loads((clone / "reports" / scale / "verdicts.json").read_text()) == verdicts
    counts = json.loads((clone / "reports" / scale / "counts.json").read_text())
    assert counts.pop("claims") == len(verdicts)
    numbers = {name: count for name, count in counts.items() if isinstance(count, int)}
    assert {name: count for name, count in numbers.items() if count} == Counter(verdicts.values())
    named = {
        f"{entry[3]}.{name}": entry[6:] for entry in counts.keys() - numbers.keys() for name in counts[entry].split()
    }
    assert named == {name: verdict for name, verdict in verdicts.items() if verdict != "holds"}


def test_metrics_show_prints_a_line_of_counts_for_each_scale(clone, dvc):
    header, *lines = dvc("metrics", "show").splitlines()
    columns = re.split(r"\s{2,}", header)
    rows = {row["Path"]: row for row in (dict(zip(columns, re.split(r"\s{2,}", line), strict=True)) for line in lines)}
    assert rows.keys() == {f"reports/{scale}/counts.json" for scale in SCALES}
    assert re.split(r"\s{2,}", header)[:8] == ["Path", "claims", *sorted(VERDICTS), "of A: fails"]
    assert max(map(len, lines)) < 600
    for scale in SCALES:
        row = rows[f"reports/{scale}/counts.json"]
        assert int(row["claims"]) == len(claims(clone, scale))
        assert int(row["holds"]) == sum(claim["verdict"] == "holds" for claim in claims(clone, scale).values())


def test_metrics_diff_says_which_verdicts_moved(dvc, refuted):
    rows = json.loads(dvc("metrics", "diff", "--json"))
    assert rows.keys() == {"reports/quick/counts.json"}
    changes = rows["reports/quick/counts.json"]
    assert {name: change.get("diff") for name, change in changes.items()} == {
        "holds": -1, "fails": 1, "of A: fails": None
    }  # fmt: skip
    before, after = (set(changes["of A: fails"][end].split()) for end in ("old", "new"))
    assert (before < after, after - before) == (True, {"fig7"})
    _, *lines = dvc("metrics", "diff", "--targets", "reports/quick/verdicts.json").splitlines()
    assert [line.split() for line in lines] == [["reports/quick/verdicts.json", "A.fig7", "holds", "fails", "-"]]


def test_plots_show_has_the_figures_of_both_scales_and_no_error(clone, dvc, tmp_path):
    address = dvc("plots", "show", "-o", str(tmp_path / "plots")).strip()
    page = Path(address.removeprefix("file://")).read_text()
    for scale in SCALES:
        figures = sorted(path.name for path in (clone / "reports" / scale / "figures").glob("*.svg"))
        assert len(figures) > 60
        # the page keeps the figures as files whose names are their paths with _ for /
        assert [name for name in figures if f"reports_{scale}_figures_{name}" not in page] == []


def test_params_diff_names_the_setting_that_changed(clone, dvc):
    params = clone / "params.yaml"
    before = params.read_text()
    assert dvc("params", "diff").strip() == ""
    try:
        params.write_text(before.replace("quick: {epochs: 100, snapshots: 10}", "quick: {epochs: 99, snapshots: 10}"))
        _, line = dvc("params", "diff").splitlines()
    finally:
        params.write_text(before)
    assert line.split() == ["params.yaml", "weight_gram.train.a_fig7.quick.epochs", "100", "99"]
