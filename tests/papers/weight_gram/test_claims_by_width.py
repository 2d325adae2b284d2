"""The rules of Figures 3 and 8 of paper A."""

from types import ModuleType

import pandas as pd
import pytest
from grokking_tables import figure_12, figures_13_and_14, judged
from helpers import rows
from planted import SEEDS, series

from tasks.judging.contract import ContractError
from tasks.judging.finding import by_arm, find
from tasks.judging.rows import Rows
from tasks.papers.weight_gram.claims import (
    a_fig3,
    a_fig8,
    a_fig12,
    a_fig13,
)

WIDTHS = {"width=32": 0, "width=128": 1, "width=512": 2, "width=1024": 3}


def by_width(**quantities) -> Rows:
    """Values before and after training by the rank of the width."""
    return series(0.001, **{
        quantity.replace("_", "/", 1).replace("_", " "): {(case, "", x): before + x * (after - before)
                   for case, rank in WIDTHS.items() for before, after in [values(rank)] for x in (0.0, 1.0)}
        for quantity, values in quantities.items()
    })  # fmt: skip


FIGURE_8 = {  # by statement: by quantity and rank of the width the values before and after, true and false
    "y_OLS moves to y": (
        {"target_distance": lambda rank: (0.9, 0.5)},
        {"target_distance": lambda rank: (0.9, 0.5 if rank else 0.95)},
    ),
    "the network chases y_OLS": (
        {"target_chase": lambda rank: (0.6, 0.1)},
        {"target_chase": lambda rank: (0.1, 0.6)},
    ),
    "flattens with the width": (
        {"target_distance": lambda rank: (0.9, 0.4 + 0.1 * rank)},
        {"target_distance": lambda rank: (0.9, 0.8 - 0.1 * rank)},
    ),
    "near zero at the widest": (
        {"target_distance": lambda rank: (0.8 - 0.25 * rank, 0.7 - 0.23 * rank)},
        {"target_distance": lambda rank: (0.8, 0.3)},
    ),
    "mainly the network moves": (
        {"target_chase": lambda rank: (0.9, 0.3), "target_distance": lambda rank: (0.2, 0.1)},
        {"target_chase": lambda rank: (0.9, 0.8), "target_distance": lambda rank: (0.9, 0.1)},
    ),
    "the rich end closer": (
        {"target_error": lambda rank: (1.0, 0.5 + 0.1 * rank)},
        {"target_error": lambda rank: (1.0, 0.8 - 0.1 * rank)},
    ),
    "the features limit the lazy end": (  # only at the widest, and only after training
        {"target_chase": lambda rank: (0.9, 0.5 - 0.15 * rank), "target_distance": lambda rank: (0.1, 0.3)},
        {"target_chase": lambda rank: (0.1, 0.15 * rank), "target_distance": lambda rank: (0.9, 0.3)},
    ),
    "features freeze": (
        {"movement_features": lambda rank: (0.0, 2 - 0.5 * rank)},
        {"movement_features": lambda rank: (0.0, 0.5 + 0.5 * rank)},
    ),
    "features fixed at the widest": (
        {"movement_features": lambda rank: (0.0, 0.35 - 0.1 * rank)},
        {"movement_features": lambda rank: (0.0, 1.0)},
    ),
    "triangle inequality": (
        {"target_triangle_ratio": lambda rank: (0.9, 0.9)},
        {"target_triangle_ratio": lambda rank: (0.9, 1.1)},
    ),
}


@pytest.mark.parametrize("name", FIGURE_8)
def test_figure_8(name):
    true, false = FIGURE_8[name]
    assert judged(a_fig8, name, by_width(**true)).holds
    assert judged(a_fig8, name, by_width(**false)).holds is False


@pytest.mark.parametrize(
    ("name", "quantity"), [("y_OLS moves to y", "distance"), ("the network chases y_OLS", "chase")]
)
def test_a_fall_of_a_tenth_of_the_target_is_substantial_in_figure_8(name, quantity):
    def outcome(fall: float) -> bool | None:
        return judged(a_fig8, name, by_width(**{f"target_{quantity}": lambda rank: (0.5, 0.5 - fall)})).holds

    assert outcome(0.11)
    assert outcome(0.09) is False


def test_the_widest_network_of_figure_8_is_near_zero_and_not_only_nearer():
    def of_widest(before: float, after: float) -> bool | None:
        table = by_width(target_distance=lambda rank: (before, after) if rank == 3 else (0.8, 0.5))
        return judged(a_fig8, "near zero at the widest", table).holds

    assert of_widest(0.02, 0.09)
    assert of_widest(0.09, 0.02)
    assert of_widest(0.02, 0.11) is False
    assert of_widest(0.11, 0.02) is False


def test_figure_8_is_about_a_lazy_network_only_where_it_says_so():
    """Its features move by less than a tenth of their norm, in the widest network and not in the narrower ones."""
    (lazy,) = a_fig8.HYPOTHESES
    true, false = FIGURE_8["features fixed at the widest"]
    assert lazy.rule(by_width(**true)).holds
    assert lazy.rule(by_width(**false)).holds is False
    assert lazy.statements == ("the features limit the lazy end",)
    assert lazy.reason == "hypothesis not met"


def test_the_narrowest_network_at_the_widest_place_breaks_laziness():
    """If the widest network were lazy, the control with exchanged widths would break the asserted laziness."""

    def movement(rank: int) -> tuple[float, float]:
        return 0.0, 0.35 - 0.1 * rank

    def exchanged(rank: int) -> tuple[float, float]:
        return movement({0: 3, 3: 0}.get(rank, rank))

    tables = {"claim": by_width(movement_features=movement),
              "control: narrowest and widest exchanged": by_width(movement_features=exchanged)}  # fmt: skip
    frame = pd.concat([table.frame.assign(arm=arm) for arm, table in tables.items()])
    (statement,) = (entry for entry in a_fig8.STATEMENTS if entry.name == "features fixed at the widest")
    assert statement.kind == "asserted"
    by_name = by_arm(statement, Rows(frame), a_fig8.CONTROLS)
    assert {arm: finding.holds for arm, finding in by_name.items()} == dict(zip(tables, (True, False), strict=True))


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("near its linearization", "linearization"),
        ("features move less than in the rich network", "features"),
        ("a moving target", "target"),
    ],
)
def test_figure_3(name, quantity):
    def outcome(lazy, rich) -> bool | None:
        table = by_width(**{f"lazy_{quantity}": lambda r: (0.0, lazy(r)), f"rich_{quantity}": lambda r: (0.0, rich(r))})
        return judged(a_fig3, name, table).holds

    assert outcome(lambda r: 0.4 - 0.1 * r, lambda r: 0.9)
    assert outcome(lambda r: 0.9, lambda r: 0.5) is False
    assert outcome(lambda r: 0.4 - 0.1 * r, lambda r: 0.9 - 0.8 * (r == 1)) is False  # at one width the lazy move more
    if quantity == "features":
        assert outcome(lambda r: 0.1 + 0.1 * r, lambda r: 0.9) is False  # the wider, the more


def test_the_widest_lazy_network_of_figure_3_is_as_fixed_as_figure_8_asks():
    """Its features move by less than a tenth of their norm after training, whatever the narrower and the rich do."""
    fixed = "features fixed at the widest"

    def outcome(claim: ModuleType, movement, **others) -> bool | None:
        name = "lazy_features" if claim is a_fig3 else "movement_features"
        return judged(claim, fixed, by_width(**{name: movement}, **others)).holds

    for movement, holds in (
        (lambda r: (0.0, 0.35 - 0.1 * r), True),
        (lambda r: (0.5, 0.05), True),
        (lambda r: (0.0, 0.09), True),
        (lambda r: (0.0, 0.11), False),
        (lambda r: (0.0, 0.05 + 0.1 * r), False),
    ):
        for claim in (a_fig3, a_fig8):
            assert outcome(claim, movement) is holds
    assert outcome(a_fig3, lambda r: (0.0, 0.05), rich_features=lambda r: (0.0, 0.9))
    (ours,) = (statement for statement in a_fig3.STATEMENTS if statement.name == fixed)
    assert (ours.kind, ours.scales) == ("ours", ("paper",))


def test_a_target_that_moves_further_in_lazy_networks_refutes_figure_3():
    """This stands in for a control: none of Figure 3's breaks the statement."""
    (stood_in_for,) = (statement for statement in a_fig3.STATEMENTS if statement.stands_in)
    ends = {"lazy": (0.0, 0.6), "rich": (0.0, 0.3)}
    table = by_width(lazy_target=lambda r: ends["lazy"], rich_target=lambda r: ends["rich"])
    assert judged(a_fig3, stood_in_for.name, table).holds is False
    exchanged = by_width(lazy_target=lambda r: ends["rich"], rich_target=lambda r: ends["lazy"])
    assert judged(a_fig3, stood_in_for.name, exchanged).holds


def complete(claim: ModuleType, tables: list[Rows], control: str) -> Rows:
    """A table with the arm ``claim`` and a control of other numbers, all possible accuracies and linearities."""
    records = [row for table in tables for row in table.frame.to_dict("records")]
    arms = [{**row, "arm": arm, "experiment": "planted", "scale": "quick",
             "value": 0.1 + 0.25 * row["value"] + 0.01 * (arm != "claim")}
            for row in records for arm in ("claim", control)]  # fmt: skip
    return rows(arms)


@pytest.mark.parametrize(("claim", "table"), [(a_fig12, figure_12), (a_fig13, figures_13_and_14)])
def test_a_table_that_lacks_a_seed_or_a_case_is_refused(claim, table):
    complete_rows = complete(claim, [table()], "control: planted")
    assert find(claim, "A", complete_rows, "planted", "quick", {len(SEEDS)})["ran"]
    first_case = min(complete_rows.case.tolist())
    for lacking in (
        complete_rows.frame[complete_rows.frame["seed"] < len(SEEDS) - 1],
        complete_rows.frame[(complete_rows.frame["seed"] > 0) | (complete_rows.frame["case"] != first_case)],
        complete_rows.frame[complete_rows.frame["quantity"] != "train_accuracy"],
    ):
        with pytest.raises(ContractError):
            find(claim, "A", Rows(lacking), "planted", "quick", {len(SEEDS)})


def test_a_table_of_figure_12_without_one_probability_is_refused():
    frame = complete(a_fig12, [figure_12()], "control: planted").frame
    with pytest.raises(ContractError, match="the statement needs 5"):
        find(a_fig12, "A", Rows(frame[frame["case"] != "label_noise=0.5"]), "planted", "quick", {len(SEEDS)})
