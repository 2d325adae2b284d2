"""The search for adversarial instances: what violates a rule is found, shrunk, counted by the rule, and shown."""

from types import SimpleNamespace

import pytest

from gramlab import tables
from tasks.judge import Rows, bound, judge
from tasks.search import array, arrays, smallest

CHECK = SimpleNamespace(
    __name__="planted", __doc__="A bound.", ID="A.x", KIND="bound", TITLE="t", PRINTED="p",
    QUANTITIES=("x/ratio",), rule=bound,
)  # fmt: skip
DRAWN = [{"arm": arm, "quantity": "x/ratio", "value": value, "dtype": "float64"}
         for arm, value in (("claim", 0.5), ("control: broken", 2.0))]  # fmt: skip


def searched(least: float) -> list[dict]:
    """A rule that holds for vectors of norm up to ``least``; its control allows half of that."""

    def rows(one: dict) -> list[dict]:
        size = float((array(one["v"]) ** 2).sum() ** 0.5)
        return [{"arm": arm, "quantity": "x/ratio", "value": size / allowed, "dtype": "float64"}
                for arm, allowed in (("claim", least), ("control: broken", least / 2))]  # fmt: skip

    return [*smallest("x", ["claim", "control: broken"], arrays(v=(0,)), rows)]


def test_a_violation_is_shrunk_and_turns_the_verdict():
    found = judge(CHECK, Rows(tables.table([*DRAWN, *searched(2.5)])))
    assert found["verdict"] == "fails"
    assert found["smallest violations"]["claim"] == "v = [3]: left / right 1.2"
    assert found["smallest violations"]["control: broken"] == "v = [2]: left / right 1.6"
    assert searched(2.5) == searched(2.5)


def test_where_there_is_none_the_verdict_says_among_how_many():
    found = judge(CHECK, Rows(tables.table([*DRAWN, *searched(10.0)])))
    assert found["verdict"] == "holds"
    assert found["smallest violations"]["claim"].startswith("none among ")
    assert found["smallest violations"]["control: broken"].startswith("v = [")


def test_a_claim_that_is_not_searched_shows_nothing():
    assert judge(CHECK, Rows(tables.table(DRAWN)))["smallest violations"] == {}


@pytest.mark.parametrize("name", ["lem1", "lem2", "thm2", "lem5", "lem4", "prop1"])
def test_the_bounds_of_paper_a(name):
    """What holds has no violation among the searched; every erratum and every control that is searched has one."""
    from tasks.experiments import a_linear, a_prop1, a_taylor

    source = {"lem4": a_taylor, "prop1": a_prop1}.get(name, a_linear)
    rows = [row for row in source.adversaries() if row["quantity"].startswith(name)]
    found = {row["arm"] for row in rows if row["quantity"].endswith("/smallest")}
    none = {row["arm"] for row in rows if row["quantity"].endswith("/searched")}
    wrong_in_print = name in ("lem1", "thm2", "lem4")
    assert ("claim" in found) == wrong_in_print
    assert none == {"corrected" if wrong_in_print else "claim"}
    assert any(arm.startswith("control") for arm in found)
