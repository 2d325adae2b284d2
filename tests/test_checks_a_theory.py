"""The checks of paper A's Theorem 3 and Lemma 3 against planted tables, true and with one part of each false."""

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.checks import a_lem3, a_thm3
from tasks.experiments import a_thm3 as experiment
from tasks.judge import Rows


def rows(made: list[dict]) -> Rows:
    return Rows(tables.table(made))


def steps(slope: float = 1.0, noise: float = 0.1, layer: str = "0") -> list[dict]:
    """Measured and predicted changes whose signs alternate in training."""
    made = []
    for seed in range(5):
        draw = stream("test_checks_a_theory", seed, layer)
        predicted = draw.normal(size=30)
        measured = slope * predicted + noise * draw.normal(size=30)
        for side, values in (("measured", measured), ("predicted", predicted)):
            made += [
                {
                    "case": "net",
                    "layer": layer,
                    "seed": seed,
                    "step": step,
                    "quantity": f"thm3/{side}",
                    "value": float(value),
                }
                for step, value in enumerate(values)
            ]
    return made


def test_theorem_3():
    assert a_thm3.rule(rows(steps())).holds
    assert a_thm3.rule(rows(steps(slope=0.3))).holds is False
    assert a_thm3.rule(rows(steps(slope=3.0))).holds is False
    assert a_thm3.rule(rows(steps(slope=-1.0))).holds is False
    assert not a_thm3.rule(rows(steps(slope=0.0, noise=1.0))).holds
    # one layer's failure is the network's; the readout is not judged
    assert a_thm3.rule(rows([*steps(), *steps(slope=3.0, layer="1")])).holds is False
    assert a_thm3.rule(rows([*steps(), *steps(slope=3.0, layer="readout")])).holds


def test_lemma_3():
    near = [
        {"case": str(case), "dtype": "float64", "quantity": "lem3/remainder", "x": x, "value": x**2 * (1 + case)}
        for case in range(5)
        for x in 2.0 ** -np.arange(12)
    ]
    far = [
        {"case": "net", "layer": "0", "seed": seed, "quantity": f"lem3/{name}", "value": value + 0.01 * seed}
        for seed in range(5)
        for name, value in (("correlation", 0.6), ("null", 0.2), ("error", 0.8))
    ]
    assert a_lem3.rule(rows([*near, *far])).holds
    assert not a_lem3.rule(rows([*({**row, "value": row["x"]} for row in near), *far])).holds
    reverse = {"lem3/correlation": "lem3/null", "lem3/null": "lem3/correlation"}
    swapped = [{**row, "quantity": reverse.get(row["quantity"], row["quantity"])} for row in far]
    assert a_lem3.rule(rows([*near, *swapped])).holds is False


@pytest.mark.parametrize("case", ["ReLU, squared", "ReLU², squared"])
def test_at_the_readout_the_prediction_is_exact_but_for_the_square_of_the_step(case):
    """There f is linear in h, so the theorem's approximation is none; what is left is of order gamma^2."""
    small = experiment.CASES[case].__class__(**{**vars(experiment.CASES[case]), "rate": 1e-5})
    found = {row["quantity"]: row["value"] for row in experiment.trained(case, small, seeds=1, steps=1)
             if row.get("layer") == "readout" and row["arm"] == "claim"}  # fmt: skip
    assert found["thm3/measured"] == pytest.approx(found["thm3/predicted"], rel=1e-3)
