"""A value that its quantity cannot have is refused with its row; round-off at the end of a range is judged."""

import math
from fnmatch import fnmatchcase
from functools import cache

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from planted_claims import claim, rows, statement, table
from test_instances import judged
from test_parts_of_controls import CLAIMS, REPORTS, committed, module, whole

from tasks import papers
from tasks.judging.contract import ContractError, admit
from tasks.judging.finding import find
from tasks.judging.ranges import RANGES, fisher_z, range_of
from tasks.judging.rows import Rows
from tasks.settings import load

PLACE = ("e", "quick", {3})


def changed(key: str, quantity: str, value: float, scale: str = "quick") -> pd.DataFrame:
    """The claim's committed table with this value in the last row that has the quantity."""
    frame = committed(scale, key).copy()
    frame.loc[frame.index[frame["quantity"] == quantity][-1], "value"] = value
    return frame


@pytest.mark.parametrize(
    ("key", "quantity", "value", "words"),
    [
        ("a_fig7", "pearson/vcs_gram_diagonal", 1.2, "-1 to 1"),
        ("b_fig1", "nfa/K", 1.2, "-1 to 1"),
        ("b_fig2", "nfa/centered", -1.01, "-1 to 1"),
        ("c_fig11", "cosine/agop", 1.000001, "-1 to 1"),
        ("c_fig8", "null/fact", 1.5, "-1 to 1"),
        ("d_fig2", "nfa/mean", -1.2, "-1 to 1"),
        ("a_fig4", "train_accuracy", -0.1, "0 to 1"),
        ("a_fig2", "original/test_accuracy", 3.0, "0 to 1"),
        ("c_fig5", "parity/chosen mass", 1.001, "0 to 1"),
        ("d_fig10", "within", 1.01, "0 to 1"),
        ("a_lem4", "lem4/violated", -1.0, "0 and above"),
        ("a_fig1", "target_linearity", 1.01, "at most 1"),
        ("b_egop", "r2/test", 1.01, "at most 1"),
        ("a_eq1", "eq1/residual", -1e-12, "0 and above"),
        ("b_prop3", "prop3/remainder", -1e-12, "0 and above"),
        ("d_thm4_3", "thm4_3/ratio", -0.5, "0 and above"),
        ("d_fig10", "train_loss", -0.1, "0 and above"),
    ],
)
def test_a_value_outside_of_its_range_is_refused(key, quantity, value, words):
    judged(committed("quick", key), key)
    message = rf"1 row with a value outside of its quantity's range, {words}: .*quantity {quantity}, .*value {value}"
    with pytest.raises(ContractError, match=message) as error:
        judged(changed(key, quantity, value), key)
    assert module(key).ID in str(error.value)


@pytest.mark.parametrize(
    ("key", "quantity", "value"),
    [
        ("a_fig7", "pearson/vcs_gram_diagonal", 1 + 1e-12),
        ("d_fig2", "nfa/mean", -1 - 1e-12),
        ("d_fig10", "within", -1e-12),
        ("a_fig1", "target_linearity", 1 + 1e-12),
        ("a_fig1", "target_linearity", -50.0),
        ("b_egop", "r2/test", -50.0),
        ("d_fig10", "train_loss", 1e6),
    ],
)
def test_round_off_and_unbounded_ends_are_admitted(key, quantity, value):
    judged(changed(key, quantity, value), key)


def test_a_row_that_no_rule_reads_is_in_its_range_too():
    """Figures draw it."""
    module = claim([statement(reads=("nfa",))])
    nfa = table({"claim": [0.5, 0.6, 0.7], "control: c": [0.1, 0.2, 0.3]}, "nfa")
    admit(rows(nfa + table({"claim": [1.5]}, "a quantity without a range")), module, list(module.STATEMENTS), *PLACE)
    with pytest.raises(ContractError, match=r"range, 0 to 1: arm claim, quantity train_accuracy, .*value 1\.5"):
        admit(rows(nfa + table({"claim": [1.5]}, "train_accuracy")), module, list(module.STATEMENTS), *PLACE)


@cache
def quantities() -> frozenset[str]:
    """The quantities of all committed tables."""
    files = [*REPORTS.glob("*/tables/*.parquet")]
    assert len(files) > 90
    columns = [pq.ParquetFile(file).read(columns=["quantity"]).column("quantity") for file in files]
    return frozenset(name for column in columns for name in column.unique().to_pylist())


def test_every_declared_name_is_that_of_a_quantity():
    names = [name for names in RANGES.values() for name in names]
    assert [name for name in names if not any(fnmatchcase(quantity, name) for quantity in quantities())] == []


def test_no_quantity_has_two_ranges():
    assert sum(range_of(quantity) is not None for quantity in quantities()) > 200


ABOVE = 1 + 5e-10  # by round-off


@pytest.mark.parametrize(
    ("key", "quantity"),
    [
        ("a_fig7", "pearson/vcs_gram_diagonal"), ("a_fig7", "pearson/agop_gram_diagonal"), ("a_lem3", "lem3/null"),
        ("a_lem3", "lem3/correlation"), ("b_fig1", "nfa/K"), ("b_fig1", "nfa/Q"), ("b_fig9", "pearson/K"),
        ("c_fig11", "cosine/agop"), ("c_fig11", "null/fact"), ("c_fig3", "pearson/fact"), ("c_fig3", "null/fact"),
        ("c_tab2", "pearson/agop"), ("d_fig10", "nfa/mean"), ("d_fig10", "nfa/null"), ("d_fig2", "nfa/mean"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [ABOVE, 1.0, -ABOVE])
def test_a_correlation_of_one_is_judged_with_finite_numbers(key, quantity, value):
    """arctanh is infinite at 1 and not a number above it; a verdict on such numbers was "inconclusive"."""
    frame = committed("quick", key).copy()
    of_seed = (frame["quantity"] == quantity) & (frame["seed"] == 1) & (frame["arm"] == "claim")
    assert of_seed.any(), "the fault is not planted"
    frame.loc[of_seed, "value"] = value
    experiment, letter = CLAIMS["quick", key], papers.paper(load("quick").paper[key]).LETTER
    finding = find(module(key), letter, Rows(frame), experiment, "quick", whole("quick", experiment)[1])
    numbers = [*_numbers(finding["statements"])]
    assert len(numbers) > 10
    assert all(map(math.isfinite, numbers))


def _numbers(content):
    """All numbers of nested lists and dictionaries."""
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _numbers(part)
    elif isinstance(content, float):
        yield content


def test_fishers_z_of_correlations():
    inside = np.linspace(-0.99, 0.99, 7)
    assert fisher_z(inside) == pytest.approx(0.5 * np.log((1 + inside) / (1 - inside)))
    end = 0.5 * math.log(2e15)  # z of 1 - 1e-15, where 1 + r is 2 to the last digit
    assert fisher_z([-ABOVE, -1, 1, ABOVE]) == pytest.approx([-end, -end, end, end], rel=1e-2)
