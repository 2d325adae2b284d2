"""Parts planted away from the real tables are missed: a quantity, an arm, a case, a layer or a step."""

import itertools
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from gramlab import tables
from tasks import papers
from tasks.judging.contract import ContractError, with_all_forms
from tasks.judging.parts import incomplete, refuse_incomplete
from tasks.judging.rows import Rows
from tasks.judging.statement import Control
from tasks.settings import load

REPORTS = Path(__file__).resolve().parents[2] / "reports"
SETTINGS = {scale: load(scale) for scale in ("quick", "paper")}
CLAIMS = {(scale, key): table for scale, settings in SETTINGS.items() for key, table in settings.claims.items()}
COMMITTED = [
    (scale, key)
    for (scale, key), experiment in CLAIMS.items()
    if (REPORTS / scale / "tables" / f"{experiment}.parquet").is_file()
]


@cache
def whole(scale: str, experiment: str) -> tuple[pd.DataFrame, set[int]]:
    """The rows of a committed table, which several claims may share, and the numbers of its seeds."""
    table = tables.read(REPORTS / scale / "tables" / f"{experiment}.parquet")
    return Rows(table).frame, tables.seeds(table)


@cache
def committed(scale: str, key: str) -> pd.DataFrame:
    """The rows of a claim's committed table with the arms of both forms."""
    frame, _ = whole(scale, CLAIMS[scale, key])
    return with_all_forms(Rows(frame), module(key)).frame


def module(key: str):
    return papers.claim(SETTINGS["quick"].paper[key], key)


def planted(key: str, words: str, lost: dict, scale: str = "quick") -> None:
    """Refuse the committed table without the rows that have these values, and name them."""
    frame = committed(scale, key)
    refuse_incomplete(Rows(frame), module(key), scale)
    at_fault = pd.Series(True, frame.index)
    for column, value in lost.items():
        at_fault &= frame[column].isin(value if isinstance(value, list) else [value])
    assert at_fault.any(), "the fault is not planted"
    with pytest.raises(ContractError) as error:
        refuse_incomplete(Rows(frame[~at_fault]), module(key), scale)
    assert words in str(error.value)
    assert module(key).ID in str(error.value)


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_committed_table_is_whole(scale):
    keys = [key for at, key in COMMITTED if at == scale]
    assert len(keys) > 50
    assert [(key, words) for key in keys for words in incomplete(Rows(committed(scale, key)), module(key), scale)] == []


@pytest.mark.parametrize(
    ("key", "control", "quantity", "lost", "words"),
    [
        ("b_fig2", "random K", "nfa/centered", {"case": "1/(1+k)"}, "case 1/(1+k)"),
        ("d_fig3", "M = I", "nc1/data", {"layer": "3"}, "layer 3"),
        ("d_fig7", "labels shuffled at the measure, digits", "fall/projection", {"step": 4500}, "step 4500"),
        ("a_fig12", "untrained", "target_linearity", {"case": "label_noise=0.5"}, "case label_noise=0.5"),
        ("c_fig8", "shuffled labels", "pearson/fact", {"layer": "4"}, "layer 4"),
    ],
)
def test_a_control_does_not_lose_a_part(key, control, quantity, lost, words):
    arm = f"control: {control}"
    planted(key, f"{arm!r}, and the arm 'claim' has some", {"arm": arm, "quantity": quantity, **lost})
    planted(key, f"{quantity!r} has no rows at ", {"arm": arm, "quantity": quantity, **lost})
    planted(key, words, {"arm": arm, "quantity": quantity, **lost})


@pytest.mark.parametrize("key", ["a_fig4", "b_fig2", "c_tab2", "a_fig10", "b_rmt"])
def test_a_correction_does_not_lose_its_arm(key):
    planted(key, "no arm 'corrected'", {"arm": "corrected"})


@pytest.mark.parametrize("key", ["c_tab2", "b_rmt"])
def test_a_corrected_form_does_not_lose_a_part(key):
    quantity = module(key).STATEMENTS[0].reads[0]
    frame = committed("quick", key)
    case = frame["case"][(frame["arm"] == "corrected") & (frame["quantity"] == quantity)].iloc[-1]
    planted(key, f"case {case}", {"arm": "corrected", "quantity": quantity, "case": case})


@pytest.mark.parametrize("key", ["b_fig6", "c_tab3", "a_fig8"])
def test_rows_of_a_statistical_claim_do_not_lose_their_case(key):
    frame, quantity = committed("quick", key).copy(), module(key).STATEMENTS[0].reads[0]
    rows = frame[(frame["arm"] == "claim") & (frame["quantity"] == quantity)]
    frame.loc[rows.index[rows["case"] == rows["case"].iloc[0]][:1], "case"] = ""
    with pytest.raises(ContractError, match="has rows without a case in the arm 'claim', and others with one"):
        refuse_incomplete(Rows(frame), module(key), "quick")


@pytest.mark.parametrize(
    ("key", "quantity", "lost", "words"),
    [
        ("c_tab3", "tabular/accuracy", {"case": None}, "case "),
        ("d_fig3", "nc1/data", {"layer": "3"}, "layer 3"),
        ("a_fig8", "target/distance", {"step": None}, "step "),
        ("c_fig3", "pearson/fact", {"layer": "6", "step": 31050}, "layer 6, step 31050"),
    ],
)
def test_the_claims_own_arm_does_not_lose_a_part(key, quantity, lost, words):
    frame = committed("quick", key)
    rows = frame[(frame["arm"] == "claim") & (frame["quantity"] == quantity)]
    lost = {column: rows[column].iloc[-1] if value is None else value for column, value in lost.items()}
    planted(key, f"{quantity!r} has no rows at ", {"arm": "claim", "quantity": quantity, **lost})
    planted(key, words, {"arm": "claim", "quantity": quantity, **lost})


@pytest.mark.parametrize(
    ("key", "quantity", "column", "value"),
    [
        ("d_fig3", "nc1/data", "layer", "3"),
        ("c_fig3", "pearson/fact", "step", 31050),
        ("b_fig2", "nfa/centered", "layer", "0"),
    ],
)
def test_all_arms_together_do_not_lose_a_part_of_a_case_or_layer(key, quantity, column, value):
    """Where the arms agree, the cases and the layers of one arm are compared with each other."""
    frame = committed("quick", key)
    rows = frame[(frame["arm"] == "claim") & (frame["quantity"] == quantity)]
    other = "layer" if column == "step" else "case"
    place = {column: value, other: rows[other].iloc[-1]}
    planted(key, f"{quantity!r} has no rows at ", {"quantity": quantity, **place})


@pytest.mark.parametrize("key", ["c_fig11", "b_fig6", "a_fig12"])
def test_a_quantity_does_not_lose_a_case_that_the_others_have(key):
    statement = next(each for each in module(key).STATEMENTS if len(each.reads) > 1)
    frame = committed("quick", key)
    quantity = statement.reads[0]
    case = frame["case"][(frame["arm"] == "claim") & (frame["quantity"] == quantity)].iloc[-1]
    planted(key, f"{quantity!r} has no rows at case {case}", {"quantity": quantity, "case": case})


@pytest.mark.parametrize("key", ["a_fig8", "c_fig7", "d_fig2", "a_lem1", "c_thm3_4"])
def test_what_all_asserted_statements_read_is_not_lost(key):
    """Without these rows the claim used to be not run, as if its table were old."""
    asserted = [statement for statement in module(key).STATEMENTS if statement.kind == "asserted"]
    quantities = list(itertools.chain(*(statement.reads for statement in asserted)))
    planted(key, f"{quantities[0]!r} has no rows in the arm 'claim'", {"arm": "claim", "quantity": quantities})


def test_an_older_table_of_the_papers_scale_is_judged():
    """A table of A.fig12 from before its corrected form lacks that arm; the verdict says so."""
    table = committed("paper", "a_fig12")
    assert "corrected" in set(table["arm"])
    refuse_incomplete(Rows(table[~table["arm"].str.endswith("corrected")]), module("a_fig12"), "paper")


def test_a_control_says_why_its_parts_differ():
    with pytest.raises(ValueError, match="say why a control's parts"):
        Control(parts=("case",))
