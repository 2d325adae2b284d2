"""The checks of paper A's training runs against planted tables: the claim true, and one part of it false."""

import numpy as np

from gramlab import tables
from gramlab.streams import stream
from tasks.checks import a_fig12
from tasks.judge import Rows

SEEDS = range(5)


def planted(size: float = 0.003, **quantities) -> Rows:
    """Rows of every seed: quantity -> {(case, layer, x): value}, each with a little noise."""
    made = []
    for quantity, values in quantities.items():
        for (case, layer, x), value in values.items():
            for seed in SEEDS:
                wobble = size * float(stream("test_checks_growth", quantity, case, layer, int(10 * x), seed).normal())
                made.append({"seed": seed, "case": case, "layer": layer, "step": int(x), "x": x,
                             "quantity": quantity, "value": value + wobble})  # fmt: skip
    return Rows(tables.table(made))


def figure_12(linearity=lambda p: 0.45 - 0.2 * p, test=lambda p: 0.5 - 0.4 * p) -> Rows:
    chances = {p: f"label_noise={p:g}" for p in (0.0, 0.25, 0.5, 0.75, 1.0)}
    ends = (0.0, 1.0)
    return planted(
        target_linearity={
            (case, layer, x): x * linearity(p) - (layer == "1") * 0.3
            for p, case in chances.items()
            for layer in "12"
            for x in ends
        },
        train_accuracy={(case, "", x): x * 0.7 for case in chances.values() for x in ends},
        test_accuracy={(case, "", x): x * test(p) for p, case in chances.items() for x in ends},
    )


def test_figure_12():
    assert a_fig12.rule(figure_12()).holds
    assert a_fig12.rule(figure_12(linearity=lambda p: 0.25 + 0.2 * p)).holds is False
    assert a_fig12.rule(figure_12(test=lambda p: 0.1 + 0.4 * p)).holds is False
    assert not a_fig12.rule(figure_12(linearity=lambda p: 0.3)).holds
    assert not a_fig12.rule(figure_12(linearity=lambda p: 0.45 - 0.01 * np.cos(20 * p))).holds
