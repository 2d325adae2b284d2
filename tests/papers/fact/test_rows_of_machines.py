"""Which rows the rules on paper C's machines read: each power, each matrix's own null, and the best iterate."""

import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.fact.claims import c_fig1, c_fig11


def outcome(claim, name: str, records: list[dict]) -> bool | None:
    """What a statement's rule finds."""
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(Rows(tables.table(records)))).holds


def noise(*name: object) -> float:
    return float(stream("test_rows_of_machines", *map(str, name)).normal())


def by_power(cosines: dict[float, float]) -> list[dict]:
    """AGOP's cosines of a network of two layers by power."""
    return [{"case": "L2", "seed": seed, "x": power, "quantity": "cosine/agop",
             "value": cosine + 1e-4 * noise(seed, power)}
            for seed in range(5) for power, cosine in cosines.items()]  # fmt: skip


def test_the_power_1_over_l_must_be_above_every_other():
    assert outcome(c_fig11, "1/L is the best power", by_power({1.0: 0.7, 0.5: 0.95, 0.25: 0.8}))
    for better in (1.0, 0.25):
        cosines = {1.0: 0.7, 0.5: 0.95, 0.25: 0.7, better: 0.99}
        assert outcome(c_fig11, "1/L is the best power", by_power(cosines)) is False


@pytest.mark.parametrize("matrix", ["agop", "fact"])
def test_each_matrix_has_its_own_null(matrix):
    def above_null(**nulls: float) -> bool | None:
        records = by_power({0.5: 0.9})
        for seed in range(5):
            row = {"case": "L2", "seed": seed}
            records.append({**row, "quantity": "cosine/fact", "value": 0.9 + 1e-4 * noise(seed)})
            records += [{**row, "quantity": f"null/{name}", "value": null} for name, null in nulls.items()]
        return outcome(c_fig11, "above the null", records)

    assert above_null(agop=0.5, fact=0.5)
    assert above_null(**{"agop": 0.5, "fact": 0.5, matrix: 0.95}) is False


@pytest.mark.parametrize(
    ("statement", "quantity", "low", "high"),
    [("features on the support", "lead", -0.1, 0.6), ("most of the trace on the support", "mass", 0.1, 0.9)],
)
def test_the_features_are_those_of_the_best_iterate(statement, quantity, low, high):
    """Accuracy is best at iterate 2 of 4."""

    def holds(best: float, last: float) -> bool | None:
        series = {"accuracy": (0.5, 0.7, 0.95, 0.8), quantity: (low, low, best, last)}
        return outcome(c_fig1, statement, [
            {"case": "k = 4", "seed": seed, "x": float(step), "quantity": f"transition/{name}",
             "value": value + 1e-3 * noise(seed, step)}
            for seed in range(5) for name, values in series.items() for step, value in enumerate(values)
        ])  # fmt: skip

    assert holds(high, low)
    assert holds(low, high) is False
