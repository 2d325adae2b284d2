"""Claims on autoencoders, A.fig5 and A.fig10, against planted tables: one where a statement holds, and others."""

import re

import numpy as np
import pytest
from grokking_tables import judged
from planted import series

from tasks.judging.rows import Rows
from tasks.papers.weight_gram.claims import a_fig5, a_fig10

BETAS = {"beta=0.05": -3.0, "beta=0.1": -2.3, "beta=1": 0.0, "beta=5": 1.6, "beta=10": 2.3}  # and their logarithms


def figure_10(
    linearity=lambda log, x: 0.5 - 0.05 * log + 0.03 * x * (log < -1),
    error=lambda log: 20 + log,
    second=None,
    sharpness=lambda log, data_set: 0.7 - 0.05 * log,
) -> Rows:
    """On MNIST and, where its linearity is given, on CIFAR-10."""
    linearities = {"MNIST": linearity} | ({"CIFAR-10": second} if second else {})
    points = {(f"{data_set}, {case}", "", x): (data_set, log) for data_set in linearities
              for case, log in BETAS.items() for x in (0.0, 1.0, 2.0, 3.0, 4.0)}  # fmt: skip
    return series(
        target_linearity={point: linearities[data_set](log, point[2]) for point, (data_set, log) in points.items()},
        reconstruction={point: error(log) for point, (_, log) in points.items()},
        sharpness={point: sharpness(log, data_set) for point, (data_set, log) in points.items() if point[2] == 4},
    )


def test_figure_10():
    names = [statement.name for statement in a_fig10.STATEMENTS]
    assert all(judged(a_fig10, name, figure_10()).holds for name in names)
    for name, change in (
        ("lower errors", {"error": lambda log: 20 - log}),
        ("higher TL", {"linearity": lambda log, x: 0.5 + 0.05 * log}),
        ("rises in training", {"linearity": lambda log, x: 0.5 - 0.05 * log - 0.05 * x}),
        # the second of the low betas falls
        ("rises in training", {"linearity": lambda log, x: 0.5 - 0.05 * log + 0.05 * x * np.sign(-2.5 - log)}),
        # at the highest beta alone it falls by a tenth, in steps of less than a twentieth
        ("stable at other betas", {"linearity": lambda log, x: 0.5 - 0.05 * log - 0.1 / 3 * x * (log > 2)}),
        ("stable at other betas", {"second": lambda log, x: 0.5 - 0.05 * log - 0.1 / 3 * x}),
        ("rises less at other betas", {"linearity": lambda log, x: 0.5 + 0.05 * x * (log + 4)}),
        ("higher TL", {"second": lambda log, x: 0.3 + 0.05 * log}),  # on one data set of two
        ("increasingly blurred", {"sharpness": lambda log, data_set: 0.7 + 0.05 * log}),
        (
            "increasingly blurred",
            {
                "second": lambda log, x: 0.5 - 0.05 * log,
                "sharpness": lambda log, data_set: 0.7 + 0.05 * log * (-1) ** (data_set == "MNIST"),
            },
        ),
    ):
        assert judged(a_fig10, name, figure_10(**change)).holds is False, name


def test_figure_10_is_not_blurred_if_the_sharpness_only_has_a_peak():
    """It is highest at the middle of the betas: of the pairs of betas five rise and five fall."""
    by_beta = dict(zip(BETAS.values(), (0.60, 0.63, 0.9, 0.65, 0.57), strict=True))
    assert judged(a_fig10, "increasingly blurred", figure_10(sharpness=lambda log, _: by_beta[log])).holds is None


def test_figure_10_is_blurred_by_the_high_betas_alone():
    blurred = judged(a_fig10, "increasingly blurred", figure_10(sharpness=lambda log, _: 0.9 - 0.2 * (log > 1)))
    assert blurred.holds
    assert blurred.measured == "MNIST: the sharpness is 0.90 at the lowest β and 0.70 at the highest"


def test_figure_10_is_stable_between_the_limits_that_its_rule_states():
    """A fall before the first measured epoch, a fall at a low beta and a rise count for nothing."""
    for linearity in (
        lambda log, x: 0.8 - 0.05 * log - 0.3 * (x > 0),
        lambda log, x: 0.5 - 0.05 * log - 0.05 * x * (log < -1),
        lambda log, x: 0.3 - 0.05 * log + 0.1 * x,
        lambda log, x: 0.5 - 0.05 * log - 0.01 * x,
    ):
        assert judged(a_fig10, "stable at other betas", figure_10(linearity=linearity)).holds
    finding = judged(a_fig10, "stable at other betas", figure_10(linearity=lambda log, x: 0.5 - 0.05 * log + 0.02 * x))
    changes = [float(text) for text in re.findall(r"([-+][.0-9]+) [(]β = ", finding.measured)]
    assert changes == pytest.approx([0.06] * 3, abs=0.02)
    assert re.findall(r"β = ([0-9]+)", finding.measured) == ["1", "5", "10"]


def test_figure_5():
    def planted(ratio: float = 0.8, slope: float = 0.1) -> Rows:
        ratios = {(f"digits, {case}", "", x): ratio for case in BETAS for x in (0.0, 1.0)}
        decoder = {(f"digits, {case}", "", 1.0): 2 + slope * log for case, log in BETAS.items()}
        return series(**{"interpolation/ratio": ratios, "interpolation/decoder": decoder})

    assert judged(a_fig5, "Proposition 3", planted()).holds
    assert judged(a_fig5, "Proposition 3", planted(ratio=1.1)).holds is False
    assert judged(a_fig5, "less faithful at high beta", planted()).holds
    assert judged(a_fig5, "less faithful at high beta", planted(slope=-0.1)).holds is False


def bends(low: float, slope: float, size: float = 0.003) -> Rows:
    """The bend at the lowest beta, and its rise with the logarithm of beta."""
    points = {(f"digits, {case}", "", 1.0): low + slope * (log + 3) for case, log in BETAS.items()}
    return series(size, **{"interpolation/bend": points})


def test_figure_5_is_near_linear_at_low_betas():
    name = "near-linear at low beta"
    assert judged(a_fig5, name, bends(0.1, 0.05)).holds  # a bend of 0.36 at the highest beta
    measured = judged(a_fig5, name, bends(0.1, 0.05, size=0)).measured
    assert measured == "the bend is 0.100 at the lowest β and 0.365 at the highest (0 if linear, 0.5 if sudden)"
    assert (
        judged(a_fig5, name, bends(0.5, -0.05)).holds is False
    )  # sudden at the lowest beta, near-linear at the highest
    assert judged(a_fig5, name, bends(0.3, 0.07)).holds is False  # the second of the low betas has 0.35
    assert judged(a_fig5, name, bends(1 / 3, 0.0, size=0.1)).holds is None


def test_figure_5_is_nearer_to_linear_at_lower_betas():
    name = "nearer to linear at lower beta"
    assert judged(a_fig5, name, bends(0.4, 0.02)).holds
    assert judged(a_fig5, name, bends(0.3, -0.02)).holds is False
    assert judged(a_fig5, name, bends(0.1, 0.0)).holds is None
