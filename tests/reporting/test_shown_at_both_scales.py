"""What a claim's page says once for both scales: rules without counts, conditions, corrections, fresh seeds."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import rows

from tasks.judging.rules import Finding, all_of, equals, positive, trend
from tasks.papers.neural_collapse.claims.shared.trained import interpolates
from tasks.papers.weight_gram.claims.a_fig13 import continues
from tasks.reporting.site.content import Claim
from tasks.reporting.words import rule, rule_without_counts, seeds, statements_with


def form(count: int, parts: int) -> dict:
    text = positive(np.arange(1.0, count + 1), "x").rule
    named = {f"layer {number}": {"rule": text, "parts": {}} for number in range(parts)}
    return {"rule": text, "part": "layer 0" if parts else "", "parts": named}


@pytest.mark.parametrize(("parts", "words"), [(0, ""), (17, "in each part: ")])
def test_the_rule_is_the_same_text_whatever_the_number_of_seeds(parts, words):
    shown = {rule_without_counts(form(count, parts)) for count in (6, 12)}
    assert shown == {f"{words}x is above 0 in the mean over the seeds, by Student's t interval at 95 %"}
    assert [seeds(form(count, parts)) for count in (6, 12)] == ["6 seeds", "12 seeds"]
    assert ("in each of 17 parts (shown is the weakest, “layer 0”): " in rule(form(6, parts))) == bool(parts)


def of_parts(**findings: Finding) -> dict:
    return asdict(all_of(**findings))


RISES = "it rises with x, by Kendall's tau over the seeds, exact permutation test at 2.5 %"


def test_a_rule_of_several_rules_names_the_parts_of_each():
    size = positive(np.array([0.1, 0.2, 0.3]), "the fall, minus 0.1")
    both = of_parts(trend=trend(np.tile([1.0, 2.0, 3.0], (5, 1)), "it rises with x"), size=size)
    is_large = "the fall, minus 0.1, is above 0 in the mean over the seeds, by Student's t interval at 95 %"
    assert rule_without_counts(both) == f"“size”: {is_large}; and “trend”: {RISES}"
    assert rule(both).startswith("in 2 parts (shown is the weakest, “size”): “size”: the fall, minus 0.1, is above 0")


def test_a_rule_that_asks_for_every_seed_has_no_number_of_seeds():
    every = Finding(True, 1.0, "accuracy at least 0.9: in all of 7 seeds; fails if in none", "direction")
    assert rule_without_counts(asdict(every)) == "accuracy at least 0.9: in all seeds; fails if in none"


def test_one_rule_at_two_numbers_of_seeds_is_said_once():
    parts = {name: positive(np.arange(1.0, seeds + 1), "lead") for name, seeds in (("ReLU", 3), ("ReLU²", 4))}
    shown = rule_without_counts(of_parts(**parts))
    assert shown == "in each part: lead is above 0 in the mean over the seeds, by Student's t interval at 95 %"


def test_a_rule_of_many_rules_shows_the_weakest_as_one_of_them():
    values = np.array([0.4, 0.5, 0.6])
    levels = of_parts(**{f"p = {number}": equals(values, 0.5 + number / 100, 0.1) for number in range(6)})
    assert rule_without_counts(levels).startswith("in each part, as in “p = 5”: the mean over the seeds equals 0.55 ± ")


def test_data_sets_are_counted_and_instances_are_not():
    assert seeds({"rule": "x, mean over 4 data sets, in points", "parts": {}}) == "4 data sets"
    assert seeds({"rule": "no unequal sign on any instance", "parts": {}}) == ""


def test_a_condition_names_its_statements_unless_all_asserted_ones_have_it():
    statements = [{"name": name, "kind": kind} for name, kind in (("a", "asserted"), ("b", "asserted"), ("c", "ours"))]
    claim = {"statements": statements}
    assert statements_with(claim, {"statements": ["b", "c"]}) == ["b"]
    assert statements_with(claim, {"statements": ["a", "b"]}) == []
    assert statements_with(claim, {"statements": []}) == []


def claim(**fresh: object) -> Claim:
    printed = [
        {"kind": kind, "verdict": verdict, "printed": verdict}
        for kind, verdict in (("asserted", "holds"), ("ours", "holds corrected"), ("asserted", "holds corrected"))
    ]
    printed[1]["printed"] = "ours"
    results = {scale: {"id": "X.1", "verdict": "holds corrected", "printed": "all", "statements": printed}
               for scale in ("quick", "paper")}  # fmt: skip
    return Claim("x_1", SimpleNamespace(), SimpleNamespace(), results, dict(fresh))


def test_a_correction_stands_beside_the_print_of_the_corrected_statement():
    assert claim().corrected_print == "holds corrected"
    uncorrected = claim()
    uncorrected.results["quick"]["statements"].clear()
    assert uncorrected.corrected_print == "all"


@pytest.mark.parametrize(
    ("same", "runs", "words"),
    [
        (0, 1, "the one run with fresh seeds gave X.1 another quick-scale verdict"),
        (1, 1, "the one run with fresh seeds gave X.1 the same quick-scale verdict"),
        (2, 3, "2 of 3 runs with fresh seeds gave X.1 the same quick-scale verdict"),
    ],
)
def test_runs_with_fresh_seeds_in_words(same, runs, words):
    assert claim(**{"came back": same, "runs": runs, "scale": "quick"}).with_fresh_seeds == words


@pytest.mark.parametrize(
    ("first", "words"),
    [(0.97, "1 of 3 runs reaches 0.99, and the worst run has 0.800"),
     (0.99, "2 of 3 runs reach 0.99, and the worst run has 0.800")],
)  # fmt: skip
def test_an_unmet_condition_says_how_many_runs_reach_it(first, words):
    columns = {"case": "MNIST", "quantity": "train_accuracy"}
    accuracies = [{**columns, "seed": seed, "step": step, "value": value}
                  for seed, last in enumerate((first, 0.995, 0.8))
                  for step, value in ((0, 0.999), (9, last))]  # fmt: skip
    finding = interpolates(rows(accuracies))
    assert (finding.holds, finding.statistic) == (False, 0.8)
    assert finding.measured == words


def test_networks_that_generalise_before_they_memorise_have_no_time_in_between():
    """As at the weight decay 0.75 of the paper scale: the test accuracy passes one half first."""
    accuracies = {"train_accuracy": (0.1, 0.6, 0.99, 1.0), "test_accuracy": (0.1, 0.55, 0.8, 0.9)}
    linearity = {"target_linearity": (0.1, 0.2, 0.3, 0.4)}
    records = [
        {"arm": "claim", "case": "weight_decay=0.75", "seed": seed, "step": step, "x": float(step), "layer": "3",
         "quantity": quantity, "value": value + seed / 1000}
        for quantity, series in {**accuracies, **linearity}.items()
        for seed in range(3) for step, value in enumerate(series)
    ]  # fmt: skip
    measured = continues(rows(records)).measured
    assert measured == "weight decay 0.75: not measured, because no network memorises before it generalises"
