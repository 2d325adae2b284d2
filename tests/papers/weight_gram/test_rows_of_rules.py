"""Which rows a rule reads: the network, the moment and the part of the table that the statement is about."""

import numpy as np
import pytest
from helpers import rows
from planted import SEEDS, noise, series

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.weight_gram.claims import (
    a_fig2,
    a_fig3,
    a_fig4,
    a_fig5,
    a_fig7,
    a_fig8,
    a_fig9,
    a_fig10,
    a_fig13,
)  # fmt: skip


def found(claim, name: str, table: Rows) -> Finding:
    """What the rule of one of a claim's statements finds."""
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(table))


def judged(claim, name: str, table: Rows) -> bool | None:
    """Whether a rule finds that a claim's statement holds."""
    return found(claim, name, table).holds


def test_figure_2_is_judged_at_the_figure_s_rate_which_is_not_the_first():
    def at(rate: float, lead: float) -> list[dict]:
        return [
            {"scale": "quick", "case": f"MNIST, lr={rate:g}", "seed": seed, "step": epoch, "x": float(epoch),
             "quantity": f"{name}/test_accuracy", "value": 0.5 + 0.1 * epoch + more + 0.001 * noise(name, seed, epoch)}
            for name, more in (("whitened", lead), ("original", 0.0)) for seed in SEEDS for epoch in range(4)
        ]  # fmt: skip

    assert judged(a_fig2, "no worse", rows(at(0.01, -0.2) + at(0.1, 0.0)))
    assert judged(a_fig2, "no worse", rows(at(0.01, 0.0) + at(0.1, -0.2))) is False


WIDTHS = ("width=32", "width=128", "width=512")


def moved(values: dict[str, tuple[float, ...]]) -> Rows:
    """Movements of the linear predictor by regime and width, after training; 0 before."""
    return series(0.001, **{
        f"{regime}/target": {(case, "", x): x * end for case, end in zip(WIDTHS, ends, strict=True) for x in (0.0, 1.0)}
        for regime, ends in values.items()
    })  # fmt: skip


def test_figure_3_does_not_compare_the_targets_of_the_widest_networks():
    """There the linear predictor is the target itself in both regimes, so that neither moves."""
    assert judged(a_fig3, "a moving target", moved({"lazy": (0.1, 0.1, 0.3), "rich": (0.8, 0.8, 0.1)}))
    assert judged(a_fig3, "a moving target", moved({"lazy": (0.1, 0.9, 0.1), "rich": (0.8, 0.8, 0.8)})) is False


def test_growth_with_depth_is_that_after_training():
    def by_depth(before: float, after: float) -> Rows:
        slopes = {0.0: before, 1.0: after}
        return series(0.001, target_linearity={
            ("digits", str(layer), x): 0.5 + slope * layer for layer in (1, 2, 3) for x, slope in slopes.items()
        })  # fmt: skip

    assert judged(a_fig4, "TL with depth", by_depth(-0.1, 0.1))
    assert judged(a_fig4, "TL with depth", by_depth(0.1, -0.1)) is False


def test_growth_in_training_tells_the_courses_of_the_layers_that_fall():
    """A layer that ends higher than it starts can have a tau below 0: its peak shows why."""

    def words(*by_layer: tuple[float, ...]) -> str:
        courses = {("digits", str(layer), float(x)): value
                   for layer, course in enumerate(by_layer, 1) for x, value in enumerate(course)}  # fmt: skip
        return found(a_fig4, "TL in training", series(1e-6, target_linearity=courses)).measured

    rising, level = (0.5, 0.6, 0.7, 0.8), (0.5, 0.8, 0.7, 0.6)
    grows, falling = "digits: TL of the last layer goes", "digits: Kendall's τ of TL with the epoch is below 0 in"
    assert words(rising, rising, (0.5, 0.6, 0.8, 0.9)) == f"{grows} from 0.5 to 0.9 in training"
    falls = f"{falling} layer 1 (τ -1.00, start 0.8, peak 0.8, end 0.5)"
    assert words(rising[::-1], rising) == falls
    assert words(rising, rising[::-1]) == falls.replace("layer 1", "layer 2")
    drifts = f"{falling} layer 1 (τ -0.20, start 0.5, peak 0.9, end 0.6)"
    assert words((0.5, 0.9, 0.8, 0.7, 0.6), (0.1, 0.2, 0.3, 0.4, 0.5)) == drifts
    assert words(level, rising).startswith(grows)


def test_figure_8_shows_the_distance_at_the_widest_beside_that_at_the_narrowest():
    ends = {"width=32": (0.8, 0.4), "width=128": (0.6, 0.5), "width=512": (0.05, 0.1)}
    table = {(case, "", float(x)): end for case, pair in ends.items() for x, end in enumerate(pair)}
    finding = found(a_fig8, "near zero at the widest", series(1e-6, **{"target/distance": table}))
    assert finding.measured.endswith("at most 0.10 at the widest width and at least 0.40 at the two narrowest")


@pytest.mark.parametrize("claim", [a_fig4, a_fig9])
def test_target_linearity_is_above_that_of_shuffled_labels_in_every_layer(claim):
    def outcome(second_layer: float) -> bool | None:
        trained = {("digits", layer, x): 0.6 * x + 0.1 for layer in "12" for x in (0.0, 1.0)}
        chance = {("digits", "1", 1.0): 0.3, ("digits", "2", 1.0): second_layer}
        quantities = {"target_linearity": trained, "null/target_linearity": chance}
        return judged(claim, "TL above chance", series(0.001, **quantities))

    assert outcome(0.3)
    assert outcome(0.9) is False
    assert not outcome(0.7)


def test_the_agop_of_figure_7_is_compared_with_its_own_null():
    def outcome(correlation: float, null: float) -> bool | None:
        records = [{"seed": seed, "quantity": "pearson/agop_gram_diagonal", "value": correlation + 0.01 * noise(seed)}
                   for seed in SEEDS]  # fmt: skip
        records += [{"seed": seed, "quantity": "null/agop_gram_diagonal", "value": null} for seed in SEEDS]
        records += [{"seed": seed, "quantity": "null/vcs_gram_diagonal", "value": 1 - null} for seed in SEEDS]
        return judged(a_fig7, "AGOP above its null", rows(records))

    assert outcome(0.7, 0.4)
    assert outcome(0.7, 0.95) is False


def test_figure_5_compares_the_decoders_after_training():
    def errors(before: float, after: float) -> Rows:
        slopes, betas = {0.0: before, 1.0: after}, {"beta=0.1": -1, "beta=1": 0, "beta=10": 1}
        return series(0.001, **{"interpolation/decoder": {
            (f"digits, {case}", "", x): 2 + slope * log for case, log in betas.items() for x, slope in slopes.items()
        }})  # fmt: skip

    assert judged(a_fig5, "less faithful at high beta", errors(-0.1, 0.1))
    assert judged(a_fig5, "less faithful at high beta", errors(0.1, -0.1)) is False


def test_figure_10_needs_every_data_set():
    def errors(**slopes: float) -> Rows:
        betas = {"beta=0.05": -3.0, "beta=1": 0.0, "beta=10": 2.3}
        return series(0.001, reconstruction={
            (f"{data_set}, {case}", "", x): 20 + slope * log
            for data_set, slope in slopes.items() for case, log in betas.items() for x in (0.0, 1.0, 2.0)
        })  # fmt: skip

    assert judged(a_fig10, "lower errors", errors(CIFAR=1.0, MNIST=1.0))
    assert judged(a_fig10, "lower errors", errors(CIFAR=-1.0, MNIST=1.0)) is False
    assert judged(a_fig10, "lower errors", errors(CIFAR=1.0, MNIST=-1.0)) is False


def test_networks_grok_or_do_not_at_each_weight_decay():
    """Of two weight decays the networks of the second never generalise; a third is not in the table."""
    epochs = np.arange(8.0)

    def accuracies(*generalise: bool) -> Rows:
        cases = dict(zip(("weight_decay=0.25", "weight_decay=0.75"), generalise, strict=True))
        return series(
            train_accuracy={(case, "", x): 0.5 * (x >= 1) + 0.52 for case in cases for x in epochs},
            test_accuracy={(case, "", x): 0.02 + 0.95 * groks * (x >= 5) for case, groks in cases.items()
                           for x in epochs},
        )  # fmt: skip

    hypotheses = {hypothesis.name: hypothesis for hypothesis in a_fig13.HYPOTHESES}
    for second in (True, False):
        table = accuracies(True, second)
        assert hypotheses["grokking, λ = 0.25"].rule(table).holds
        assert hypotheses["grokking, λ = 0.75"].rule(table).holds is second
        assert hypotheses["grokking, λ = 0.5"].rule(table).holds is None
    assert hypotheses["grokking, λ = 0.75"].statements == (
        "rises after memorisation, λ = 0.75", "then saturates, λ = 0.75",
    )  # fmt: skip
