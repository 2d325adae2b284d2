"""The documentation: its links lead somewhere, and its Python snippets run."""

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "data/README.md", *DOCS]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```\n", flags=re.S | re.M)
# a snippet, after the comment that says why it is not run
SNIPPET = re.compile(r"^(<!-- not run: .+ -->\n)?```python\n(.*?)^```", flags=re.S | re.M)


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """The anchors that code hosts make of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def snippets(page: Path) -> list[str]:
    """The Python snippets of a page, without those marked as not run."""
    return [code for mark, code in SNIPPET.findall(page.read_text(encoding="utf-8")) if not mark]


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


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", [page for page in [ROOT / "README.md", *DOCS] if snippets(page)], ids=page_name)
def test_snippets_run(page, tmp_path, monkeypatch):
    """The snippets of a page run one after the other, as a reader would type them, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": page.stem}
    for number, code in enumerate(snippets(page), start=1):
        exec(compile(code, f"{page_name(page)}, snippet {number}", "exec"), namespace)
