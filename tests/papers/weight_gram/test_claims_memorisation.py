"""Figures 12 to 14 on planted tables: networks that memorise random labels, and networks that grok."""

import numpy as np
import pytest
from grokking_tables import figure_12, figures_13_and_14, judged
from helpers import rejects, rows
from planted import SEEDS, noise, series

from tasks.judging.rows import Rows
from tasks.papers.weight_gram.claims import (
    a_fig2,
    a_fig12,
    a_fig13,
    a_fig14,
)
from tasks.papers.weight_gram.claims.shared import grokking


def test_figure_12():
    assert judged(a_fig12, "TL falls", figure_12()).holds
    assert judged(a_fig12, "TL falls", figure_12(linearity=lambda p: 0.25 + 0.2 * p)).holds is False
    assert not judged(a_fig12, "TL falls", figure_12(linearity=lambda p: 0.3)).holds
    assert judged(a_fig12, "TL falls", figure_12(linearity=lambda p: 0.3 - 0.04 * p)).holds is False  # printed: 0.2
    assert judged(a_fig12, "other layers", figure_12()).holds
    assert judged(a_fig12, "other layers", figure_12(linearity=lambda p: 0.25 + 0.2 * p)).holds is False
    # at the ends it falls, between them it rises
    assert judged(a_fig12, "other layers", figure_12(linearity=lambda p: 0.3 + 0.3 * p * (p < 0.7))).holds is False
    assert judged(a_fig12, "gap grows", figure_12()).holds
    assert judged(a_fig12, "gap grows", figure_12(test=lambda p: 0.1 + 0.4 * p)).holds is False
    assert judged(a_fig12, "more training time", figure_12(train=lambda p, x: x or 0.5 - 0.4 * p)).holds
    assert judged(a_fig12, "more training time", figure_12(train=lambda p, x: x or 0.1 + 0.4 * p)).holds is False
    falls = "training accuracy falls"
    assert judged(a_fig12, falls, figure_12(train=lambda p, x: x * (0.85 - 0.2 * p))).holds
    assert judged(a_fig12, falls, figure_12(train=lambda p, x: x * (0.75 + 0.2 * p))).holds is False
    assert not judged(a_fig12, falls, figure_12()).holds  # equal at every p
    # before training alone, or beyond p = 0.5 alone
    assert not judged(a_fig12, falls, figure_12(train=lambda p, x: 0.8 if x else 0.5 - 0.4 * p)).holds
    assert judged(a_fig12, falls, figure_12(train=lambda p, x: x * (0.7 + 0.2 * p * (p < 0.7)))).holds is False


def courses_of_linearity(course) -> Rows:
    """The last layer's Target Linearity by p and epoch, in units of the training; a lower layer does the opposite."""
    courses = {("1", -1.0): course, ("2", 1.0): course}
    return series(target_linearity={
        (f"label_noise={p:g}", layer, 9 * x): 0.5 + sign * of(p, x)
        for (layer, sign), of in courses.items() for p in (0.0, 0.25, 0.5, 0.75, 1.0) for x in np.arange(10) / 9
    })  # fmt: skip


def test_figure_12_s_growth_of_linearity():
    slower = "TL grows more slowly"
    # all end alike; the higher p, the later they rise
    assert judged(a_fig12, slower, courses_of_linearity(lambda p, x: 0.3 * x ** (0.5 + p))).holds
    assert judged(a_fig12, slower, courses_of_linearity(lambda p, x: 0.3 * x ** (1.5 - p))).holds is False
    # the higher p, the lower they start and end; they rise alike
    assert not judged(a_fig12, slower, courses_of_linearity(lambda p, x: 0.3 * x - 0.2 * p)).holds
    # the trend is that of the lower p; between 0.75 and 1 it turns
    turns = {0.0: 0.4, 0.25: 0.3, 0.5: 0.2, 0.75: 0.1, 1.0: 0.15}
    assert judged(a_fig12, slower, courses_of_linearity(lambda p, x: turns[p] * x)).holds is False
    single = courses_of_linearity(lambda p, x: 0.3 - 0.2 * p).where(step=0)
    assert judged(a_fig12, slower, single).holds is None
    assert not rejects(judged(a_fig12, slower, single), judged(a_fig12, slower, courses_of_linearity(lambda p, x: x)))


def figure_12_by_epoch(gap=lambda p, x: p * x * (1 - x), rise=lambda p, x: x**2 if p >= 0.75 else x**0.5) -> Rows:
    """Three layers and ten epochs x in units of the training: the gap and the rise of Target Linearity by p and x.

    The first and the last layer rise more than the middle one, and late where it rises early.
    """
    cases = {p: f"label_noise={p:g}" for p in (0.0, 0.25, 0.5, 0.75, 1.0)}
    points = [(p, case, number / 9) for p, case in cases.items() for number in range(10)]
    return series(
        target_linearity={(case, layer, 9 * x): 0.2 * rise(p, x) if layer == "2" else x ** (0.3 if p >= 0.75 else 3)
                          for p, case, x in points for layer in "123"},
        train_accuracy={(case, "", 9 * x): 0.1 + 0.8 * x for _, case, x in points},
        test_accuracy={(case, "", 9 * x): 0.1 + 0.8 * x - gap(p, x) for p, case, x in points},
    )  # fmt: skip


def test_figure_12_in_the_middle_of_training():
    larger, sudden = "larger gap in the middle of training", "sudden increase of the middle layers"
    assert judged(a_fig12, larger, figure_12_by_epoch()).holds
    assert judged(a_fig12, larger, figure_12_by_epoch(gap=lambda p, x: -p * x * (1 - x))).holds is False
    # larger at the ends alone
    assert judged(a_fig12, larger, figure_12_by_epoch(gap=lambda p, x: p * (abs(x - 0.5) > 0.3))).holds is None
    assert judged(a_fig12, sudden, figure_12_by_epoch()).holds
    assert judged(a_fig12, sudden, figure_12_by_epoch(rise=lambda p, x: x**0.25)).holds is False  # early at every p
    assert not judged(a_fig12, sudden, figure_12_by_epoch(rise=lambda p, x: x**2)).holds  # late at every p
    # a straight line rises more after the first third than in it, because that part is longer
    straight = figure_12_by_epoch(rise=lambda p, x: x if p >= 0.75 else x**0.5)
    assert not judged(a_fig12, sudden, straight).holds
    bent = figure_12_by_epoch(rise=lambda p, x: x**0.8 if p >= 0.75 else x**0.5)  # two thirds of its rise come late
    assert judged(a_fig12, sudden, bent).holds is False
    untrained = figure_12_by_epoch().where(step=0)
    assert judged(a_fig12, sudden, untrained).holds is None
    assert not rejects(judged(a_fig12, sudden, untrained), judged(a_fig12, sudden, figure_12_by_epoch()))


@pytest.mark.parametrize(("lead", "holds"), [(0.02, True), (-0.02, False)])
def test_faster_with_momentum_is_judged_on_the_leads(lead, holds):
    table = [{"case": f"{data_set}, lr=0.01", "seed": seed, "step": 20, "x": 20.0, "quantity": "lead, momentum",
              "value": value + 0.001 * noise(seed)} for data_set, value in (("CIFAR-10", lead), ("MNIST", -lead))
             for seed in SEEDS]  # fmt: skip
    assert judged(a_fig2, "faster, with the authors' momentum", rows(table)).holds is holds


def test_figure_12_speaks_of_networks_that_memorise():
    (memorisation,) = a_fig12.HYPOTHESES
    table = figure_12().where(quantity="train_accuracy")
    assert memorisation.rule(table).holds
    late = figure_12(train=lambda p, x: x * (0.95 - 0.5 * (p == 1))).where(quantity="train_accuracy")
    assert memorisation.rule(late).holds is False
    for accuracy, met in ((0.7, True), (0.66, True), (0.64, False)):  # printed: approximately 0.7
        rounded = figure_12(train=lambda p, x, least=accuracy: x * (0.85 if p < 1 else least))
        assert memorisation.rule(rounded.where(quantity="train_accuracy")).holds is met


def test_figure_12_s_printed_levels():
    printed = {0.0: 0.45, 0.25: 0.4, 0.5: 0.32, 0.75: 0.252, 1.0: 0.248}
    levels = [statement for statement in a_fig12.STATEMENTS if statement.kind == "printed level"]
    names = [statement.name for statement in levels if statement.reads == ("target_linearity",)]
    assert (len(names), len(levels)) == (1, 3)
    assert all(judged(a_fig12, name, figure_12(linearity=lambda p: printed[p])).holds for name in names)
    assert not any(judged(a_fig12, name, figure_12(linearity=lambda p: printed[p] - 0.1)).holds for name in names)
    test = {0.0: 0.5, 0.25: 0.3, 0.5: 0.2, 0.75: 0.1, 1.0: 0.1}
    training = {0.0: 0.85, 0.25: 0.8, 0.5: 0.75, 0.75: 0.7, 1.0: 0.7}

    def outcomes(more: float) -> set[bool | None]:
        table = figure_12(test=lambda p: test[p] + more, train=lambda p, x: x * (training[p] + more))
        return {judged(a_fig12, level.name, table).holds for level in levels if level.name not in names}

    assert outcomes(0.0) == {True}
    assert outcomes(-0.09) == {False}


def test_when_a_network_groks():
    train, test = np.array([0.2, 0.99, 1, 1, 1, 1]), np.array([0.0, 0.1, 0.2, 0.1, 0.6, 0.95])
    assert grokking.times(train, test) == grokking.Times(1, 4, 5, True)
    assert grokking.times(train, test / 2) == grokking.Times(1, 5, 5, False)  # never generalises
    assert not grokking.times(train, np.array([0.0, 0.6, 0.7, 0.8, 0.8, 0.95])).groks  # generalises when it memorises
    assert not grokking.times(train / 2, test).groks  # never memorises


def test_figures_13_and_14_hold_of_what_they_say():
    for claim in (a_fig13, a_fig14):
        for groks in (claim.HYPOTHESES[0], claim.HYPOTHESES[2]):
            assert groks.rule(figures_13_and_14()).holds
            assert groks.rule(figures_13_and_14(emerges=20)).holds is False
            assert groks.rule(figures_13_and_14(emerges=0)).holds is False
    for decay in ("0.25", "0.75"):
        for claim, name in (
            (a_fig13, "rises after memorisation"),
            (a_fig13, "then saturates"),
            (a_fig14, "the gap narrows"),
            (a_fig14, "as the generalisation error does"),
        ):
            assert judged(claim, f"{name}, λ = {decay}", figures_13_and_14()).holds
    sharp = figures_13_and_14(before=sharply)
    assert judged(a_fig14, "layer 2 rises sharply, λ = 0.25", sharp).holds


def sharply(x: float) -> float:
    """A rise until the network has grokked, at epoch 8, and a slower one afterwards."""
    return 0.3 * min(x, 8) + 0.05 * max(0, x - 8)


def test_a_weight_decay_has_its_own_rows_and_the_control_s():
    for claim in (a_fig13, a_fig14):
        for statement in claim.STATEMENTS:
            decay = f"weight_decay={statement.name.rpartition(' = ')[2]}"
            assert set(statement.data_sets) == {decay, "weight_decay=0"}
            judgeable = decay in ("weight_decay=0.25", "weight_decay=0.75")  # those of the table
            assert statement.judgeable(Rows(figures_13_and_14().frame.assign(arm="claim"))) is judgeable


def test_figures_13_and_14_fail_of_what_they_deny():
    falls = figures_13_and_14(last=lambda x: 1 - 0.1 * x)
    assert judged(a_fig13, "rises after memorisation, λ = 0.25", falls).holds is False
    later = figures_13_and_14(last=lambda x: 0.02 * x + 0.1 * max(0, x - 6))
    saturation = judged(a_fig13, "then saturates, λ = 0.25", later)
    assert saturation.holds is False
    assert "+0.02 per measured epoch before grokking emerges and by +0.12 after" in saturation.measured
    widening = figures_13_and_14(before=lambda x: 0.02 * x)
    for name in ("the gap narrows", "as the generalisation error does"):
        falling = figures_13_and_14(before=lambda x: -0.3 * x)
        assert judged(a_fig14, f"{name}, λ = 0.25", falling).holds is False
    widens = "widens again, λ = 0.75"
    assert judged(a_fig14, widens, figures_13_and_14(before=lambda x: 0.3 * x if x < 8 else 4 - 0.2 * x)).holds
    assert judged(a_fig14, widens, figures_13_and_14()).holds is False
    for law in (
        lambda x: -sharply(x),  # falls
        lambda x: 0.05 * x + 0.3 * max(0, x - 8),  # rises most after the network has grokked
    ):
        assert judged(a_fig14, "layer 2 rises sharply, λ = 0.25", figures_13_and_14(before=law)).holds is False
    assert set(widening.case.tolist()) == {"weight_decay=0.25", "weight_decay=0.75"}
