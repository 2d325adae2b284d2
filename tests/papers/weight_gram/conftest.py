"""The linear experiments on drawn instances: measured once for a module, and without their counterexamples."""

import pytest

from tasks.papers.weight_gram.experiments import a_features, a_linear, a_taylor


@pytest.fixture(scope="module")
def linear():
    patch = pytest.MonkeyPatch()
    patch.setattr(a_linear, "adversaries", lambda: iter(()))
    rows = list(a_linear.measure(a_linear.Settings(instances=1)))
    patch.undo()
    return rows


@pytest.fixture
def drawn_instances_only(monkeypatch):
    """The search for counterexamples and the trained networks have tests of their own."""
    for experiment in (a_linear, a_features, a_taylor):
        monkeypatch.setattr(experiment, "adversaries", lambda: iter(()))
    monkeypatch.setattr(a_features, "trained_networks", lambda steps: iter(()))
