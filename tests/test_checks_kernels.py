"""What the experiments on kernel machines measure, on matrices and curves of which the answer is known."""

import numpy as np
import pytest
import torch

from gramlab import tables
from gramlab.streams import stream
from tasks.checks import c_fig1, c_fig7
from tasks.experiments.c_modular import circulancy
from tasks.judge import Rows


def test_circulancy():
    p = 13
    draw = stream("circulancy", p)
    i = torch.arange(p)
    line = lambda: torch.from_numpy(draw.normal(size=p))  # noqa: E731
    minus, plus = line()[(i[:, None] - i) % p], line()[(i[:, None] + i) % p]
    blocks = torch.cat([torch.cat([minus, plus], 1), torch.cat([plus, minus], 1)])
    assert circulancy(blocks + torch.diag(torch.arange(2.0 * p, dtype=blocks.dtype))) == pytest.approx(1)
    random = [circulancy(torch.from_numpy(draw.normal(size=(2 * p, 2 * p)))) for _ in range(20)]
    assert np.mean(random) < 2.5 / p
    assert circulancy(torch.eye(2 * p, dtype=torch.float64)) == 0


def transition(start: int, mass: float = 0.8) -> Rows:
    """Test accuracy that rises at iterate ``start``, of a training set fitted from iterate 1 on."""
    made = [
        {"seed": seed, "x": step, "quantity": f"transition/{what}", "value": value + 0.001 * seed * step}
        for seed in range(4)
        for step in range(8)
        for what, value in (
            ("accuracy", 0.95 if step >= start else 0.5),
            ("train accuracy", 0.99 if step else 0.8),
            ("mass", mass if step >= start else 0.2),
        )
    ]
    return Rows(tables.table(made))


def test_a_phase_transition_needs_a_delay_and_the_support():
    assert c_fig1.rule(transition(4)).holds
    assert not c_fig1.rule(transition(1)).holds  # learned as soon as fitted
    assert not c_fig1.rule(transition(9)).holds  # never learned
    assert not c_fig1.rule(transition(4, mass=0.3)).holds


def test_a_proportional_line_goes_through_the_origin():
    x = np.linspace(1, 2, 50)
    assert c_fig7.r_squared(x, 3 * x) == pytest.approx(1)
    assert c_fig7.r_squared(x, 3 * x - 6) < 0  # a line, but not a proportional one
