"""The search for counterexamples: violations of a rule are found, shrunk, judged by the rule, and shown."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.rules import bound
from tasks.judging.statement import Statement
from tasks.judging.verdict import judge
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments import a_features, a_linear, a_prop1, a_taylor, a_tl, a_whiten, architectures

CLAIM = SimpleNamespace(
    __name__="planted", __doc__="A bound.", ID="A.x", KIND="bound", TITLE="t", PRINTED="p",
    STATEMENTS=(Statement(name="bound", quote="q", place="p", rule=bound, reads=("x/ratio",)),),
)  # fmt: skip
DRAWN = [{"arm": arm, "case": "drawn", "quantity": "x/ratio", "value": value, "dtype": "float64"}
         for arm, value in (("claim", 0.5), ("control: broken", 2.0))]  # fmt: skip


def searched(largest_norm: float) -> list[dict]:
    """The search in a rule that holds for vectors up to this norm; its control allows half of it."""

    def rows(instance: dict) -> list[dict]:
        norm = float((array(instance["v"]) ** 2).sum() ** 0.5)
        return [{"arm": arm, "quantity": "x/ratio", "value": norm / allowed, "dtype": "float64"}
                for arm, allowed in (("claim", largest_norm), ("control: broken", largest_norm / 2))]  # fmt: skip

    return [*smallest("x", ["claim", "control: broken"], Arrays(v=(0,)), rows)]


def verdict(rows: list[dict]) -> dict:
    table = tables.table([{**row, "scale": "quick"} for row in rows])
    return judge({"a_x": find(CLAIM, "A", Rows(table), "", "quick", set())})["a_x"]


def test_a_violation_is_shrunk_and_turns_the_verdict():
    judged = verdict([*DRAWN, *searched(2.5)])
    assert judged["verdict"] == "fails"
    assert judged["smallest violations"]["claim"] == "v = [3]: 1.2 times what the rule allows"
    assert judged["smallest violations"]["control: broken"] == "v = [2]: 1.6 times what the rule allows"
    assert searched(2.5) == searched(2.5)


def test_removing_an_index_of_a_side_shortens_all_arrays_with_that_side():
    instance = {"A": [[1, 2], [3, 4]], "B": [[5, 6], [7, 8]], "v": [9], "λ": 1}
    assert [*Arrays(ridge=True, A=(0, 1), B=(0, 0), v=(2,)).smaller_instances(instance)] == [
        {**instance, "A": [[3, 4]], "B": [[8]]}, {**instance, "A": [[1, 2]], "B": [[5]]},
        {**instance, "A": [[2], [4]]}, {**instance, "A": [[1], [3]]},
    ]  # fmt: skip


def test_a_violation_shrinks_to_the_shortest_sides_that_keep_allows():
    """Only the entries of the outer product that violate the rule are left."""

    def rows(instance: dict) -> list[dict]:
        largest = float(np.outer(array(instance["u"]), array(instance["v"])).max())
        return [{"arm": "claim", "quantity": "x/ratio", "value": largest / 8, "dtype": "float64"}]

    instances = Arrays(lambda instance: len(instance["u"]) > 1, u=(0,), v=(1,))
    (text,) = (row["case"] for row in smallest("x", ["claim"], instances, rows) if row["quantity"] == "x/smallest")
    assert text in ("u = [0, 3], v = [3]", "u = [3, 0], v = [3]")


def test_without_a_violation_the_verdict_says_how_many_instances_were_tried():
    judged = verdict([*DRAWN, *searched(10.0)])
    assert judged["verdict"] == "holds"
    assert judged["smallest violations"]["claim"].startswith("none among ")
    assert judged["smallest violations"]["control: broken"].startswith("v = [")


def test_a_claim_without_a_search_shows_no_violations():
    assert verdict(DRAWN)["smallest violations"] == {}


@functools.cache
def adversaries(experiment) -> list[dict]:
    return [*experiment.adversaries()]


SMALLEST = {  # hypothesis alone does not shrink to most of these
    "thm2": {"claim": "W = [[1]], H = [[0, 1]], Y = [0, 3], λ = 2"},
    "prop3": {"claim": "Z = [[0], [1]], X = [[1], [0]]"},
    "lem4": {"claim": "W = [[1]], w = [0], a = [1], b = [1]"},
    "tl0": {"claim": "H = [[0], [1]], Y = [[1], [0]]"},
    "bce": {"control: sign of one sum": "H = [[1, 1]], Y = [0, 1], f = [0, 0]"},
    "prop1": {
        "claim": "W = [[0]], head = [1], h = [1], target = 1",
        "control: gelu, not monotone": "W = [[-1]], head = [1], h = [1], target = -3",
    },
}

EXPERIMENTS = {"lem4": a_taylor, "prop1": a_prop1, "tl": a_tl, "tl0": a_tl, "whiten": a_whiten, "eq1": architectures,
           "thm1": architectures, "eq2": architectures, "prop2": a_features, "prop3": a_features,
           "prop4": a_taylor}  # fmt: skip
SEARCHED = [*((name, a_linear) for name in ("lem1", "lem2", "thm2", "ols", "bce", "lem5")), *EXPERIMENTS.items(),
            ("prop2", architectures)]  # fmt: skip


@pytest.mark.parametrize(("name", "experiment"), SEARCHED)
def test_the_bounds_and_identities_of_paper_a(name, experiment):
    """The search finds no violation of a true statement, and one of every erratum and every searched control.

    The last row is paper B's Proposition 2, which is measured on paper A's instances.
    """
    rows = [row for row in adversaries(experiment) if row["quantity"].startswith(f"{name}/")]
    violated = {row["arm"] for row in rows if row["quantity"].endswith("/smallest")}
    not_violated = {row["arm"] for row in rows if row["quantity"].endswith("/searched")}
    wrong_in_print = name in ("lem1", "thm2", "lem4", "prop1", "prop3", "tl0")
    assert ("claim" in violated) == wrong_in_print
    assert not_violated == {"corrected" if wrong_in_print else "claim"}
    assert violated - {"claim"}
    assert all(arm.startswith("control") for arm in violated - {"claim"})
    smallest = {row["arm"]: row["case"] for row in rows if row["quantity"].endswith("/smallest")}
    assert SMALLEST.get(name, {}).items() <= smallest.items()
