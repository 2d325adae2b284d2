"""The documentation: its links lead somewhere, its snippets run as printed, and the site is built without a warning."""

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import torch
import yaml

from tasks.settings import Settings, read
from tests.mutants.mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in page.parts]
EXAMPLES = ("examples/launch/README.md", "examples/nodes/README.md")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md", *EXAMPLES)] + DOCS
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```\n", flags=re.S | re.M)
# a snippet, after the comment that says why it is not run, or which test runs it
SNIPPET = re.compile(r"^(?:<!-- (not run|run by):? ([^\n]+) -->\n)?```(python|sh)\n(.*?)^```", flags=re.S | re.M)
PRINTED = re.compile(r"^print\(.*\)  # ((?:-?\d+\.\d+ ?)+)$", flags=re.M)  # numbers, with the output beside them
# a snippet, and the page's next block, if this block shows what the snippet prints
SHOWN = re.compile(r"^```(?:python|sh)\n((?:(?!```).)*?)^```\n\n```text\n(.*?)^```", flags=re.S | re.M)
LANGUAGES = {"python", "sh", "yaml", "toml", "text", "markdown", "console", "{toctree}", ""}
# commands that need a clone; others run in an empty folder
OF_A_CLONE = re.compile(r"\b(git|dvc|make|claims|examples)\b|python -m (tasks|flows|tests|benchmarks)\b")
NUMBER = re.compile(r"-?\d+\.?\d*")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def snippets(page: Path) -> list[tuple[str, str, str, str]]:
    """Mark, reason, language and code of each snippet of a page."""
    return SNIPPET.findall(page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that code hosts make of a page's headings, and those that the page sets itself."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), flags=re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.fixture
def one_thread():
    """The matrices of the snippets are small: several threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def run_python(code: str, where: str, namespace: dict, shown: str) -> None:
    """Run a snippet; compare what it prints with the numbers beside its lines, and with the output below it."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, where, "exec"), namespace)
    beside = [float(number) for numbers in PRINTED.findall(code) for number in numbers.split()]
    if beside:
        lines = re.findall(r"^(?:-?\d+\.\d+ ?)+$", output.getvalue(), flags=re.M)
        printed = [float(number) for line in lines for number in line.split()]
        assert printed == pytest.approx(beside, abs=0.02), where
    if shown:
        assert NUMBER.sub("", shown).split() == NUMBER.sub("", output.getvalue()).split(), where
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (output.getvalue(), shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.005, abs=0.02), where


RUN = [page for page in PAGES if any(not mark for mark, *_ in snippets(page))]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", RUN, ids=page_name)
def test_snippets_run(page, tmp_path, monkeypatch, request, programs):
    """The snippets of a page run one after the other, as printed: in an empty folder, or in a clone if one needs it."""
    clone = any(OF_A_CLONE.search(code) for mark, _, language, code in snippets(page) if not mark and language == "sh")
    folder = request.getfixturevalue("copy_project")("docs", locks=True) if clone else tmp_path
    if any(code.startswith(". .venv/bin/activate") for mark, _, _, code in snippets(page) if not mark):
        venv.create(folder / ".venv", symlinks=True)  # where the Makefile has it
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    namespace: dict = {"__name__": page.stem}
    shown = dict(SHOWN.findall(page.read_text(encoding="utf-8")))
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    for number, (mark, _, language, code) in enumerate(snippets(page), start=1):
        where = f"{page_name(page)}, snippet {number}"
        if not mark and language == "python":
            run_python(code, where, namespace, shown.pop(code, ""))
        elif not mark:
            env = {**os.environ, "PATH": path, "PYTHONPATH": "" if clone else str(ROOT), "DVC_NO_ANALYTICS": "1"}
            done = subprocess.run(["sh", "-ec", code], env=env, capture_output=True, text=True)
            assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
            missing = set(shown.pop(code, "").splitlines()) - set(done.stdout.splitlines())
            assert not missing, f"{where}\n{done.stdout}"


NOT_RUN = [(page, code) for page in PAGES for mark, _, language, code in snippets(page) if mark and language == "sh"]


@pytest.fixture(scope="module")
def options():
    """A function: the help text of a program of the project."""
    texts: dict[tuple[str, ...], str] = {}

    def read(*words: str) -> str:
        if words not in texts:
            command = [sys.executable, "-m", *words, "--help"]
            env = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
            texts[words] = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
        return texts[words]

    return read


def test_commands_that_are_not_run_name_what_there_is(options):
    """Programs, their options, targets of make and files of commands that take too long, or need what is not here."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M)
    for page, code in NOT_RUN:
        for line in re.sub(r"\\\n", " ", code).splitlines():
            line = re.split(r"\s+#", line)[0]
            for target in re.findall(r"^make (\w+)", line):
                assert target in targets, f"{page_name(page)}: {line}"
            for module, arguments in re.findall(r"python -m ((?:tasks|flows|benchmarks|tests)[\w.]*)(.*)", line):
                parts = ROOT.joinpath(*module.split("."))
                assert parts.with_suffix(".py").exists() or (parts / "__main__.py").exists(), (
                    f"{page_name(page)}: {line}"
                )
                for option in re.findall(r"(?<=\s)--[\w-]+(?=[\s=]|$)", re.sub(r"\"[^\"]*\"", "", arguments)):
                    assert option in options(module), f"{page_name(page)}: {line}"
            for file in re.findall(r"(?:examples|benchmarks|flows)/[\w/]+\.\w+", line):
                assert (ROOT / file).exists(), f"{page_name(page)}: {line}"


def keys_of(stage: str) -> set[str]:
    """The keys of params.yaml that the program of a kind of stage takes."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    sections = {"prepare": ["data"], "measure": ["train", "simulate"], "check": ["claims"]}.get(stage, [stage])
    return {key for level in (raw, *raw.values()) for section in sections for key in level.get(section) or ()}


def test_commands_that_are_not_run_are_commands_of_what_there_is(options):
    """Their syntax, the extras and keys that they name, and the options of `gramlab`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for page, code in NOT_RUN:
        syntax = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True)
        assert not syntax.stderr, f"{page_name(page)}: {syntax.stderr}"
        for extra in re.findall(r"pip install '\.\[(\w+)\]'", code):
            assert extra in project["optional-dependencies"], f"{page_name(page)}: {extra}"
        for stage, key in re.findall(r"^python -m tasks\.(prepare|train|measure|check) (\w+) ", code, flags=re.M):
            assert key in keys_of(stage), f"{page_name(page)}: {stage} {key}"
        for command, arguments in re.findall(r"^gramlab ((?:claims |new )?\w+) (.*)", code, flags=re.M):
            for option in re.findall(r"(?<= )--[\w-]+", arguments):
                assert option in options("gramlab", *command.split()), f"{page_name(page)}: {command} {option}"


def test_every_snippet_is_found_and_has_a_known_language():
    for page in PAGES:
        fences = re.findall(r"^```(.*)\n(?:.*\n)*?```$", page.read_text(encoding="utf-8"), flags=re.M)
        assert set(fences) <= LANGUAGES, page_name(page)
        assert len(snippets(page)) == sum(language in ("python", "sh") for language in fences), page_name(page)


def pages_taken(test: Path) -> set[str]:
    """The pages whose snippets a test takes from the fixture ``printed``, which fails if it leaves one unused."""
    calls = [node for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    arguments = [call.args for call in calls if ast.unparse(call.func) == "printed"]
    parameters = [call.args for call in calls if ast.unparse(call.func) == "pytest.mark.parametrize"]
    if any(ast.unparse(first) == "page" for first, *_ in arguments):  # the test takes the pages as a parameter
        arguments += [values for name, *values in parameters if ast.literal_eval(name)[0] == "page"]
    nodes = [node for values in arguments for value in values for node in ast.walk(value)]
    return {node.value for node in nodes if isinstance(node, ast.Constant)} & set(map(page_name, PAGES))


def test_a_snippet_that_another_test_runs_is_taken_by_this_test():
    named = {(reason, page_name(page)) for page in PAGES for mark, reason, *_ in snippets(page) if mark == "run by"}
    taken = {
        (test.relative_to(ROOT).as_posix(), page)
        for test in (ROOT / "tests").rglob("test_*.py")
        if "printed(" in test.read_text(encoding="utf-8")
        for page in pages_taken(test)
    }
    assert named == taken


def data_sets(text: str) -> None:
    """Entries of ``data:`` of params.yaml."""
    entries = yaml.safe_load(text)
    for scale in ("paper", "quick"):
        settings = Settings({**read(), "data": entries}, scale)
        assert all(settings.data[key] for key in entries)


def mutants(text: str) -> None:
    """Entries of a list of mutants, which fit the code of today."""
    for entry in tomllib.loads(text)["mutant"]:
        mutant = Mutant(group="", **{**entry, "tests": tuple(entry["tests"])})
        mutant.planted_in((ROOT / mutant.file).read_text(encoding="utf-8"))
        assert all((ROOT / test.split("::")[0]).exists() for test in mutant.tests)


VALID = {"docs/how-to/data.md": data_sets, "docs/how-to/mutants.md": mutants}


def test_blocks_of_yaml_and_toml_are_valid():
    seen = set()
    for page in PAGES:
        for block in re.findall(r"^```(?:yaml|toml)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M):
            VALID[page_name(page)](block)
            seen.add(page_name(page))
    assert seen == VALID.keys()


CLAIMS = {scale: json.loads((ROOT / f"reports/{scale}/claims.json").read_text("utf-8")) for scale in ("quick", "paper")}


@pytest.mark.parametrize(
    ("page", "scales"), [("README.md", ("quick", "paper")), ("docs/tutorials/first-run.md", ("quick",))]
)
def test_a_page_counts_the_verdicts_of_the_report(page, scales):
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = re.findall(r"^\d+ claims: .+$", text, flags=re.M)
    for scale, line in zip(scales, lines, strict=True):
        counts = json.loads((ROOT / f"reports/{scale}/counts.json").read_text())
        total = counts.pop("claims")
        shown = ", ".join(
            f"{number} {verdict}" for verdict, number in counts.items() if isinstance(number, int) and number
        )
        assert line == f"{total} claims: {shown}"
        assert set(re.findall(r"\b(\d+) (?:claims|verdicts)\b", text)) == {str(total)}


def listed(sentence: str) -> list[str]:
    """The ids of the claims to whose pages the list behind a sentence of README.md leads, in its order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    items = text.partition(f"\n{sentence}\n\n")[2].partition("\n\n")[0]
    keys = re.findall(r"\]\(reports/claims/(\w+)\.md\)", items)
    assert len(keys) == len(re.findall("^- ", items, flags=re.M)) > 0
    return [name for key in keys for name, claim in CLAIMS["quick"].items() if claim["key"] == key]


def test_the_readme_lists_every_claim_that_fails_with_words_on_it():
    failing = {
        scale: [name for name in claims if claims[name]["verdict"] == "fails"] for scale, claims in CLAIMS.items()
    }
    both = [name for name in failing["quick"] if name in failing["paper"]]
    assert both == failing["quick"]  # else README needs a third list
    assert listed("These claims fail at both scales:") == both
    assert listed("These claims fail at the paper scale only:") == [
        name for name in failing["paper"] if name not in both
    ]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in failing["paper"]:
        (words,) = re.findall(
            rf"^- \[{re.escape(name)}\]\(reports/claims/\w+\.md\): (.+(?:\n  .+)*)$", text, flags=re.M
        )
        assert words.count(". ") + words.count(".\n") == 1, f"{name}: what the paper says, and what we find"
        assert 8 <= len(words.split()) <= 40, name


def test_the_readme_says_how_the_printed_numbers_fare():
    levels = [statement["verdict"] for claim in CLAIMS["paper"].values() for statement in claim["statements"]
              if statement["kind"] == "printed level"]  # fmt: skip
    assert not any(verdict.startswith("holds") for verdict in levels)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"Of {len(levels)} printed levels at the paper scale we confirm none; {levels.count('fails')} differ, "
        f"{levels.count('inconclusive')} are undecided and {levels.count('not judged')} are not compared." in text
    )


def test_the_readme_says_what_the_corrected_forms_correct():
    kinds = [claim["corrects"] for claim in CLAIMS["quick"].values() if claim["verdict"] == "holds corrected"]
    counts = [kinds.count(f"a {kind}") for kind in ("formula", "detail", "setting", "measure")]
    assert sum(counts) == len(kinds)
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("**Holds corrected**")[2].partition("\n- ")[0]
    assert [int(number) for number in re.findall(r"\b\d+\b", text)] == counts


def test_the_readme_gives_a_result_of_each_paper_that_holds_at_both_scales():
    names = listed("These results hold at both scales:")
    assert [name[0] for name in names] == ["A", "B", "C", "D"]
    assert {claims[name]["verdict"] for claims in CLAIMS.values() for name in names} == {"holds"}


class Links(HTMLParser):
    """The links of a page, its identifiers, and what it loads."""

    def __init__(self, page: Path):
        super().__init__()
        self.links, self.loaded, self.names = [], [], {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names.add(values.get("id", ""))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("script", "img", "link", "iframe", "source"):
            self.loaded += [values[key] for key in ("src", "href") if values.get(key)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "doctrees", ROOT / "docs", folder / "html"]
    done = subprocess.run([sys.executable, "-m", "sphinx", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_site_loads_nothing_from_the_web_and_its_links_lead_somewhere(site):
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html")}
    assert len(pages) > len(DOCS)
    for page, content in pages.items():
        for link in content.loaded:
            assert not urlsplit(link).netloc, f"{page}: {link}"
        for link in content.links + content.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page}: {link}"
            if target in pages and target.stem not in ("search", "genindex"):
                assert unquote(parts.fragment) in pages[target].names, f"{page}: {link}"


def test_the_site_shows_formulas_and_every_setting(site):
    assert "<math" in (site / "papers.html").read_text(encoding="utf-8")
    settings = (site / "reference/generated/settings.html").read_text(encoding="utf-8")
    for key in ("checkpoint_seconds", "weight_decay", "affordable", "init_scale", "random_labels"):
        assert f">{key}</span>" in settings


def test_the_page_on_the_four_papers_has_the_verdicts_of_the_report():
    claims = {scale: json.loads((ROOT / "reports" / scale / "claims.json").read_text()) for scale in ("quick", "paper")}
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]+\| \[(.+)\]\(.+\) \|([^|]*)\|([^|]*)\|$", text, flags=re.M)
    assert len(rows) == sum(line.startswith("| ") and "/claims/" in line for line in text.splitlines()) > 5
    for name, quick, paper in rows:
        name, _, statement = name.partition(": ")  # a row may be on a statement of a claim
        entries = [claims[scale].get(name, {}) for scale in ("quick", "paper")]
        if statement:
            entries = [next(part for part in claim["statements"] if part["name"] == statement) for claim in entries]
        verdicts = [entry.get("verdict") or "" for entry in entries]
        assert [quick.strip(), paper.strip()] == [verdict.replace("not run", "") for verdict in verdicts], name
