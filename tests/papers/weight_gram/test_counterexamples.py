"""The search for adversarial instances: what violates a rule is found, shrunk, counted by the rule, and shown."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.rules import Rows, bound
from tasks.judging.verdict import judge
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments import a_features, a_linear, a_prop1, a_taylor, a_tl, a_whiten, architectures

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

    return [*smallest("x", ["claim", "control: broken"], Arrays(v=(0,)), rows)]


def test_a_violation_is_shrunk_and_turns_the_verdict():
    found = judge(CHECK, Rows(tables.table([*DRAWN, *searched(2.5)])))
    assert found["verdict"] == "fails"
    assert found["smallest violations"]["claim"] == "v = [3]: 1.2 times what the rule allows"
    assert found["smallest violations"]["control: broken"] == "v = [2]: 1.6 times what the rule allows"
    assert searched(2.5) == searched(2.5)


def test_an_index_of_a_side_is_left_out_of_all_arrays_that_have_it():
    whole = {"A": [[1, 2], [3, 4]], "B": [[5, 6], [7, 8]], "v": [9], "λ": 1}
    assert [*Arrays(ridge=True, A=(0, 1), B=(0, 0), v=(2,)).fewer(whole)] == [
        {**whole, "A": [[3, 4]], "B": [[8]]}, {**whole, "A": [[1, 2]], "B": [[5]]},
        {**whole, "A": [[2], [4]]}, {**whole, "A": [[1], [3]]},
    ]  # fmt: skip


def test_a_violation_is_cut_down_to_the_least_that_is_meant():
    """Sides get no shorter than ``keep`` allows, and of an outer product only what violates is left."""

    def rows(one: dict) -> list[dict]:
        largest = float(np.outer(array(one["u"]), array(one["v"])).max())
        return [{"arm": "claim", "quantity": "x/ratio", "value": largest / 8, "dtype": "float64"}]

    given = Arrays(lambda one: len(one["u"]) > 1, u=(0,), v=(1,))
    (text,) = (row["case"] for row in smallest("x", ["claim"], given, rows) if row["quantity"] == "x/smallest")
    assert text in ("u = [0, 3], v = [3]", "u = [3, 0], v = [3]")


def test_where_there_is_none_the_verdict_says_among_how_many():
    found = judge(CHECK, Rows(tables.table([*DRAWN, *searched(10.0)])))
    assert found["verdict"] == "holds"
    assert found["smallest violations"]["claim"].startswith("none among ")
    assert found["smallest violations"]["control: broken"].startswith("v = [")


def test_a_claim_that_is_not_searched_shows_nothing():
    assert judge(CHECK, Rows(tables.table(DRAWN)))["smallest violations"] == {}


@functools.cache
def searched_in(source) -> list[dict]:
    return [*source.adversaries()]


SMALLEST = {  # most of which hypothesis does not find by itself
    "thm2": {"claim": "W = [[1]], H = [[0, 1]], Y = [0, 3], λ = 2"},
    "prop3": {"claim": "Z = [[0], [1]], X = [[1], [0]]"},
    "lem4": {"claim": "W = [[1]], w = [0], a = [1], b = [1]"},
    "bce": {"control: sign of one sum": "H = [[1, 1]], Y = [0, 1], f = [0, 0]"},
    "prop1": {"control: gelu, not monotone": "W = [[-1]], head = [1], h = [1], target = -3"},
}


SOURCES = {"lem4": a_taylor, "prop1": a_prop1, "tl": a_tl, "whiten": a_whiten, "eq1": architectures,
           "thm1": architectures, "eq2": architectures, "prop2": a_features, "prop3": a_features,
           "prop4": a_taylor}  # fmt: skip
SEARCHED = [*((name, a_linear) for name in ("lem1", "lem2", "thm2", "ols", "bce", "lem5")), *SOURCES.items(),
            ("prop2", architectures)]  # fmt: skip


@pytest.mark.parametrize(("name", "source"), SEARCHED)
def test_the_bounds_and_identities_of_paper_a(name, source):
    """What holds has no violation among the searched; every erratum and every control that is searched has one.

    The last, of the alignment's kernel, is paper B's Proposition 2, and shares its instances with paper A's.
    """
    rows = [row for row in searched_in(source) if row["quantity"].startswith(f"{name}/")]
    found = {row["arm"] for row in rows if row["quantity"].endswith("/smallest")}
    none = {row["arm"] for row in rows if row["quantity"].endswith("/searched")}
    wrong_in_print = name in ("lem1", "thm2", "lem4", "prop3")
    assert ("claim" in found) == wrong_in_print
    assert none == {"corrected" if wrong_in_print else "claim"}
    assert found - {"claim"}
    assert all(arm.startswith("control") for arm in found - {"claim"})
    smallest = {row["arm"]: row["case"] for row in rows if row["quantity"].endswith("/smallest")}
    assert SMALLEST.get(name, {}).items() <= smallest.items()
