"""Paper C's claims on trained networks, judged on planted tables: all parts true, or one part false."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.fact.claims import c_fig3, c_fig8, c_fig9, c_fig10, c_fig11, c_tab2, c_tab2_cifar10, c_tab2_mnist
from tasks.papers.fact.claims.shared.correlations import HIDDEN, NAMES
from tasks.settings import load


def noisy(value: float, *name: object, size: float = 0.02) -> float:
    return float(np.tanh(np.arctanh(value) + size * stream("test_checks_c", *map(str, name)).normal()))


def side(check) -> str:
    """The side of the layer that the claim is about, as in its quantities."""
    return "back_" if "back_" in check.QUANTITIES[0] else ""


def after_training(check, worst: dict[str, float], where: str = "CIFAR-10") -> Rows:
    """FACT at 0.95, all others at 0.8, except ``worst`` on layer 4; at the readout, which is not hidden, AGOP at 1."""
    records = []
    for seed, case in product(range(5), ("CIFAR-10", "MNIST")):
        for layer in [*sorted(HIDDEN), "10"]:
            for name in NAMES:
                value = 0.95 if "fact" in name else 0.8
                if layer == "4" and case == where:
                    value = worst.get(name, value)
                if layer == "10" and name == "agop":
                    value = 0.9999
                records.append({"case": case, "seed": seed, "layer": layer, "x": 9.0, "step": 9,
                             "quantity": f"pearson/{side(check)}{name}",
                             "value": noisy(value, seed, case, layer, name)})  # fmt: skip
    return Rows(tables.table(records))


@pytest.mark.parametrize("check", [c_fig3, c_fig9])
def test_fact_is_ahead_on_every_layer(check):
    assert check.rule(after_training(check, {})).holds
    for other in ("agop", "root agop", "enfa", "root enfa"):
        assert check.rule(after_training(check, {other: 0.97})).holds is False
    for where in ("CIFAR-10", "MNIST"):
        assert check.rule(after_training(check, {"fact": 0.6}, where)).holds is False


def with_null(rows: Rows, name: str, value: float, *cases: str) -> Rows:
    """The table with this null in all seeds and layers of the cases."""
    records = [{"case": case, "seed": seed, "layer": layer, "x": 9.0, "step": 99, "quantity": f"null/{name}",
                "scale": "paper", "value": value} for case in cases for seed in range(5)
               for layer in sorted(set(rows.where(case=case).layer.tolist()))]  # fmt: skip
    return Rows(pd.concat([rows.frame, Rows(tables.table(records)).frame], ignore_index=True))


@pytest.mark.parametrize("check", [c_fig3, c_fig8, c_fig9, c_fig10, c_tab2])
def test_correlations_are_compared_with_their_null(check):
    late, root = (lambda t: 0.1 + 0.88 * t**6), (lambda t: 0.5 + 0.48 * t**6)
    if check is c_tab2:
        rows, cases = table_2(), ("1K", "2K")
    elif check in (c_fig3, c_fig9):
        rows, cases = after_training(check, {}), ("CIFAR-10", "MNIST")
    else:
        rows, cases = along_training(check, late, root), ("CIFAR-10",)
    name = "symmetric fact" if check is c_tab2 else f"{side(check)}fact"
    assert not any("null" in part for part in check.rule(rows).parts)  # an older table without nulls
    assert check.rule(with_null(rows, name, 0.3, *cases)).holds
    finding = check.rule(with_null(rows, name, 0.9999, *cases))
    assert finding.holds is False
    assert finding.part.endswith(f"{name} above its null")


def test_both_networks_of_the_paper_are_trained():
    variants = load("paper").train["c_fig8"].each()
    hidden = {name: variant.model.hidden for name, variant in variants.items()}
    assert hidden == {"MNIST": [1024] * 5, "CIFAR-10": [3072] * 5}


def along_training(check, fact, root) -> Rows:
    records = [
        {"case": case, "seed": seed, "layer": layer, "step": epoch, "quantity": f"pearson/{side(check)}{name}",
         "value": noisy(law(epoch / 20) if case == "CIFAR-10" else 0.5, seed, layer, epoch)}
        for case in ("CIFAR-10", "MNIST")
        for seed in range(5)
        for layer in ("0", "2", "4")
        for epoch in range(21)
        for name, law in (("fact", fact), ("symmetric fact", root))
    ]  # fmt: skip
    return Rows(tables.table(records))


@pytest.mark.parametrize("check", [c_fig8, c_fig10])
def test_fact_is_low_and_then_rises(check):
    late, root = (lambda t: 0.1 + 0.88 * t**6), (lambda t: 0.5 + 0.48 * t**6)
    assert check.rule(along_training(check, late, root)).holds
    assert check.rule(along_training(check, lambda t: 0.98, root)).holds is False  # never low
    assert check.rule(along_training(check, lambda t: 0.1, root)).holds is False  # never rises
    assert check.rule(along_training(check, late, lambda t: 0.05)).holds is False  # the root is no better


def table_2(check=c_tab2, **changed: float) -> Rows:
    records = []
    for name, printed in check.TABLE.items():
        for case, value in printed.items():
            value = min(changed.get(f"{name} {case}", value), 0.9985)
            records += [{"case": case, "seed": seed, "layer": "0", "quantity": f"pearson/{name}", "scale": "paper",
                      "value": noisy(value, case, name, seed, size=0.001)} for seed in range(5)]  # fmt: skip
    return Rows(tables.table(records))


def test_table_2():
    finding = c_tab2.rule(table_2())
    assert finding.holds  # with FACT behind at n = 1K, as printed
    assert all(value for name, value in finding.numbers.items() if name.endswith("matches print"))
    assert c_tab2.rule(table_2(**{"fact 2K": 0.85})).holds is False
    assert c_tab2.rule(table_2(**{"symmetric fact 1K": 0.85})).holds is False
    assert not c_tab2.rule(table_2(**{"fact 2K": 0.95})).numbers["2K, fact, matches print"]


@pytest.mark.parametrize("check", [c_tab2_mnist, c_tab2_cifar10])
def test_other_columns_of_table_2(check):
    assert check.rule(table_2(check)).holds
    for case in check.TABLE["fact"]:
        assert check.rule(table_2(check, **{f"fact {case}": 0.7})).holds is False


def linear(
    agop: float = 0.9995, other: float = 0.97, fact: float = 0.9997, balance: float = 0.01, null: float = 0.7
) -> Rows:
    records = []
    for seed in range(5):
        for depth in (2, 3):
            labels = {"case": f"L{depth}", "seed": seed}
            for s in (1, 1 / 2, 1 / 3, 1 / 4):
                value = noisy(agop if s == 1 / depth else other, seed, depth, s)
                records.append({**labels, "quantity": "cosine/agop", "x": s, "value": value})
            records.append({**labels, "quantity": "cosine/fact", "value": noisy(fact, seed, depth)})
            records += [{**labels, "quantity": f"null/{name}", "value": null} for name in ("agop", "fact")]
            records.append({**labels, "quantity": "balance", "value": balance * (1 + 0.01 * seed)})
    return Rows(tables.table(records))


def test_deep_linear_networks():
    assert c_fig11.rule(linear()).holds
    for broken in ({"agop": 0.98}, {"other": 0.9999}, {"fact": 0.99}, {"balance": 0.2}, {"null": 0.99999}):
        assert c_fig11.rule(linear(**broken)).holds is False
