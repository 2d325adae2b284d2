"""Runs made by hand for the experiments of every paper; this file also puts tests/papers on the import path."""

from dataclasses import replace

import pytest
from handmade import HandmadeRun

from tasks import papers
from tasks.measuring import resumable
from tasks.settings import load


@pytest.fixture(autouse=True)
def own_parts(tmp_path, monkeypatch):
    """Each test measures anew: a part that another test has measured would hide a fault that this one plants."""
    monkeypatch.setattr(resumable, "FOLDER", tmp_path / "rows")


@pytest.fixture
def handmade(tmp_path):
    """A function that makes a finished training run: ``handmade(key, settings, data)``; see ``HandmadeRun``."""

    def make(key, settings, data, paper="weight_gram", history=()):
        return HandmadeRun(tmp_path, key, settings, data, paper, history)

    return make


@pytest.fixture(autouse=True)
def some_of_the_controls(monkeypatch):
    """A planted table holds some of the controls that a claim describes; tests/test_paper.py has the whole tables."""
    for paper in papers.names():
        for key in load("quick").claims_of(paper):
            claim = papers.claim(paper, key)
            described = getattr(claim, "CONTROLS", {})
            optional = {name: replace(control, scales=()) for name, control in described.items()}
            monkeypatch.setattr(claim, "CONTROLS", optional, raising=False)
