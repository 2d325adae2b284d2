"""The documentation: its links lead somewhere, its snippets run as printed, and the site is built without a warning."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in page.parts]
EXAMPLES = ("examples/launch/README.md", "examples/nodes/README.md")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md", *EXAMPLES)] + DOCS
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```\n", flags=re.S | re.M)
# a snippet, after the comment that says why it is not run, or which test runs it
SNIPPET = re.compile(r"^(?:<!-- (not run|run by):? ([^\n]+) -->\n)?```(python|sh)\n(.*?)^```", flags=re.S | re.M)
PRINTED = re.compile(r"^print\(.*\)  # (-?\d+\.\d+)$", flags=re.M)  # a number, with the output beside it
# a snippet of Python, and the page's next block, if this block shows what the snippet prints
SHOWN = re.compile(r"^```python\n((?:(?!```).)*?)^```\n\n```text\n(.*?)^```", flags=re.S | re.M)
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
    beside = [float(number) for number in PRINTED.findall(code)]
    if beside:
        printed = [float(number) for number in re.findall(r"^-?\d+\.\d+$", output.getvalue(), flags=re.M)]
        assert printed == pytest.approx(beside, abs=0.02), where
    if shown:
        assert NUMBER.sub("", shown).split() == NUMBER.sub("", output.getvalue()).split(), where
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (output.getvalue(), shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.005, abs=0.02), where


RUN = [page for page in PAGES if any(not mark for mark, *_ in snippets(page))]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", RUN, ids=page_name)
def test_snippets_run(page, tmp_path, monkeypatch, request):
    """The snippets of a page run one after the other, as printed: in an empty folder, or in a clone if one is of sh."""
    shell = any(language == "sh" for mark, _, language, _ in snippets(page) if not mark)
    folder = request.getfixturevalue("copy_project")("docs", locks=True) if shell else tmp_path
    monkeypatch.chdir(folder)
    namespace: dict = {"__name__": page.stem}
    shown = dict(SHOWN.findall(page.read_text(encoding="utf-8")))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for number, (mark, _, language, code) in enumerate(snippets(page), start=1):
        where = f"{page_name(page)}, snippet {number}"
        if not mark and language == "python":
            run_python(code, where, namespace, shown.pop(code, ""))
        elif not mark:
            env = {**os.environ, "PATH": path, "PYTHONPATH": "", "DVC_NO_ANALYTICS": "1"}
            done = subprocess.run(["sh", "-ec", code], env=env, capture_output=True, text=True)
            assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"


NOT_RUN = [(page, code) for page in PAGES for mark, _, language, code in snippets(page) if mark and language == "sh"]


@pytest.fixture(scope="module")
def options():
    """A function: the help text of a program of the project."""
    texts: dict[str, str] = {}

    def read(module: str) -> str:
        if module not in texts:
            command = [sys.executable, "-m", module, "--help"]
            env = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
            texts[module] = subprocess.run(
                command, cwd=ROOT, env=env, capture_output=True, text=True, check=True
            ).stdout
        return texts[module]

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


def test_a_snippet_that_is_not_run_says_why():
    for page in PAGES:
        for mark, reason, _, code in snippets(page):
            if mark == "run by":
                test = ROOT / reason
                assert test.exists(), f"{page_name(page)}: {code}"
        text = page.read_text(encoding="utf-8")
        assert len(snippets(page)) == len(re.findall(r"^```(?:python|sh)$", text, flags=re.M)), page_name(page)


def test_the_readme_counts_the_verdicts_of_the_report():
    counts = json.loads((ROOT / "reports/quick/counts.json").read_text())
    shown = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in ("holds", "holds corrected", "fails", "inconclusive")
    )
    assert f"{counts['claims']} claims: {shown}" in (ROOT / "README.md").read_text(encoding="utf-8")


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
    rows = re.findall(r"^\| .+ \| \[(.+)\]\(.+\) \| (.*) \| (.*) \|$", text, flags=re.M)
    assert len(rows) > 5
    for name, quick, paper in rows:
        verdicts = [claims[scale].get(name, {}).get("verdict") or "" for scale in ("quick", "paper")]
        assert [quick, paper.strip()] == [verdict.replace("not run", "") for verdict in verdicts], name
