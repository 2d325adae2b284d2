"""The comparisons with other programs: agreement before time, the files that the report reads, and fitted slopes."""

import json
import re
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import compare  # noqa: E402
import growth  # noqa: E402
from peers.pair import Pair, number  # noqa: E402


def pair(theirs, tolerance=1e-6):
    return Pair("other", "torch", "a number", "one", tolerance, lambda: (lambda: number(2.0), theirs), "torch")


def test_a_pair_that_disagrees_is_not_timed():
    calls = []

    def wrong():
        calls.append(1)
        return number(2.1)

    with pytest.raises(ArithmeticError, match=r"other, a number: the numbers differ by 4.8e-02"):
        compare.measure(pair(wrong), None, rounds=3)
    assert len(calls) == 1


def test_not_a_number_is_no_agreement():
    with pytest.raises(ArithmeticError):
        compare.measure(pair(lambda: number(float("nan"))), None, rounds=1)


def test_a_peer_that_works_ten_times_as_long_has_a_ratio_of_about_ten():
    matrix = torch.randn(300, 300, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def work(times):
        def program():
            for _ in range(times):
                matrix @ matrix
            return number(1.0)

        return program

    torch.set_num_threads(1)
    row = compare.measure(Pair("other", "torch", "products", "", 0.0, lambda: (work(10), work(100)), "torch"), None, 5)
    assert 5 < row["ratio"] < 20
    assert row["low"] <= row["ratio"] <= row["high"]
    assert row["difference"] == 0.0


def test_a_package_and_a_checkout_that_are_missing_are_said_to_be(tmp_path):
    absent = Pair("x", "no_such_package", "q", "s", 0.0, lambda: None, "no-such-package")
    assert compare.available(absent, None) == (False, None)
    theirs = Pair("x", "GramLin", "q", "s", 0.0, lambda checkout: None, checkout=True)
    assert compare.available(theirs, None) == (False, None)
    assert compare.available(theirs, tmp_path) == (False, None)
    (tmp_path / "GramLin").mkdir()
    is_there, checkout = compare.available(theirs, tmp_path)
    assert is_there
    assert checkout.name == "GramLin"


def test_pairs_that_ran_again_replace_their_rows_and_no_others(tmp_path):
    first, second = ({"peer": p.peer, "quantity": p.quantity, "size": p.size} for p in compare.PAIRS[:2])
    path = tmp_path / "results.json"
    compare.write(path, [second | {"ratio": 1.0}])
    compare.write(path, [first | {"ratio": 2.0}])
    compare.write(path, [second | {"ratio": 3.0}])
    content = json.loads(path.read_text(encoding="utf-8"))
    assert [row["ratio"] for row in content["pairs"]] == [2.0, 3.0]
    assert re.fullmatch(r"\d+ cores, .+, \d+ GiB, .+; one thread", content["machine"])


def test_rows_of_another_machine_are_not_kept(tmp_path):
    """The file names one machine; rows that were measured elsewhere would carry its name."""
    first, second = ({"peer": p.peer, "quantity": p.quantity, "size": p.size} for p in compare.PAIRS[:2])
    path = tmp_path / "results.json"
    compare.write(path, [second | {"ratio": 1.0}])
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "machine": "64 cores, another processor"}), encoding="utf-8")
    compare.write(path, [first | {"ratio": 2.0}])
    assert [row["ratio"] for row in json.loads(path.read_text(encoding="utf-8"))["pairs"]] == [2.0]


def test_no_two_pairs_have_the_same_name():
    names = [(pair.peer, pair.quantity, pair.size) for pair in compare.PAIRS]
    assert len(set(names)) == len(names)


def test_a_correlation_agrees_with_numpys():
    (numpy_pair,) = [pair for pair in compare.PAIRS if pair.peer == "numpy"]
    assert compare.measure(numpy_pair, None, rounds=1)["difference"] <= numpy_pair.tolerance


def test_the_committed_results_have_every_pair_and_agree():
    rows = json.loads((ROOT / "benchmarks/results.json").read_text(encoding="utf-8"))["pairs"]
    tolerances = {(pair.peer, pair.quantity, pair.size): pair.tolerance for pair in compare.PAIRS}
    assert [compare.key(row) for row in rows] == list(tolerances)
    for row in rows:
        assert row["difference"] <= tolerances[compare.key(row)]
        assert row["low"] <= row["ratio"] <= row["high"]


def test_the_documentation_has_the_committed_results():
    page = (ROOT / "docs/performance/measures.md").read_text(encoding="utf-8")
    rows = json.loads((ROOT / "benchmarks/results.json").read_text(encoding="utf-8"))["pairs"]
    assert "\n".join([compare.HEAD, *map(compare.line, rows)]) in page, "python benchmarks/compare.py prints the table"


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_slope_of_a_power_is_its_exponent(exponent):
    sizes = [64, 128, 512, 1024]
    assert growth.slope(sizes, [3e-4 * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-12)


def test_the_committed_growth_has_every_axis_and_its_slopes():
    content = json.loads((ROOT / "benchmarks/growth.json").read_text(encoding="utf-8"))
    rows = content["rows"]
    assert [(row["axis"], row["task"]) for row in rows] == [
        (axis, growth.TASKS[task]) for axis in growth.SIZES for task in growth.MEASURED[axis]
    ]
    for row in rows:
        # by the ratio of two sizes, without a fit
        last = torch.tensor(row["seconds"][-2:]).log().diff() / torch.tensor(row["sizes"][-2:]).log().diff()
        assert row["slope at the largest"] == pytest.approx(float(last), abs=0.02)
        assert len(row["sizes"]) == len(row["seconds"]) == len(row["mebibytes"])
