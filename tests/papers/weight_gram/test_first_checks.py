"""Each check of a figure against planted tables in which its claim is true, and in which one part of it is false."""

from pathlib import Path

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rules import Rows
from tasks.papers.fact.claims import c_rem3_3, c_thm3_1, c_thma_1
from tasks.papers.weight_gram.claims import a_fig1, a_fig4, a_fig7, a_prop1, a_thm1, a_tl
from tasks.papers.weight_gram.claims.shared.rules import laws

SEEDS = range(5)


def rows(made: list[dict]) -> Rows:
    return Rows(tables.table(made))


def noise(*name) -> float:
    return float(stream("test_checks", *name).normal())


def figure_4(surrogate=lambda layer, t: 2.0**layer * np.exp(0.04 * t), linearity=None, data="CIFAR-10") -> Rows:
    linearity = linearity or (lambda layer, t: 0.1 * layer + 0.05 * layer * np.log1p(t))
    return rows(
        [
            {
                "case": data,
                "seed": seed,
                "layer": str(layer),
                "step": int(t),
                "x": t,
                "quantity": quantity,
                "value": law(layer, t) * (1 + 0.003 * noise(seed, layer, t)),
            }
            for seed in SEEDS
            for layer in (1, 2, 3, 4)
            for t in np.arange(0.0, 101, 5)
            for quantity, law in (("surrogate", surrogate), ("target_linearity", linearity))
        ]
    )


def test_figure_4():
    assert a_fig4.rule(figure_4()).holds
    linear = lambda layer, t: 2.0**layer * (1 + 0.1 * t)  # noqa: E731
    assert a_fig4.rule(figure_4(surrogate=linear)).numbers["CIFAR-10, surrogate_exponential"] < 0
    assert not a_fig4.rule(figure_4(surrogate=lambda layer, t: 2.0**-layer * np.exp(0.04 * t))).holds
    assert not a_fig4.rule(figure_4(linearity=lambda layer, t: 0.5 - 0.05 * layer * np.log1p(t))).holds
    assert not a_fig4.rule(figure_4(linearity=lambda layer, t: 0.1 * layer + 0.001 * layer * t)).holds


@pytest.mark.parametrize("quantity", ["surrogate", "linearity"])
def test_figure_4_sees_what_falls_between_its_ends(quantity):
    falls = {quantity: lambda layer, t: 0.1 * layer * (np.exp(-0.04 * t) + (t == 100))}
    parts = a_fig4.rule(figure_4(**falls)).parts
    assert parts[f"CIFAR-10, {quantity}_in_training"].holds
    assert parts[f"CIFAR-10, {quantity}_throughout"].holds is False


def test_figure_4_on_two_data_sets_and_its_printed_levels():
    def found(level: float, test: float = 0.2, scale: str = "paper", rate: float = 0.04):
        parts = [
            figure_4(lambda layer, t: 2.0**layer * np.exp(rate * t)),
            figure_4(
                linearity=lambda layer, t: layer / 4 * (0.02 + (level - 0.02) * np.log1p(t) / np.log(101)),
                data="CIFAR-100",
            ),
        ]
        ends = [{"case": data, "seed": seed, "step": 100, "x": 100.0, "quantity": f"{part}_accuracy",
                 "value": value + 0.002 * noise(data, part, seed)}
                for data, right in (("CIFAR-10", 0.5), ("CIFAR-100", test)) for seed in SEEDS
                for part, value in (("train", 0.95), ("test", right))]  # fmt: skip
        parts.append(rows(ends))
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in parts[0]._columns}
        size = len(columns["value"])
        return a_fig4.rule(Rows({**columns, "arm": np.array(["claim"] * size, dtype=object),
                                 "scale": np.array([scale] * size, dtype=object)}))  # fmt: skip

    same = found(0.15)
    assert same.holds
    assert same.parts["levels_as_printed"].holds
    assert same.evidence == "matches print"
    assert "levels as printed: CIFAR-10, test accuracy, CIFAR-100, target linearity" in same.measured
    for other in (found(0.25), found(0.15, test=0.4)):
        assert other.holds
        assert other.parts["levels_as_printed"].holds is False
        assert other.evidence == "direction"
        assert "levels not shown to equal the print: CIFAR-100" in other.measured
    above = found(2.0)
    assert above.parts["differ"].holds is False
    assert above.holds is False
    wrong = found(0.15, rate=-0.04)  # the levels, but not the claim that they are beside
    assert wrong.holds is False
    assert wrong.parts["levels_as_printed"].holds
    assert wrong.evidence == "direction"
    assert "levels_as_printed" not in found(0.15, scale="quick").parts


@pytest.mark.parametrize("law", ["exponential", "linear", "logarithmic"])
def test_growth_laws_are_told_apart(law):
    t = np.arange(0.0, 60, 3)
    y = {"exponential": 0.3 * np.exp(0.05 * t), "linear": 1 + 0.2 * t, "logarithmic": 1 + 0.2 * np.log1p(t)}[law]
    errors = laws(t, y)
    assert min(errors, key=lambda name: errors[name]) == law
    assert errors[law] < 1e-4 * (y**2).sum()


def figure_7(vcs: float, agop: float, null: float) -> Rows:
    made = []
    for seed in SEEDS:
        wobble = 0.01 * noise("fig7", seed)
        made += [
            {"seed": seed, "quantity": "pearson/vcs_gram_diagonal", "value": np.tanh(np.arctanh(vcs) + wobble)},
            {"seed": seed, "quantity": "pearson/agop_gram_diagonal", "value": np.tanh(np.arctanh(agop) - wobble)},
        ]
        made += [{"seed": seed, "quantity": "null/vcs_gram_diagonal", "x": draw, "value": null} for draw in range(9)]
    return rows(made)


def test_figure_7():
    found = a_fig7.rule(figure_7(0.98, 0.71, 0.2))
    assert found.holds
    assert found.numbers["rho(VCS, Gram), diagonal"] == pytest.approx(0.98, abs=0.01)
    assert a_fig7.rule(figure_7(0.71, 0.98, 0.2)).holds is False
    assert a_fig7.rule(figure_7(0.98, 0.71, 0.99)).holds is False  # no better than a Gram that learned nothing


def figure_1(step: float) -> Rows:
    return rows(
        [
            {
                "seed": seed,
                "step": frame,
                "quantity": "target_linearity",
                "value": 0.1 + step * frame + 0.001 * noise(seed, frame),
            }
            for seed in SEEDS
            for frame in range(0, 51, 10)
        ]
    )


def test_figure_1():
    assert a_fig1.rule(figure_1(0.01)).holds
    assert a_fig1.rule(figure_1(-0.01)).holds is False
    assert not a_fig1.rule(figure_1(0.0)).holds


def test_figure_1_s_correction_says_what_the_print_gives():
    table = Path(__file__).resolve().parent.parent / "reports" / "paper" / "tables" / "a_fig1.parquet"
    read = Rows(tables.read(table)).where(arm="claim", quantity="target_linearity")
    found = a_fig1.rule(read)
    assert found.holds
    assert found.numbers["rise"] < 0.001
    assert "by itself significantly, but by less than 0.001" in a_fig1.CORRECTION


def test_proposition_1():
    good = [{"quantity": "prop1/ratio", "value": 0.5}, {"quantity": "prop1/opposite signs", "value": 0.0}]
    assert a_prop1.rule(rows(good)).holds
    assert not a_prop1.rule(rows([*good, {"quantity": "prop1/ratio", "value": 1.01}])).holds
    assert not a_prop1.rule(rows([*good, {"quantity": "prop1/opposite signs", "value": 1.0}])).holds


def residuals(quantity: str, size: float) -> list[dict]:
    return [
        {"case": str(case), "dtype": dtype, "quantity": quantity, "value": unit * size * (1 + 0.1 * noise(case, dtype))}
        for case in range(6)
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]


def test_target_linearitys_identity():
    assert a_tl.rule(rows(residuals("tl/residual", 0.1))).holds
    assert not a_tl.rule(rows(residuals("tl/residual", 1e3))).holds


def remainders(quantity: str, power: float, least: float = 0.0) -> list[dict]:
    return [
        {"case": str(case), "layer": "0", "dtype": "float64", "quantity": quantity, "x": x, "value": x**power + least}
        for case in range(6)
        for x in 2.0 ** -np.arange(21)
    ]


def test_theorem_1():
    exactly = residuals("thm1/residual", 0.1)
    assert a_thm1.rule(rows([*exactly, *remainders("thm1/remainder", 2)])).holds
    assert not a_thm1.rule(rows([*exactly, *remainders("thm1/remainder", 1)])).holds
    assert not a_thm1.rule(rows([*residuals("thm1/residual", 1e4), *remainders("thm1/remainder", 2)])).holds


def reached(quantity: str) -> list[dict]:
    about = {"layer": "0", "dtype": "float64", "quantity": quantity, "x": 1e-12, "value": 1e-12}
    return [{**about, "case": str(case)} for case in range(6)]


def test_features_at_convergence():
    line = {"quantity": "fact/ratio", "value": 0.7}
    good = [*remainders("fact/error", 1), *reached("fact/error"), line]
    assert c_thm3_1.rule(rows(good)).holds
    assert not c_thm3_1.rule(rows([*remainders("fact/error", 1), line])).holds  # stops above 1e-9
    assert not c_thm3_1.rule(rows([*remainders("fact/error", 0), *reached("fact/error"), line])).holds
    assert not c_thm3_1.rule(rows([*good, {**line, "value": 1.01}])).holds


@pytest.mark.parametrize("check", [c_rem3_3, c_thma_1])
def test_other_forms_of_features_at_convergence(check):
    def found(**other: float):
        powers = {**dict.fromkeys(check.QUANTITIES, 1.0), **other}
        return check.rule(rows([row for name, p in powers.items() for row in [*remainders(name, p), *reached(name)]]))

    assert found().holds
    for quantity in check.QUANTITIES:
        assert not found(**{quantity: 0.5}).holds


def test_fact_is_psd_at_critical_points_only():
    everywhere = {"layer": "0", "dtype": "float64", "quantity": "fact/cone/error", "x": 2.0, "value": 1e-6}
    made = [row for quantity in c_rem3_3.QUANTITIES for row in [*remainders(quantity, 1), *reached(quantity)]]
    assert not c_rem3_3.rule(rows([*made, *({**everywhere, "case": str(case)} for case in range(6))])).holds
