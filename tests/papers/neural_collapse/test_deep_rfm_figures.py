"""Figures 1 and 3 of paper D on planted tables: the rules accept a collapse, and reject one with any part broken."""

import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.neural_collapse.claims import d_fig1, d_fig3


def collapse(nc1_by_layer: tuple[float, ...] = (), **factors: float) -> Rows:
    """NC1 and NC2 that change by these factors in each layer, or a given NC1, with some noise between seeds."""
    rows = []
    for seed in range(5):
        noise = stream("test_checks_d", seed).uniform(0.95, 1.05)
        for layer in range(1, 9):
            data = nc1_by_layer[layer - 1] if nc1_by_layer else factors.get("nc1", 0.5) ** layer
            values = {"nc1/data": data, "nc1/agop": data * factors.get("agop", 0.3)}
            values["nc1/features"] = values["nc1/agop"] * factors.get("features", 1.5)
            values["nc2/data"] = factors.get("nc2", 0.8) ** layer
            values["ridge"] = 1.5e-8 if layer > 6 - seed % 2 else 0.0
            rows += [{"case": "digits, laplace, relu", "seed": seed, "x": float(layer), "quantity": name,
                      "value": value * noise ** (layer % 3)} for name, value in values.items()]  # fmt: skip
    return Rows(tables.table(rows))


def test_figure_3_accepts_a_collapse():
    assert d_fig3.rule(collapse()).holds


@pytest.mark.parametrize("factors", [{"nc1": 1.1}, {"agop": 1.2}, {"features": 0.7}, {"nc2": 1.1}])
def test_figure_3_rejects_a_broken_part(factors):
    assert d_fig3.rule(collapse(**factors)).holds is False


def test_figure_3_rejects_an_nc1_that_rises_after_a_steep_fall():
    finding = d_fig3.rule(collapse((1, 0.3, 0.1, 0.01, 0.02, 0.04, 0.06, 0.08)))  # falls in 3 of 7 steps
    assert finding.holds is False
    assert [name for name, part in finding.parts.items() if not part.holds] == [
        "digits, laplace, relu: NC1 layer by layer"
    ]


def test_figure_3_rejects_a_last_nc1_above_the_first():
    finding = d_fig3.rule(collapse((0.1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)))
    assert finding.parts["digits, laplace, relu: NC1 at last"].holds is False


def test_figure_3_reports_nc1_and_the_ridge_of_singular_kernels():
    measured = d_fig3.rule(collapse()).measured
    # NC1 of the data before M^{1/2}: 2^-1 and 2^-8 times the noise
    assert measured.startswith("NC1 at most 0.49 in the first layer and 0.0038 in the last;")
    assert measured.endswith("digits, laplace, relu: ridge 1.6e-08 in 2 to 3 of 8 layers")


def simplex(within: float = 0.98, across: float = -0.11, spread: float = 0.05) -> Rows:
    values = {"within": within, "across": across, "spread": spread}
    rows = [{"case": "digits, gaussian, relu", "seed": seed, "x": float(layer), "quantity": f"gram/{name}",
             "value": value + 0.001 * seed} for seed in range(5) for layer in (1, 2)
            for name, value in values.items()]  # fmt: skip
    return Rows(tables.table(rows))


def test_figure_1_accepts_a_simplex():
    finding = d_fig1.rule(simplex())
    assert finding.holds
    assert finding.p < 0.05  # Holm's correction uses it


@pytest.mark.parametrize("broken", [{"within": 0.8}, {"across": 0.1}, {"spread": 0.2}])
def test_figure_1_rejects_a_broken_part(broken):
    finding = d_fig1.rule(simplex(**broken))
    assert finding.holds is False
    assert finding.p > 0.95
