"""The results of a scale, made from planted verdicts in a copy of the project. tests/site tests the pages."""

import copy
import json
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gramlab import tables
from tasks import papers
from tasks.report import write_rows
from tasks.reporting.outdated import remove_others
from tasks.reporting.settings import left_out
from tasks.reporting.typesetting import number
from tasks.settings import Settings, load, read
from tasks.stage import Stage, settings_hash

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><text y="20">quick scale</text></svg>'


NOT_MEASURED = {  # claims without a finding, as the paper scale has them: their paper, and whether there is a table
    "b_fig9": ("centered_nfa", False),
    "b_prop10": ("centered_nfa", False),
    "c_fig11": ("fact", True),
}


def statement(name: str = "identity", **more) -> dict:
    control = {"statistic": 1e9, "low": None, "high": None, "p": None, "holds": None, "undecided": True,
               "rejected": True, "kept": ["this part"], "numbers": {}}  # fmt: skip
    form = {"statistic": 0.25, "low": None, "high": 8.0, "p": None, "rule": "8 u", "measured": "", "evidence": "exact",
            "numbers": {"share": 1.0}, "holds": True, "controls": {"broken": control}}  # fmt: skip
    shown = {name: form[name] for name in ("statistic", "low", "high", "p", "rule", "measured", "evidence", "numbers")}
    return {"name": name, "quote": "A is less than B", "place": "Section 1", "kind": "asserted", "printed": "a = b",
            "derived": "", "stands in": "", "forms": {"claim": form}, "verdict": "holds", "reason": "",
            "form": "printed", **shown, "rejecting controls": ["broken"], **more}  # fmt: skip


def verdict(key: str, **more) -> dict:
    paper = key[0].upper()
    return {
        "id": f"{paper}.{key[2:]}", "paper": paper, "kind": "exact", "title": f"Title of {key}", "statement": "A < B.",
        "verdict": "holds", "reason": "", "supported": 1, "asserted": 1, "deciding": "identity", "evidence": "exact",
        "measured": "", "printed": "a = b", "correction": "", "corrects": "", "experiment": "x", "scale": "quick",
        "statements": [statement()], "hypotheses": [], "smallest violations": {},
        "controls": {"broken": {"rejected": True, "by": ["identity"]}}, "data sets": [], "settings": None, **more,
    }  # fmt: skip


def write(path: Path, content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def plant(project, **changes) -> None:
    """Verdicts, figures and provenance of all claims as the stages would leave them."""
    settings, data = load("quick"), project / "data" / "quick"
    record = {"seconds": 1.5, "cores": 2, "memory_gib": 24, "gpu": "", "commit": "abc1234"}
    verdicts: dict[str, dict] = {}
    rows: dict[str, set] = {}
    for key in settings.claims:
        verdicts.setdefault(settings.paper[key], {})[key] = verdict(key, **changes.get(key, {}))
        write(data / "figures" / f"{key}.svg", FIGURE)
        experiment = settings.claims[key]
        read = {name for statement in papers.claim(settings.paper[key], key).STATEMENTS for name in statement.reads}
        rows.setdefault(experiment, set()).update(read)
        for name in (f"check@{key}", f"measure@{experiment}", f"train@{experiment}"):
            write(data / "provenance" / f"{name}.json", record)
    for experiment, names in rows.items():
        path = data / "tables" / f"{experiment}.parquet"
        measured = product(sorted(names), ("claim", "control: broken"), range(2))
        tables.write(path, [{"arm": arm, "seed": seed, "quantity": name, "value": seed + 0.5}
                            for name, arm, seed in measured])  # fmt: skip
    for paper, claims in verdicts.items():
        write(data / "verdicts" / f"{paper}.json", claims)
    for key in settings.data:
        write(data / "provenance" / f"prepare@{key}.json", record)
        write(data / "altered" / f"{key}.json", {})
    write(data / "altered" / "photos.json", {"": "JPEG-recompressed"})
    write(data / "altered" / "photo_benchmarks.json", {"CIFAR-10": "JPEG-recompressed", "CIFAR-100": "cropped"})


def own_hash(key: str) -> str:
    return settings_hash(load("quick"), "measure", key)


@pytest.fixture(scope="module")
def project(copy_project):
    clone = copy_project("report")
    shutil.rmtree(clone / "reports", ignore_errors=True)
    both = {**statement()["forms"], "corrected": {**statement()["forms"]["claim"], "statistic": 0.5}}
    equation = {"printed": "tr[Ā]", "derived": "tr[Ā²]", "verdict": "holds corrected", "form": "corrected"}
    fitted = {"name": "fit", "text": "Accuracy above 0.9.", "reason": "hypothesis not met", "statements": [],
              "forms": {"claim": {"statistic": 0.5, "low": 0.4, "high": 0.6, "holds": False}}}  # fmt: skip
    changes = {
        "a_fig4": {"verdict": "fails", "reason": "refuted", "supported": 0},
        "a_fig5": {"verdict": "inconclusive", "reason": "hypothesis not met", "hypotheses": [fitted]},
        "a_fig7": {"measured": "ρ = 0.99 against 0.70"},
        "c_fig1": {"verdict": "not run", "reason": "data or machine not here"},
        "a_fig9": {"data sets": ["CIFAR-10"]},
        "a_tl": {"verdict": "holds corrected", "correction": "The sign is +.", "corrects": "a formula"},
        "b_rmt": {"statements": [statement("(28)", forms=both, **equation)], "deciding": "(28)"},
        "a_lem1": {"smallest violations": {"claim": "H = [[0]]", "corrected": "none among 278 instances"}},
        "a_lem2": {"controls": {"broken": {"rejected": False, "by": []}}, "statements": [
            statement(**{"stands in": "A null stands in."})
        ]},
    }  # fmt: skip
    plant(clone, **changes)
    verdicts, tables_of_run = clone / "data" / "quick" / "verdicts", clone / "data" / "quick" / "tables"
    for key, (paper, measured) in NOT_MEASURED.items():
        path = verdicts / f"{paper}.json"
        judged = json.loads(path.read_text())
        path.write_text(json.dumps({name: verdict for name, verdict in judged.items() if name != key}))
        if not measured:
            (tables_of_run / f"{load('quick').claims[key]}.parquet").unlink()
    # provenance says with which settings a stage ran: A.whiten's with today's, A.eq1's experiment with others
    for name, known in (("measure@architectures", "other"), ("measure@a_whiten", own_hash("a_whiten"))):
        record = clone / "data" / "quick" / "provenance" / f"{name}.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "settings": known}))
    twice = [{"case": "test loss", "quantity": "test_loss", "arm": arm, "seed": seed, "value": factor * (seed + 1)}
             for seed in range(2) for arm, factor in (("printed", 1.0), ("code", 2.0))]  # fmt: skip
    tables.write(clone / "data" / "quick" / "tables" / "a_differences.parquet", twice)
    return clone


def report(project) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tasks.report"], cwd=project, capture_output=True, text=True)


@pytest.fixture(scope="module")
def pages(project):
    done = report(project)
    assert done.returncode == 0, done.stderr
    return project / "reports" / "quick"


def test_claims_json_has_what_readers_and_programs_need(pages):
    claims = json.loads((pages / "claims.json").read_text())
    assert list(claims) == [verdict(key)["id"] for key in load("quick").claims]
    claim = claims["A.fig7"]
    assert not {"seconds", "commit", "cores"} & claim.keys()  # so that a reproduction gives the same file
    assert claim["code"] == [f"tasks/papers/weight_gram/{kind}/a_fig7.py" for kind in ("claims", "experiments")]
    assert (claim["figure"], claim["table"]) == ("reports/quick/figures/a_fig7.svg", "data/quick/tables/a_fig7.parquet")
    shares = claims["A.fig3"]  # its experiment with A.fig8, and not its figure
    assert (shares["figure"], shares["table"]) == (
        "reports/quick/figures/a_fig3.svg",
        "data/quick/tables/a_fig8.parquet",
    )


def test_a_claim_without_a_finding_is_there_with_its_statements_and_the_reason(pages):
    """CelebA has to be downloaded; the run of B.prop10 is too long; C.fig11's table is older than its statements."""
    claims = json.loads((pages / "claims.json").read_text())
    for name, reason in (
        ("B.fig9", "data or machine not here"),
        ("B.prop10", "takes too long here"),
        ("C.fig11", "table out of date"),
    ):
        claim = claims[name]
        assert (claim["verdict"], claim["reason"]) == ("not run", reason)
        declared = papers.claim(load("quick").paper[claim["key"]], claim["key"]).STATEMENTS
        assert [(statement["name"], statement["quote"]) for statement in claim["statements"]] == [
            (statement.name, statement.quote) for statement in declared
        ]
        for statement in claim["statements"]:
            assert (statement["verdict"], statement["reason"]) == ("not judged", reason)
    counts = json.loads((pages / "counts.json").read_text())
    assert counts["claims"] == len(claims) == len(load("quick").claims)
    assert counts["not run"] == len(NOT_MEASURED) + 1  # and C.fig1
    assert sum(count for count in counts.values() if isinstance(count, int)) == 2 * counts["claims"]


def test_same_inputs_same_bytes(project, pages):
    before = {path.name: path.read_bytes() for path in pages.glob("*.*")}
    report(project)
    assert {path.name: path.read_bytes() for path in pages.glob("*.*")} == before


def test_claims_on_altered_data_are_marked(pages):
    claims = json.loads((pages / "claims.json").read_text())
    assert claims["A.fig7"]["altered"] == "JPEG-recompressed"
    assert claims["A.fig4"]["altered"] == "CIFAR-10: JPEG-recompressed; CIFAR-100: cropped"
    assert claims["A.fig9"]["altered"] == "CIFAR-10: JPEG-recompressed"  # whose claim is on that set alone
    assert claims["A.fig2"]["altered"] == ""


def test_a_claim_that_was_not_run_has_neither_figure_nor_rows(pages):
    claims = json.loads((pages / "claims.json").read_text())
    assert claims["C.fig1"]["figure"] == ""
    for folder in ("figures", "rows"):
        keys = {path.stem for path in (pages / folder).iterdir()}
        assert keys == {claim["key"] for claim in claims.values()} - {"c_fig1", *NOT_MEASURED}


def test_the_whole_table_of_every_experiment_is_in_the_report(project, pages):
    settings = load("quick")
    run = {settings.claims[key] for key in settings.claims if key not in {"c_fig1", *NOT_MEASURED}}
    assert {path.stem for path in (pages / "tables").glob("*.parquet")} == run
    for path in (pages / "tables").glob("*.parquet"):
        assert path.read_bytes() == (project / "data/quick/tables" / path.name).read_bytes()
        table, as_text = pd.read_parquet(path), path.with_suffix(".csv")
        short = len(table.loc[:, table.nunique() > 1].to_csv(index=False, float_format="%.8g").encode()) <= 300_000
        assert as_text.is_file() == short, path.name
        if short and len(table):
            read = pd.read_csv(as_text, keep_default_na=False)
            assert len(read) == len(table)
            np.testing.assert_allclose(read["value"], table["value"], rtol=1e-7)
    assert {path.suffix for path in (pages / "tables").iterdir()} == {".csv", ".parquet"}


def test_the_rows_behind_a_claim_are_those_that_its_statements_read(pages):
    table = pd.read_csv(pages / "rows" / "a_fig7.csv")
    assert set(table["quantity"]) == {name for statement in papers.claim("weight_gram", "a_fig7").STATEMENTS
                                      for name in statement.reads}  # fmt: skip
    assert len(table) == 2 * 2 * table["quantity"].nunique()  # arms and seeds
    pd.testing.assert_frame_equal(table, pd.read_parquet(pages / "rows" / "a_fig7.parquet"), check_dtype=False)


def test_results_of_other_settings_are_marked(pages):
    claims = json.loads((pages / "claims.json").read_text())
    marked = {claim["key"] for claim in claims.values() if "made with other settings" in claim["altered"]}
    assert marked == {key for key, experiment in load("quick").claims.items() if experiment == "architectures"}


def test_the_hash_is_of_a_stages_own_settings():
    before, raw = load("quick"), copy.deepcopy(read())
    raw["weight_gram"]["train"]["a_fig7"]["quick"]["lr"] = 0.123
    after = Settings(raw, "quick")
    for kind, key, same in (("train", "a_fig7", False), ("measure", "a_fig7", False), ("check", "a_fig7", True),
                            ("train", "a_fig4", True), ("prepare", "photos", True)):  # fmt: skip
        assert (settings_hash(before, kind, key) == settings_hash(after, kind, key)) == same
    raw["streams"]["root"] = 1
    fresh = Settings(raw, "quick")
    for kind, key, same in (("train", "a_fig4", False), ("measure", "a_tl", False), ("prepare", "photos", False),
                            ("check", "a_fig7", True)):  # fmt: skip
        assert (settings_hash(after, kind, key) == settings_hash(fresh, kind, key)) == same


def test_the_hash_is_of_what_settings_mean_not_of_how_they_are_written():
    raw = copy.deepcopy(read())
    run = raw["weight_gram"]["train"]["a_fig6"]["paper"]
    arms, sets = run.pop("arms"), run.pop("sets")
    run["variants"] = {f"{part} {arm}": {"part": part, **change} for part in sets for arm, change in arms.items()}
    assert settings_hash(load("paper"), "train", "a_fig6") == settings_hash(Settings(raw, "paper"), "train", "a_fig6")


def test_claims_say_what_a_small_machine_leaves_out():
    paper, quick = load("paper"), load("quick")
    assert left_out(paper, "a_fig2") == ["SVHN left out", "CIFAR-100 left out"]
    assert left_out(paper, "a_fig4") == ["CIFAR-100 left out"]  # SVHN is none of that figure's
    assert left_out(paper, "a_fig5", ["MNIST"]) == []
    assert left_out(paper, "a_fig10") == []
    assert left_out(paper, "d_fig1") == [
        "svhn left out", "samples 5000 instead of 50000", "fewer_samples 1250 instead of 12500, 25000",
        "fourier 2048 instead of 4096", "instances 6 instead of 3",
    ]  # fmt: skip
    encoder, *others = left_out(paper, "a_fig11")
    assert encoder.startswith("model ")
    assert "instead of google-bert/bert-base-uncased" in encoder
    assert "SST-2 left out" in others
    assert others[-1] == "tasks in their place: SST-2 sentences, UD English EWT POS, WNUT17 NER"
    assert "held_out 500 instead of all" in left_out(paper, "a_fig11")
    assert left_out(paper, "c_fig5")[0] == "degree 4, dimension 50, samples 50000 left out"
    assert not any(left_out(paper, key) for key in ("a_tl", "a_fig1", "c_fig6", "d_thm4_3"))
    assert not any(left_out(quick, key) for key in quick.claims)


def test_what_the_authors_code_does_otherwise_is_measured(pages):
    rows = json.loads((pages / "differences.json").read_text())["A"]
    (row,) = [row for row in rows if row["code"] == "every batch added twice"]
    assert row["effect"] == pytest.approx([2, 2, 2])


def test_numbers_are_readable():
    assert [number(value) for value in (None, 0.0, 0.12345, -2, -3.2e-17, 1e9)] == [
        "–", "0", "0.1235", "−2", "−3.2·10⁻¹⁷", "1.0·10⁹"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("data/quick/verdicts/fact.json", "dvc repro pipeline/quick/fact/dvc.yaml:verdicts@fact"),
        ("data/quick/figures/a_eq1.svg", "dvc repro pipeline/quick/weight_gram/dvc.yaml:check@a_eq1"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_makes_it(project, pages, path, says):
    content = (project / path).read_bytes()
    (project / path).unlink()
    done = report(project)
    (project / path).write_bytes(content)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert path in done.stderr
    assert says in done.stderr


def test_the_verdict_table_on_a_terminal(project, pages):
    done = subprocess.run([sys.executable, "-m", "tasks.summary"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0
    assert "A.fig7" in done.stdout
    n = len(load("quick").claims)
    assert f"{n} claims: {n - 7} holds, 1 holds corrected, 1 fails, 1 inconclusive, 4 not run" in done.stdout
    assert "hypothesis not met" in done.stdout
    assert "0 of 1 rejected" in done.stdout  # the rest of the cell is on the next lines


@pytest.mark.parametrize(("scale", "maker"), [("quick", "make repro"), ("paper", "make paper")])
def test_a_missing_report_is_named_with_the_command_of_its_scale(project, tmp_path, scale, maker):
    file = project / "reports" / scale / "claims.json"
    if file.is_file():
        file.rename(tmp_path / "claims.json")
    command = [sys.executable, "-m", "tasks.summary", "--scale", scale]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    if (tmp_path / "claims.json").is_file():
        (tmp_path / "claims.json").rename(file)
    line = f"reports/{scale}/claims.json is missing; `{maker}` makes it\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


def test_without_a_claim_that_was_run_the_folders_of_rows_and_tables_are_made(tmp_path):
    """DVC refuses a stage that has not made its outputs."""
    stage = Stage("report", "", "quick")
    stage.data, stage.reports = tmp_path / "data", tmp_path / "reports"
    write_rows(stage, [])
    assert [list((stage.reports / name).iterdir()) for name in ("rows", "tables")] == [[], []]


def test_a_folder_among_the_results_and_among_the_pages_stays(tmp_path):
    for name in ("old.svg", "new.svg", "no_ending"):
        (tmp_path / name).touch()
    (tmp_path / ".ipynb_checkpoints").mkdir()
    remove_others(tmp_path, {"new.svg"})
    assert {path.name for path in tmp_path.iterdir()} == {"new.svg", ".ipynb_checkpoints"}
    remove_others(tmp_path, {"other.html"})
    assert {path.name for path in tmp_path.iterdir()} == {".ipynb_checkpoints"}
