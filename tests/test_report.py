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
from tasks.reporting.settings import left_out
from tasks.reporting.words import number
from tasks.settings import Settings, load, read
from tasks.stage import settings_hash

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><text y="20">quick scale</text></svg>'
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"]  # fmt: skip


def statement(name: str = "identity", **more) -> dict:
    control = {"statistic": 1e9, "low": None, "high": None, "p": None, "holds": None, "rejected": True,
               "kept": ["this part"], "numbers": {}}  # fmt: skip
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
        "measured": "", "printed": "a = b", "correction": "", "experiment": "x", "scale": "quick",
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
    for key in settings.claims:
        verdicts.setdefault(settings.paper[key], {})[key] = verdict(key, **changes.get(key, {}))
        write(data / "figures" / f"{key}.svg", FIGURE)
        experiment = settings.claims[key]
        for name in (f"check@{key}", f"measure@{experiment}", f"train@{experiment}"):
            write(data / "provenance" / f"{name}.json", record)
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
    there = copy_project("report")
    shutil.rmtree(there / "reports", ignore_errors=True)
    both = {**statement()["forms"], "corrected": {**statement()["forms"]["claim"], "statistic": 0.5}}
    equation = {"printed": "tr[Ā]", "derived": "tr[Ā²]", "verdict": "holds corrected", "form": "corrected"}
    fitted = {"name": "fit", "text": "Accuracy above 0.9.", "reason": "hypothesis not met", "statements": [],
              "forms": {"claim": {"statistic": 0.5, "low": 0.4, "high": 0.6, "holds": False}}}  # fmt: skip
    changes = {
        "a_fig4": {"verdict": "fails", "reason": "refuted", "supported": 0},
        "a_fig5": {"verdict": "inconclusive", "reason": "hypothesis not met", "hypotheses": [fitted]},
        "a_fig7": {"measured": "ρ = 0.99 against 0.70"},
        "a_fig9": {"data sets": ["CIFAR-10"]},
        "a_tl": {"verdict": "holds corrected", "correction": "The sign is +."},
        "b_rmt": {"statements": [statement("(28)", forms=both, **equation)], "deciding": "(28)"},
        "a_lem1": {"smallest violations": {"claim": "H = [[0]]", "corrected": "none among 278 instances"}},
        "a_lem2": {"controls": {"broken": {"rejected": False, "by": []}}, "statements": [
            statement(**{"stands in": "A null stands in."})
        ]},
    }  # fmt: skip
    row = {"rule": "positive", "seeds": 5, "draws": 10000, "holds": 0.0246, "fails": 0.02, "wrong": ["holds"]}
    write(there / "reports" / "calibration.json", {"code": "", "rules": [row]})
    plant(there, **changes)
    # provenance says with which settings a stage ran: A.whiten's with today's, A.eq1's experiment with others
    for name, known in (("measure@architectures", "other"), ("measure@a_whiten", own_hash("a_whiten"))):
        record = there / "data" / "quick" / "provenance" / f"{name}.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "settings": known}))
    twice = [{"case": "test loss", "quantity": "test_loss", "arm": arm, "seed": seed, "value": factor * (seed + 1)}
             for seed in range(2) for arm, factor in (("printed", 1.0), ("code", 2.0))]  # fmt: skip
    tables.write(there / "data" / "quick" / "tables" / "a_differences.parquet", twice)
    repeated = {"A.fig4": ["fails"] * 5, "A.tl": ["holds corrected"] * 4 + ["inconclusive"]}
    by_root = {name: {"verdicts": {str(root): each for root, each in enumerate(verdicts, 11)}}
               for name, verdicts in repeated.items()}  # fmt: skip
    write(there / "reports" / "fresh.json", {"scale": "quick", "claims": by_root})
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
    claim = claims["A.fig7"]
    assert not {"seconds", "commit", "cores"} & claim.keys()  # so that a reproduction gives the same file
    assert claim["code"] == [f"tasks/papers/weight_gram/{kind}/a_fig7.py" for kind in ("claims", "experiments")]
    assert (claim["figure"], claim["table"]) == ("reports/quick/figures/a_fig7.svg", "data/quick/tables/a_fig7.parquet")


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


def test_statements_have_lines_of_their_own(pages):
    line = ["(28)", "A is less than B (Section 1)", "tr[Ā]", "tr[Ā²]", "0.25 (≤ 8)", "holds corrected", "broken"]
    assert f"| {' | '.join(line)} |\n" in (pages / "README.md").read_text()


def test_why_a_claim_is_not_found(pages):
    text = (pages / "README.md").read_text()
    assert "| fails: refuted | 0 of 1 |" in text
    assert "| inconclusive: hypothesis not met |" in text
    assert "Hypothesis, fit: Accuracy above 0.9. Measured: 0.5 [0.4, 0.6], not met." in text


def test_claims_on_altered_data_are_marked(pages):
    lines = (pages / "README.md").read_text().splitlines()
    names = ("fig2", "fig4", "fig7", "fig9")
    rows = {name: next(line for line in lines if line.startswith(f"| [A.{name}]")) for name in names}
    assert "ρ = 0.99 against 0.70 (JPEG-recompressed) |" in rows["fig7"]
    assert "0.25 (≤ 8) (CIFAR-10: JPEG-recompressed; CIFAR-100: cropped) |" in rows["fig4"]
    assert "0.25 (≤ 8) (CIFAR-10: JPEG-recompressed) |" in rows["fig9"]  # whose claim is on that set alone
    assert "JPEG" not in rows["fig2"]
    assert "ρ = 0.99 against 0.70 (JPEG-recompressed)</td>" in (pages / "index.html").read_text()


def test_repeated_claims_say_how_often_their_verdict_came_back(pages):
    text, page = ((pages / name).read_text() for name in ("README.md", "index.html"))
    sections = {name: text.split(f"## {name} ")[1].split("\n## ")[0] for name in ("A.fig4", "A.tl", "A.fig7")}
    assert "- Fresh seeds: came back in 5 of 5 runs with fresh seeds\n" in sections["A.fig4"]
    assert "- Fresh seeds: came back in 4 of 5 runs with fresh seeds, **fragile**\n" in sections["A.tl"]
    assert "resh seeds" not in sections["A.fig7"]
    assert page.count("runs with fresh seeds") == 2
    assert page.count(">fragile<") == 1
    assert "fresh" not in (pages / "claims.json").read_text()


def test_results_of_other_settings_are_marked(pages):
    lines = [line for line in (pages / "README.md").read_text().splitlines() if line.startswith("| [")]
    marked = {line.split("]")[0].removeprefix("| [") for line in lines if "made with other settings" in line}
    experiments = dict(load("quick").claims.items())
    assert marked == {f"{key[0].upper()}.{key[2:]}" for key, of in experiments.items() if of == "architectures"}


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


def test_planted_mistakes_are_counted_and_survivors_named(project, pages):
    mutant = {"group": "fact", "kind": "sign", "name": "x for -x", "file": "a.py", "result": "survived",
              "explained": "x is 0 < 1"}  # fmt: skip
    write(project / "reports/mutants.json", {"commit": "", "mutants": [mutant, {**mutant, "result": "killed"}]})
    assert report(project).returncode == 0
    text, page = ((pages / name).read_text() for name in ("README.md", "index.html"))
    (project / "reports/mutants.json").unlink()
    assert report(project).returncode == 0  # as the other tests find it
    assert "for 1 of 2 mistakes" in text
    assert "| sign | 2 | 1 |" in text
    assert "- `a.py`, `x for -x`: x is 0 < 1" in text
    assert "<tr><td>sign</td><td>2</td><td>1</td></tr>" in page
    assert "x for -x: x is 0 &lt; 1</li>" in page
    assert "mistakes" not in (pages / "README.md").read_text()


def test_the_authors_code_is_shown_beside_ours(project, pages):
    row = {"repository": "theirs", "commit": "abc", "function": "a.py: f", "ours": "g", "quantity": "NC1",
           "their_value": 0.02, "our_value": 0.2, "difference": 0.9, "cause": "They divide by 10.", "rest": 0.0,
           "explained": True}  # fmt: skip
    broken = {**row, "their_value": None, "difference": None, "rest": None, "quantity": "AGOP", "cause": "It stops."}
    rows = [row, broken, {**row, "cause": "", "difference": 0.0}, {**row, "rest": 0.5, "explained": False}]
    write(project / "reports/authors.json", {"comparisons": rows})
    assert report(project).returncode == 0
    text, page = ((pages / name).read_text() for name in ("README.md", "index.html"))
    (project / "reports/authors.json").unlink()
    assert report(project).returncode == 0  # as the other tests find it
    counts = (
        "Of 4 values 1 agree, 1 differ by the cause that is named, 1 cannot be computed by the authors' code, and 1"
    )
    assert counts in text
    assert counts in page
    assert "| NC1 | `a.py: f` | `g` | 0.02 | 0.2 | 0.9 | They divide by 10. | 0 |" in text
    assert "| AGOP | `a.py: f` | `g` | – | 0.2 | – | It stops. | – |" in text
    assert "<td>They divide by 10. <strong>Not explained.</strong></td><td>0.5</td>" in page
    assert "Beside the authors' code" not in (pages / "README.md").read_text()


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
    assert f"{n} claims: {n - 3} holds, 1 holds corrected, 1 fails, 1 inconclusive" in done.stdout
    assert "hypothesis not met" in done.stdout
    assert "0 of 1 rejected; kept: broken" in done.stdout


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
        assert "Quick scale" in card.locator("> small").inner_text()
        assert card.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
    provenance = page.locator("section#a_fig7 details.provenance")
    provenance.locator("summary").click()
    cells = provenance.locator("tr").nth(1).locator("td").all_text_contents()
    assert cells == ["check@a_fig7", "1.5", "2 cores, 24 GiB, no GPU", "abc1234"]
    rate = page.locator("section#a_fig4 tr.differs").filter(has_text="train.lr")
    assert rate.locator("td").all_text_contents() == ["train.lr", "0.005", "0.1"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#scoreboard a").first.click()
    assert page.url.endswith("#a_eq1")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
    context.close()


def test_all_controls_on_a_page(browser, pages):
    page = browser.new_page()
    page.goto(f"file://{pages / 'controls.html'}")
    text = page.locator("#controls").inner_text()
    assert text.count("broken") == len(load("quick").claims)
    assert "rejected (undecided alone, but significantly different from the claim; although these parts held" in text
    assert "No control can break it. A null stands in." in text
    assert "2.46 %" in page.locator("#calibration ~ div table").inner_text()
    assert "2.00 % (right)" in page.locator("#calibration ~ div table").inner_text()


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
