"""A table that is refused has its first rows named, so that they can be found."""

import pytest
from planted_claims import claim, rows, statement, table

from tasks.judging.contract import ContractError, admit

ARMS = {"claim": [1.0, 1.1, 1.2], "control: c": [-1.0, -1.1, -1.2]}


def refusal(table_rows: list[dict], module=None) -> str:
    module = module or claim()
    with pytest.raises(ContractError) as error:
        admit(rows(table_rows), module, list(module.STATEMENTS), "e", "quick", {3})
    return str(error.value)


def test_the_keys_of_the_first_three_rows_are_named():
    wrong = table({"claim": [1.0, 2.0, 3.0, 4.0]}, case="digits", layer="0", dtype="float64", step=7, x=0.5)
    message = refusal(table(ARMS) + [{**row, "experiment": "other"} for row in wrong])
    assert message.startswith("A.test: 4 rows of another experiment than e: ")
    first = "arm claim, quantity q, case digits, layer 0, dtype float64, seed {}, step 7, x 0.5"
    assert message.endswith("; ".join(first.format(seed) for seed in range(3)))


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"scale": "paper"}, "1 row of another scale than quick: arm control: c, quantity q, case b"),
        ({"seed": 0}, "2 rows with the same key as another row: arm control: c, quantity q, case b"),
    ],
)
def test_a_row_of_a_control_is_named_too(fault, named):
    *others, last = table(ARMS, case="b")
    assert named in refusal([*others, {**last, **fault}])


def test_a_series_that_lacks_a_seed_is_named():
    message = refusal([*table(ARMS, case="a", layer="1"), *table(ARMS, case="b", layer="1")[:-1]])
    assert all(name in message for name in ("control: c", "'q'", "'b'", "'1'", "[0, 1]")), message


def test_rows_without_a_case_are_named():
    message = refusal(table(ARMS, layer="2"), claim(kind="exact"))
    assert "3 rows without a case" in message
    assert "quantity q, layer 2" in message


def test_the_statement_that_lacks_rows_is_named():
    module = claim([statement(), statement("second", reads=("r",), rows=4)])
    message = refusal(table(ARMS) + table(ARMS, "r"), module)
    assert message == "A.test, second: 'r' has 3 rows in the arm claim; the statement needs 4"
