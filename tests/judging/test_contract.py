"""Tables that no rule may judge are refused, with the rows named."""

import pandas as pd
import pytest
from planted_claims import claim, rows, statement, table

from tasks.judging.contract import ContractError, admit
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.rules import never
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Hypothesis

SEEDS = {"claim": [1.0, 1.1, 1.2], "corrected": [3.0, 3.1, 3.2], "control: c": [-1.0, -1.1, -1.2]}


def admitted(table_rows, module=None, seeds=frozenset({3})) -> None:
    module = module or claim()
    table_rows = table_rows if isinstance(table_rows, Rows) else rows(table_rows)
    admit(table_rows, module, list(module.STATEMENTS), "e", "quick", set(seeds))


def test_a_whole_table_is_admitted():
    admitted(table(SEEDS))


def changed(**columns) -> list[dict]:
    first, *others = table(SEEDS)
    return [{**first, **columns}, *others]


ON_STEPS = table(SEEDS) + table({arm: [2 * value for value in values] for arm, values in SEEDS.items()}, step=1)


@pytest.mark.parametrize(
    ("table_rows", "words"),
    [
        (changed(experiment="f"), "1 row of another experiment than e: arm claim, quantity q"),
        (changed(scale="paper"), "of another scale than quick"),
        (table(SEEDS) + table(SEEDS)[:1], "2 rows with the same key"),
        ([*table(SEEDS), {**table(SEEDS)[0], "value": 7.0}], "2 rows with the same key"),
        (table(SEEDS)[1:], r"has the seeds \[1, 2\]; the settings have 3"),
        (changed(seed=7), r"has the seeds \[1, 2, 7\]"),
        (table(SEEDS) + table({"claim": [5.0]}, step=1), "have 1 to 2 rows"),
        ([*table(SEEDS), *table(SEEDS, dtype="float64")], r"is in '' and 'float64'; a seed has one precision"),
        (
            [{**row, "step": row.get("step", 0) * (2 if row["seed"] else 1)} for row in ON_STEPS],
            "has 1 of its 3 seeds at step 1",
        ),
        (
            table({**SEEDS, "contrl: b": [1.0, 2.0, 3.0]}),
            "unknown arm 'contrl: b'; an arm is called claim, corrected or 'control: NAME'",
        ),
        (table({"claim": SEEDS["claim"]}), "no control"),
        (table({"control: c": SEEDS["control: c"]}), "no arm 'claim'"),
        (table({**SEEDS, "control: c": SEEDS["claim"]}), "'control: c' has the same numbers as the arm 'claim'"),
    ],
)
def test_what_is_refused(table_rows, words):
    with pytest.raises(ContractError, match=words):
        admitted(table_rows)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("column", ["value", "x"])
def test_a_number_that_is_not_finite(number, column):
    frame = pd.DataFrame(rows(table(SEEDS)).frame)
    frame.loc[frame.index[-1], column] = number
    with pytest.raises(ContractError, match="1 row without a finite number: arm control: c"):
        admitted(Rows(frame))


def test_equal_seeds_are_refused():
    """Two seeds with the same numbers throughout are a single seed; equal accuracies of 1 are none."""
    two_quantities = [statement(), statement("second", reads=("r",))]
    copied = table(SEEDS) + table({arm: [2.0, 2.0, 2.0] for arm in SEEDS}, "r")
    admitted(copied, claim(two_quantities))
    for arm in ("claim", "corrected"):
        values = SEEDS[arm][0]
        with pytest.raises(ContractError, match=rf"seeds 0 and 1 of the arm '{arm}' are equal"):
            admitted(
                table({**SEEDS, arm: [values, values, 9.0]}) + table({a: [2.0, 2.0, 2.5] for a in SEEDS}, "r"),
                claim(two_quantities),
            )


def test_a_seed_may_have_several_precisions_and_steps_where_the_claim_says_so():
    both = claim()
    both.GRIDS = {"q": Grid(BOTH_PRECISIONS)}
    admitted(ON_STEPS)
    admitted([{**row, "dtype": dtype} for row in ON_STEPS for dtype in BOTH_PRECISIONS], both)


def test_a_hypothesis_does_not_lose_the_seed_that_misses_it():
    """Without this seed it used to be met."""
    met = Hypothesis("fitted", "Every seed fits.", lambda rows: never(rows, "miss"), reads=("h",))
    module, missed = claim(hypotheses=[met]), table({"claim": [0.0, 0.0, 1.0]}, "h")
    with_all = find(module, "A", rows(table(SEEDS) + missed), "e", "quick", {3})
    assert with_all["hypotheses"][0]["forms"]["claim"]["holds"] is False
    with pytest.raises(ContractError, match=r"'h', '', ''\) has the seeds \[0, 1\]; the settings have 3"):
        find(module, "A", rows(table(SEEDS) + missed[:2]), "e", "quick", {3})


def test_a_hypothesis_does_not_lose_an_instance():
    met = Hypothesis("met", "It is met.", lambda rows: never(rows, "miss"), reads=("h",))
    module = claim(hypotheses=[met], kind="exact")
    instances = [{**row, "case": "square"} for row in table(SEEDS) + table({"claim": [0.0, 0.0, 1.0]}, "h")]
    admitted(instances, module)
    with pytest.raises(ContractError, match=r"'h' has 2 instances of the case 'square' .* Lacking: 2"):
        admitted(instances[:-1], module)


def test_declared_parts_are_needed():
    with pytest.raises(ContractError, match="second: 'r' has 0 rows in the arm claim; the statement needs 1"):
        admitted(table(SEEDS), claim([statement(), statement("second", reads=("r",))]))
    with pytest.raises(ContractError, match="'q' has 1 kinds of cases in the arm claim; the statement needs 2"):
        admitted(table(SEEDS), claim([statement(cases=2)]))
    with pytest.raises(ContractError, match="'q' has 3 rows in the arm claim; the statement needs 4"):
        admitted(table(SEEDS), claim([statement(rows=4)]))
    corrected = table(SEEDS) + table({"claim": [1.0, 2.0, 3.0]}, "r")
    with pytest.raises(ContractError, match="'r' has 0 rows in the arm corrected"):
        admitted(corrected, claim([statement("both", reads=("q", "r"))], controls={"c": Control(has=("q",))}))


TWO = [statement(), statement("second", reads=("r",))]


def test_a_corrected_form_does_not_vanish():
    """A statement that lost its corrected form would be judged on the print without a word."""
    lost = table(SEEDS) + table({"claim": [4.0, 5.0, 6.0], "control: c": [7.0, 8.0, 9.0]}, "r")
    with pytest.raises(ContractError, match="second: 'r' has 0 rows in the arm corrected"):
        admitted(lost, claim(TWO, correction="Both are sharper."))
    admitted(lost, claim([TWO[0], statement("second", reads=("r",), forms=("claim",))], correction="The first is."))
    admitted(lost, claim([TWO[0], statement("second", reads=("r",), corrected_at=("paper",))], correction="c"))


KEPT = {"claim": [4.0, 5.0, 6.0], "control: c": [7.0, 8.0, 9.0], "control: d": [-1.0, -1.2, -1.4]}


def test_a_control_does_not_lose_a_quantity():
    """With the kept control's quantity deleted the claim used to hold."""
    arms = {"claim": SEEDS["claim"], "control: c": [-1.0, -1.1, -1.2], "control: d": [-1.0, -1.1, -1.3]}
    admitted(table(arms) + table(KEPT, "r"), claim(TWO))
    deleted = table(arms) + table({arm: values for arm, values in KEPT.items() if arm != "control: c"}, "r")
    with pytest.raises(ContractError, match="'r' has no rows in the arm 'control: c'"):
        admitted(deleted, claim(TWO))
    admitted(deleted, claim(TWO, controls={"c": Control(has=("q",))}))
    with pytest.raises(ContractError, match="'r' has no rows in the arm 'control: c'"):
        admitted(deleted, claim(TWO, controls={"c": Control(has=("q", "r"))}))


def test_a_control_that_the_claim_describes_is_in_the_table():
    described = {"e": Control(has=("q",))}
    with pytest.raises(ContractError, match="'q' has no rows in the arm 'control: e'"):
        admitted(table(SEEDS), claim(controls=described))
    admitted(table(SEEDS), claim(controls={"e": Control(has=("q",), scales=("paper",))}))


def test_rows_of_an_identity_need_a_case():
    arms = {"claim": [1.0, 2.0, 3.0], "control: c": [4.0, 5.0, 6.0]}
    admitted(table(arms, case="square"), claim(kind="exact"))
    with pytest.raises(ContractError, match="rows without a case"):
        admitted(table(arms), claim(kind="exact"))
