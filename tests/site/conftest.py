"""The site, made of the committed results in a copy of the project, and a browser without a network."""

import copy
import itertools
import json
import resource
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import sync_playwright

from gramlab import tables
from tasks import papers
from tasks.atlas.cells import all_cells
from tasks.reporting import rows
from tasks.reporting.atlas.findings import findings

CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"]  # fmt: skip
REPLY = "From: Ada Example, author\nDate: 2026-11-23\nCommit: 7241471\n\nThe rate was **0.01**. <b>raw</b>\n"


OUTCOMES = ("FACT", "tie", "nobody", "AGOP", "a law of your own")  # planted in turn


def planted_atlas(result):
    """An atlas in which all cells but two were run, with outcomes of every kind.

    Every second cell ends far from a critical point, and every third only memorises.
    """
    grid = [cell for cell in all_cells().values() if not cell.answer]
    template, known = result["cells"]["mlp_images_adam_decay"], copy.deepcopy(result["cells"])
    cells = {name: cell for name, cell in known.items() if cell["answer"]}
    for index, (cell, outcome) in enumerate(zip(grid[:-2], itertools.cycle(OUTCOMES))):
        cells[cell.name] = copy.deepcopy(template)
        cells[cell.name]["sides"]["forward"]["change"]["winner"] = outcome
        cells[cell.name]["facts"] |= {"stationarity": 0.3, "averaged_stationarity": 0.3} if index % 2 else {}
        cells[cell.name]["facts"] |= {"test_error": 0.98, "test_accuracy": 0.02} if index % 3 == 0 else {}
    halves = {"cells": 85, "right": 44, "most_frequent_right": 31, "p": 0.0312}
    return {**result, "cells": cells, "missing": [cell.name for cell in grid[-2:]], "diverged": [grid[-1].name],
            "prediction": {"halves": halves, "rule": "|--- weight decay <= 0.5"}}  # fmt: skip


def planted_fresh(result):
    """The planted atlas at another root: every third cell, from the first, has the next of the planted outcomes."""
    grid = [(name, cell["sides"]["forward"]["change"]["winner"]) for name, cell in result["cells"].items()
            if not cell["answer"]]  # fmt: skip
    following = dict(zip(OUTCOMES, OUTCOMES[1:] + OUTCOMES[:1], strict=True))
    cells = {name: {"verdicts": {"11": following[outcome] if index % 3 == 0 else outcome}}
             for index, (name, outcome) in enumerate(grid)}  # fmt: skip
    known = {"11": {row["cell"]: row["cell"] != "known_linear_2" for row in result["known"]}}
    keys = [sentence.key for sentence in findings(result)][:4]  # the last one is newer than the run
    sentences = dict(zip(keys, (True, False, True, True), strict=True))
    return {"scale": "atlas", "roots": {"11": {"seconds": 1.0}}, "cells": cells, "known": known,
            "sentences": {"11": sentences}}  # fmt: skip


def processor_seconds() -> float:
    """The processor's seconds that ended processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="session")
def built(copy_project, environment):
    """The copy of the project, and the seconds that its site took."""
    clone = copy_project("site")
    reports = clone / "reports"
    (clone / "replies" / "a_fig7.md").write_text(REPLY)
    (clone / "tasks/papers/weight_gram/counterexamples/a_lem1.py").write_text("assert 0 < 1  # <the smallest>\n")
    # one claim gets other verdicts, so that the pages do not say what they would say by themselves
    claims = json.loads((reports / "paper/claims.json").read_text())
    claims["A.tl"] |= {"verdict": "fails", "reason": "refuted"}
    (reports / "paper/claims.json").write_text(json.dumps(claims))
    atlas = planted_atlas(json.loads((reports / "atlas.json").read_text()))
    (reports / "atlas.json").write_text(json.dumps(atlas))
    (reports / "atlas_fresh.json").write_text(json.dumps(planted_fresh(atlas)))
    many = [{"arm": arm, "quantity": "pearson/vcs_gram_diagonal", "seed": seed, "x": float(x), "value": seed + x / 10}
            for arm in ("claim", "control: shuffled labels") for seed in range(5) for x in range(200)]  # fmt: skip
    table = tables.table(many).to_pandas()
    rows.write(reports / "quick/rows", "a_fig7", rows.judged_rows(table, papers.claim("weight_gram", "a_fig7")))
    start = processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "tasks.site"], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return clone, processor_seconds() - start


@pytest.fixture(scope="session")
def site(built):
    """The folder ``reports`` of the copy."""
    return built[0] / "reports"


@pytest.fixture(scope="session")
def claims(site):
    """The results by scale and id."""
    return {scale: json.loads((site / scale / "claims.json").read_text()) for scale in ("quick", "paper")}


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    assert path, "no Chromium found; `make browser` installs Debian's, or install one by hand"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """A page without a network. ``asked`` holds the addresses that it asks for, ``messages`` what goes wrong in it."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, offline=True)
    page = context.new_page()
    page.asked, page.messages = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.messages.append(message.text))
    page.on("pageerror", lambda error: page.messages.append(str(error)))
    yield page
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.messages == []
    context.close()
