"""The report, made from planted verdicts in a copy of the project, and read in a real browser without a network."""

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from gramlab import tables
from tasks.report import _altered, holm, left_out, number
from tasks.settings import Settings, load, read
from tasks.stage import fingerprint

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><text y="20">quick scale</text></svg>'
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"]  # fmt: skip


def verdict(key: str, **more) -> dict:
    paper = key[0].upper()
    return {
        "id": f"{paper}.{key[2:]}", "paper": paper, "kind": "exact", "title": f"Title of {key}", "statement": "A < B.",
        "verdict": "holds", "evidence": "exact", "statistic": 0.25, "low": None, "high": 8.0, "p": None, "rule": "8 u",
        "numbers": {"share": 1.0}, "measured": "", "part": "", "printed": "a = b", "experiment": "x", "scale": "quick",
        "printed form": {"holds": True, "statistic": 0.25, "numbers": {}}, "corrected form": None,
        "control": {"name": "broken", "statistic": 1e9, "rejected": True},
        "controls": {"broken": {"statistic": 1e9, "low": None, "high": None, "holds": None, "rejected": True,
                                "kept": ["this part"], "numbers": {}}}, **more,
    }  # fmt: skip


def plant(project, **changes) -> None:
    """Verdicts, figures and records of all claims as the stages would leave them."""
    settings = load("quick")
    for key, claim in settings.claims.items():
        path = project / "reports" / "quick" / "verdicts" / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(verdict(key, **changes.get(key, {}))))
        figure = project / "reports" / "quick" / "figures" / f"{key}.svg"
        figure.parent.mkdir(parents=True, exist_ok=True)
        figure.write_text(FIGURE)
        made = [f"check@{key}", f"figure@{key}", f"measure@{claim.experiment}", f"train@{claim.experiment}"]
        for name in [*made, *(f"prepare@{one}" for one in settings.data)]:
            record = project / "data" / "quick" / "made" / f"{name}.json"
            record.parent.mkdir(parents=True, exist_ok=True)
            altered = {"altered": "JPEG-recompressed"} if name in ("prepare@photos", "prepare@photo_benchmarks") else {}
            record.write_text(
                json.dumps({"seconds": 1.5, "cores": 2, "memory_gib": 24, "gpu": "", "commit": "abc1234", **altered})
            )


def own_fingerprint(key: str) -> str:
    return fingerprint(load("quick"), "measure", key)


@pytest.fixture(scope="module")
def project(copy_project):
    there = copy_project("report")
    shutil.rmtree(there / "reports", ignore_errors=True)
    corrected = {"what": "The sign is +.", "holds": True, "statistic": 2.0, "low": 1.0, "high": 3.0, "p": 0.001,
                 "rule": "r", "numbers": {"n": 1.0}, "evidence": "exact", "measured": "", "part": ""}  # fmt: skip
    changes = {
        "a_fig4": {"verdict": "fails", "p": 0.9},
        "a_fig7": {"p": 1e-6, "low": 0.2, "measured": "ρ = 0.99 against 0.70"},
        "a_tl": {"verdict": "holds corrected", "corrected form": corrected},
        "b_rmt": {
            "lines": [
                {
                    "name": "(28)",
                    "forms": ["tr[Ā]", "tr[Ā²]"],
                    "verdict": "holds corrected",
                    "printed": {"statistic": 0.5, "low": 0.25, "high": 0.75},
                    "control": "rejected",
                    "corrected": {"statistic": 0.0, "low": None, "high": 8.0},
                }
            ]
        },
        "a_lem1": {"smallest violations": {"claim": "H = [[0]]", "corrected": "none among 278 instances"}},
    }
    plant(there, **changes)
    # records say with which settings they were made: A.whiten's with today's, those of A.eq1's experiment with others
    for name, known in (("measure@architectures", "other"), ("measure@a_whiten", own_fingerprint("a_whiten"))):
        record = there / "data" / "quick" / "made" / f"{name}.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "settings": known}))
    twice = [{"case": "test loss", "quantity": "test_loss", "arm": arm, "seed": seed, "value": factor * (seed + 1)}
             for seed in range(2) for arm, factor in (("printed", 1.0), ("code", 2.0))]  # fmt: skip
    tables.write(there / "data" / "quick" / "tables" / "a_differences.parquet", twice)
    return there


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
    one = claims["A.fig7"]
    assert one["seconds"] == 7.5  # check, figure, measure, train, prepare
    assert claims["A.eq1"]["seconds"] == 4.5  # a Monte Carlo experiment trains nothing
    assert (one["figure"], one["table"]) == ("reports/quick/figures/a_fig7.svg", "data/quick/tables/a_fig7.parquet")
    assert one["p, Holm"] == pytest.approx(2e-6)


def test_same_inputs_same_bytes(project, pages):
    before = {path.name: path.read_bytes() for path in pages.glob("*.*")}
    report(project)
    assert {path.name: path.read_bytes() for path in pages.glob("*.*")} == before


def test_readme_lists_every_claim(pages):
    text = (pages / "README.md").read_text()
    assert "Quick scale" in text
    for key in load("quick").claims:
        assert f"| [{verdict(key)['id']}](#{key}) Title of {key} |" in text
        assert f"figures/{key}.svg" in text


def test_equations_have_lines_of_their_own(pages):
    line = ["(28)", "tr[Ā]", "tr[Ā²]", "0.5 [0.25, 0.75]", "0 (≤ 8)", "holds corrected", "rejected"]
    assert f"| {' | '.join(line)} |\n" in (pages / "README.md").read_text()
    assert "".join(f"<td>{cell}</td>" for cell in line) in (pages / "index.html").read_text()


def test_claims_on_altered_data_are_marked(pages):
    lines = (pages / "README.md").read_text().splitlines()
    rows = {name: next(line for line in lines if line.startswith(f"| [A.{name}]")) for name in ("fig2", "fig4", "fig7")}
    assert "ρ = 0.99 against 0.70 (JPEG-recompressed) |" in rows["fig7"]
    assert "0.25 (≤ 8) (JPEG-recompressed) |" in rows["fig4"]
    assert "JPEG" not in rows["fig2"]
    assert "ρ = 0.99 against 0.70 (JPEG-recompressed)</td>" in (pages / "index.html").read_text()


def test_a_claim_on_some_of_the_sets_has_the_ailments_of_those():
    record = {"altered": "CIFAR-10: JPEG-recompressed, SVHN: cropped"}
    assert _altered(record, None) == ["CIFAR-10: JPEG-recompressed", "SVHN: cropped"]
    assert _altered(record, ["MNIST", "SVHN"]) == ["SVHN: cropped"]
    assert _altered({"altered": "JPEG-recompressed"}, ["MNIST"]) == ["JPEG-recompressed"]
    assert _altered({}, None) == []


def test_records_of_other_settings_are_marked(pages):
    lines = [line for line in (pages / "README.md").read_text().splitlines() if line.startswith("| [")]
    marked = {line.split("]")[0].removeprefix("| [") for line in lines if "made with other settings" in line}
    experiments = {key: claim.experiment for key, claim in load("quick").claims.items()}
    assert marked == {f"{key[0].upper()}.{key[2:]}" for key, of in experiments.items() if of == "architectures"}


def test_the_fingerprint_is_of_a_stages_own_settings():
    before, after = (Settings(copy.deepcopy(read()), "quick") for _ in range(2))
    after.train["a_fig7"] = after.train["a_fig7"].model_copy(update={"lr": 0.123})
    after.train["a_fig7"].model_fields_set.add("lr")
    for kind, key, same in (("train", "a_fig7", False), ("measure", "a_fig7", False), ("check", "a_fig7", True),
                            ("train", "a_fig4", True), ("prepare", "photos", True)):  # fmt: skip
        assert (fingerprint(before, kind, key) == fingerprint(after, kind, key)) == same


def test_claims_say_what_a_small_machine_leaves_out():
    paper, quick = load("paper"), load("quick")
    assert left_out(paper, "a_fig2") == ["SVHN left out", "CIFAR-100 left out"]
    assert left_out(paper, "a_fig4") == ["CIFAR-100 left out"]  # SVHN is none of that figure's
    assert left_out(paper, "a_fig5") == []
    assert left_out(paper, "a_fig10") == []
    assert left_out(paper, "d_fig1") == ["cifar10 left out", "svhn left out", "samples 5000 instead of 50000"]
    assert left_out(paper, "c_fig5")[0] == "degree 4, dimension 50, samples 50000 left out"
    assert not any(left_out(paper, key) for key in ("a_tl", "a_fig1", "c_fig6", "d_thm4_3"))
    assert not any(left_out(quick, key) for key in quick.claims)


def test_smallest_violations_and_the_codes_differences_are_shown(pages):
    for name in ("README.md", "index.html"):
        text = (pages / name).read_text()
        assert "as printed: H = [[0]]" in text
        assert "corrected: none among 278 instances" in text
        assert "every batch added twice" in text
        assert "× 2 [2, 2]" in text


def test_holm_is_applied_within_a_paper():
    claims = [verdict(f"a_{name}", p=p) for name, p in (("one", 0.001), ("two", 0.02), ("three", 0.3))]
    claims[2]["verdict"] = "inconclusive"
    found = holm([*claims, verdict("b_one", p=0.02)], {})
    assert [one["verdict"] for one in found] == ["holds", "inconclusive", "inconclusive", "holds"]
    assert [one["p, Holm"] for one in found] == pytest.approx([0.003, 0.04, 0.3, 0.02])
    # a corrected form is a second chance, and counts
    twice = holm([{**verdict("b_one", p=0.02), "corrected form": {"holds": False}}], {})
    assert (twice[0]["verdict"], twice[0]["p, Holm"]) == ("inconclusive", pytest.approx(0.04))
    assert "Holm's correction over 3 forms" in found[1]["rule"]
    (one,) = holm([verdict("b_one", p=0.02)], {"A": 5, "B": 1})
    assert (one["verdict"], one["p, Holm"]) == ("inconclusive", pytest.approx(0.04))


def test_a_corrected_form_is_judged_where_the_print_does_not_survive_holm():
    form = {"what": "w", "holds": True, "statistic": 5.0, "low": 4.0, "high": 6.0, "p": 1e-5, "rule": "r",
            "numbers": {}, "evidence": "direction", "measured": "", "part": ""}  # fmt: skip
    other = verdict("a_two", p=0.5, verdict="inconclusive")
    claims = holm([verdict("a_one", p=0.02, **{"corrected form": form}), other], {})
    assert (claims[0]["verdict"], claims[0]["statistic"]) == ("holds corrected", 5.0)
    assert claims[0]["p, Holm"] == pytest.approx(3e-5)  # of two claims, one with two forms


def test_numbers_are_readable():
    assert [number(value) for value in (None, 0.0, 0.12345, -2, -3.2e-17, 1e9)] == [
        "–", "0", "0.1235", "−2", "−3.2·10⁻¹⁷", "1.0·10⁹"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("reports/quick/verdicts/a_eq1.json", "dvc repro check@a_eq1"),
        ("reports/quick/figures/a_eq1.svg", "dvc repro check@a_eq1"),
        ("data/quick/made/measure@a_tl.json", "dvc repro tables/dvc.yaml:simulate@a_tl"),
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
    done = subprocess.run([sys.executable, "-m", "tasks.verdicts"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0
    assert "A.fig7" in done.stdout
    n = len(load("quick").claims)
    assert f"{n} claims: {n - 2} holds, 1 holds corrected, 1 fails, 0 inconclusive" in done.stdout


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    assert path, "no Chromium found; `make browser` installs Debian's, or install one by hand"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield started
        started.close()


@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_it_from_disk_without_a_network(browser, pages, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"file://{pages / 'index.html'}")
    assert "Quick scale" in page.locator(".stamp").inner_text()
    claims = json.loads((pages / "claims.json").read_text())
    rows = page.locator("#scoreboard tbody tr")
    assert rows.count() == len(claims)
    for claim, row in zip(claims.values(), rows.all(), strict=True):
        assert claim["id"] in row.inner_text()
        assert claim["verdict"] in row.inner_text()
    assert "ρ = 0.99 against 0.70" in page.locator("#scoreboard").inner_text()
    assert "The sign is +." in page.locator("#errata + ul").inner_text()
    for key in load("quick").claims:
        card = page.locator(f"section#{key}")
        assert "Quick scale" in card.locator("small").inner_text()
        assert card.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
    rate = page.locator("section#a_fig4 tr.differs").filter(has_text="train.lr")
    assert rate.locator("td").all_text_contents() == ["train.lr", "0.005", "0.1"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#scoreboard a").first.click()
    assert page.url.endswith("#a_eq1")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
    context.close()


READ = """svg => {
    const frame = svg.getBoundingClientRect(), found = [];
    const ofOneLine = text => text.textContent.trim() && !text.querySelector('tspan');
    const texts = [...svg.querySelectorAll('text')].filter(ofOneLine);
    texts.forEach((text, i) => {
        const box = text.getBoundingClientRect(), says = text.textContent.trim();
        const beyond = [frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom];
        if (Math.max(...beyond) > 1)
            found.push(says + ' is cut off');
        for (const other of texts.slice(0, i)) {
            const at = other.getBoundingClientRect();
            if (Math.min(box.right, at.right) - Math.max(box.left, at.left) > 2
                && Math.min(box.bottom, at.bottom) - Math.max(box.top, at.top) > 4)
                found.push(says + ' lies on ' + other.textContent.trim());
        }
    });
    return found;
}"""


def test_a_figures_text_can_be_read(browser):
    """Nothing is cut off or lies on something else; ticks' powers, whose boxes are larger than they, aside."""
    page = browser.new_page(viewport={"width": 1400, "height": 1400})
    cases = {"": [], '<text x="8" y="33">over it</text>': ["over it lies on quick scale"],
             '<text x="90" y="9">beyond</text>': ["beyond is cut off"]}  # fmt: skip
    for more, expected in cases.items():
        page.set_content(FIGURE.replace("</svg>", more + "</svg>"))
        assert page.locator("svg").evaluate(READ) == expected
    for path in Path("reports").glob("*/figures/*.svg"):
        page.set_content(path.read_text())
        assert page.locator("svg").evaluate(READ) == [], path
