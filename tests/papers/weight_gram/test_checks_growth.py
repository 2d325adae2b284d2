"""The checks of paper A's training runs against planted tables: the claim true, and one part of it false."""

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rules import Rows, interval
from tasks.papers.weight_gram.claims import a_fig2, a_fig3, a_fig5, a_fig6, a_fig8, a_fig10, a_fig12, a_fig13, a_fig14
from tasks.papers.weight_gram.claims.shared.rules import grokking

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


def test_figure_12_s_levels_are_tested_at_the_paper_s_scale_beside_the_claim():
    def found(**other):
        columns = figure_12(**other)._columns
        return a_fig12.rule(Rows({**columns, "scale": np.array(["paper"] * len(columns["value"]), dtype=object)}))

    printed = {0.0: 0.45, 0.25: 0.4, 0.5: 0.32, 0.75: 0.252, 1.0: 0.248}
    same = found(linearity=lambda p: printed[p])
    assert same.parts["levels_as_printed"].holds
    assert same.evidence == "matches print"
    other = found(linearity=lambda p: printed[p] - 0.1)
    assert other.holds
    assert other.evidence == "direction"
    assert other.parts["levels_as_printed"].holds is False
    assert "p = 0.75" in other.measured
    assert "levels_as_printed" not in a_fig12.rule(figure_12()).parts


BETAS = {"beta=0.05": -3.0, "beta=0.1": -2.3, "beta=1": 0.0, "beta=5": 1.6, "beta=10": 2.3}  # and their logarithms


def figure_10(linearity=lambda log, x: 0.5 - 0.05 * log + 0.05 * x, error=lambda log: 20 + log, **other) -> Rows:
    """Of MNIST; ``other``: what is otherwise on CIFAR-10, which is left out without it."""
    made = {"MNIST": (linearity, error)} | ({"CIFAR-10": (other["cifar"], error)} if other else {})
    at = {(f"{data}, {case}", "", x): (data, log) for data in made for case, log in BETAS.items()
          for x in (0.0, 1.0, 2.0, 3.0)}  # fmt: skip
    return planted(
        target_linearity={key: made[data][0](log, key[2]) for key, (data, log) in at.items()},
        reconstruction={key: made[data][1](log) for key, (data, log) in at.items()},
    )


def test_figure_10():
    assert a_fig10.rule(figure_10()).holds
    assert a_fig10.rule(figure_10(linearity=lambda log, x: 0.5 + 0.05 * log + 0.05 * x)).holds is False
    assert a_fig10.rule(figure_10(linearity=lambda log, x: 0.5 - 0.05 * log - 0.05 * x)).holds is False
    assert a_fig10.rule(figure_10(error=lambda log: 20 - log)).holds is False
    assert a_fig10.rule(figure_10(cifar=lambda log, x: 0.3 - 0.05 * log + 0.05 * x)).holds
    both = a_fig10.rule(figure_10(cifar=lambda log, x: 0.3 + 0.05 * log + 0.05 * x))
    assert both.holds is False
    assert {name for name, part in both.parts.items() if not part.holds} == {
        "CIFAR-10, linearity_falls",
        "CIFAR-10, linearity_trend",
    }


def test_figure_5():
    def made(ratio: float = 0.8, slope: float = 0.1) -> Rows:
        ratios = {(case, "", x): ratio for case in BETAS for x in (0.0, 1.0)}
        decoder = {(case, "", 1.0): 2 + slope * log for case, log in BETAS.items()}
        return planted(**{"interpolation/ratio": ratios, "interpolation/decoder": decoder})

    assert a_fig5.rule(made()).holds
    assert a_fig5.rule(made(ratio=1.1)).holds is False
    assert a_fig5.rule(made(slope=-0.1)).holds is False


def test_grokking_is_found_where_it_was_planted():
    train, test = np.array([0.2, 0.99, 1, 1, 1, 1]), np.array([0.0, 0.1, 0.2, 0.1, 0.6, 0.95])
    assert grokking(train, test) == (1, 3, 5)
    assert grokking(train, np.array([0.0, 0.2, 0.1, 0.6, 0.2, 0.95])) == (1, 4, 5)
    assert grokking(train, np.array([0.0, 0.6, 0.7, 0.8, 0.8, 0.95])) is None  # it generalises as it memorises
    assert grokking(train, test / 2) is None  # never
    assert grokking(train, np.maximum(test, 0.95)) is None  # no later than it memorised
    assert grokking(train / 2, test) is None


def figures_13_and_14(last=lambda x: 0.2 * x, before=lambda x: 0.3 * x - 0.6, grok=(4.0, 4.0)) -> Rows:
    cases, epochs = ("weight_decay=0.25", "weight_decay=0.5"), tuple(float(x) for x in range(6))
    layers = {"2": before, "3": last}
    return planted(
        target_linearity={(case, layer, x): of(x) for case in cases for layer, of in layers.items() for x in epochs},
        train_accuracy={(case, "", x): 0.5 * (x >= 1) + 0.52 for case in cases for x in epochs},
        test_accuracy={
            (case, "", x): 0.95 * (x >= at) + 0.02 for case, at in zip(cases, grok, strict=True) for x in epochs
        },
    )


def test_figures_13_and_14():
    for check in (a_fig13, a_fig14):
        assert check.rule(figures_13_and_14()).holds
        early, some, none = (check.rule(figures_13_and_14(grok=grok)) for grok in ((4, 0), (4, 9), (9, 9)))
        assert early.holds is None  # of two cases one generalises as it memorises
        assert early.parts["weight_decay=0.25"].holds
        assert some.holds is False  # of two cases one never does
        assert some.parts["weight_decay=0.25"].holds
        assert none.holds is False
        # all the same it is said how much there is to the end of training: 4 epochs of a fifth, or of a tenth
        assert none.statistic == pytest.approx(0.8 if check is a_fig13 else 0.4, abs=0.02)
        assert "0 of 5 seeds grok" in none.measured
    assert a_fig13.rule(figures_13_and_14(last=lambda x: 1 - 0.2 * x)).holds is False
    assert a_fig14.rule(figures_13_and_14(before=lambda x: 0.1 * x)).holds is False


def test_figures_2_and_6():
    def made(ahead: float, data: str = "MNIST") -> Rows:
        cases, ends = [f"{data}, lr=0.01", f"{data}, lr=0.1"], (0.0, 1.0)
        accuracy = {name: {(case, "", x): 0.9 * x for case in cases for x in ends} for name in ("original", "whitened")}
        accuracy["whitened"][cases[1], "", 1.0] += ahead
        return planted(0.0005, **{f"{name}/test_accuracy": values for name, values in accuracy.items()})

    for check in (a_fig2, a_fig6):
        assert check.rule(made(0.0)).holds
        assert check.rule(made(0.1)).holds
        assert check.rule(made(-0.02)).holds is False
        assert check.rule(made(-0.01)).holds is None
        # within the margin, which is ours, and yet shown to be lower
        lower = check.rule(made(-0.004))
        assert lower.holds
        assert "a margin of ours" in lower.rule
        assert "0.1: -0.00" in lower.measured
        assert "significantly below 0 at 1 of 2" in lower.measured
    # on CIFAR-100 the text says a small gap
    assert a_fig2.rule(made(-0.02, "CIFAR-100")).holds
    assert a_fig2.rule(made(-0.04, "CIFAR-100")).holds is False
    assert a_fig6.rule(made(-0.02, "CIFAR-100")).holds is False


def svhn(data: str = "SVHN", pace: float = 1.5, spread: float = 0.02) -> Rows:
    """Accuracies of 20 epochs that rise to 0.8; the original's pace is 0.3, its spread over seeds 0.08."""
    made = []
    for name, rate, size in (("original", 0.3, 0.08), ("whitened", pace, spread)):
        for seed in range(10):
            lasting = size * float(stream("test_checks_growth", "svhn", name, seed).normal())
            made += [{"case": f"{data}, lr=0.01", "quantity": f"{name}/test_accuracy", "seed": seed, "step": epoch,
                      "x": float(epoch), "value": 0.8 * (1 - float(np.exp(-rate * epoch))) + lasting * (epoch > 0)}
                     for epoch in range(21)]  # fmt: skip
    return Rows(tables.table(made))


def test_figure_2_is_asked_of_each_data_set_what_the_text_says_of_it():
    def parts(rows: Rows) -> dict[str, bool | None]:
        return {name.rpartition(", ")[2]: one.holds for name, one in a_fig2.rule(rows).parts.items()}

    assert parts(svhn(spread=0.01))["steadier"]
    assert parts(svhn(spread=0.2))["steadier"] is not True
    assert set(parts(svhn("CIFAR-10"))) == {"lr 0.01", "faster"}
    assert set(parts(svhn("MNIST"))) == set(parts(svhn("CIFAR-100"))) == {"lr 0.01"}


@pytest.mark.parametrize(("ahead", "holds"), [(0.02, True), (-0.02, False)])
def test_faster_is_to_reach_the_original_s_best_in_five_epochs(ahead, holds):
    course = {"original": [0.1] + [0.7] * 20, "whitened": [0.1, 0.2, 0.3, 0.4, 0.5, 0.7 + ahead] + [0.75] * 15}
    rows = planted(0.001, **{f"{name}/test_accuracy": {("CIFAR-10, lr=0.01", "", float(x)): value
                                                       for x, value in enumerate(values)}
                             for name, values in course.items()})  # fmt: skip
    assert a_fig2.rule(rows).parts["CIFAR-10, lr 0.01, faster"].holds is holds


def test_the_jackknife_of_two_variances_is_right_as_often_as_it_says():
    """Of equal variances Miller's test rejects at 2.5 % about that often; of 25 times the variance most of the time."""
    draw = stream("test_checks_growth", "jackknife")
    low = {1.0: 0, 5.0: 0}
    for _ in range(300):
        first, second = draw.normal(size=(2, 5, 1)) + 0.1 * draw.normal(size=(2, 5, 8))
        for size in low:
            low[size] += interval(a_fig2.steadier(first, size * second))[1] > 0
    assert low[1.0] <= 300 * 0.07
    assert low[5.0] >= 300 * 0.4


WIDTHS = {"width=32": 0, "width=128": 1, "width=512": 2, "width=1024": 3}


def figure_8(narrow: float = 0.4, wide: float = 0.02, ratio: float = 0.9) -> Rows:
    """``narrow``: by how much y_OLS moves at the narrower half; ``wide``: its distance at the widest."""
    ends = {case: (0.9 - (rank < 2) * 0.1, narrow * (rank < 2)) if rank < 3 else (wide, 0.0)
            for case, rank in WIDTHS.items()}  # fmt: skip
    distance = {(case, "", x): far - x * moved for case, (far, moved) in ends.items() for x in (0.0, 1.0)}
    return planted(
        0.001,
        **{
            "target/distance": distance,
            "target/chase": {at: 0.6 - 0.5 * at[2] for at in distance},
            "target/error": {at: 1 - (0.5 if WIDTHS[at[0]] < 2 else 0.2) * at[2] for at in distance},
            "target/triangle ratio": dict.fromkeys(distance, ratio),
        },
    )


def test_figure_8():
    assert a_fig8.rule(figure_8()).holds
    assert a_fig8.rule(figure_8(narrow=0.05)).holds is False
    assert a_fig8.rule(figure_8(wide=0.3)).holds is False
    assert a_fig8.rule(figure_8(ratio=1.1)).holds is False


def test_figure_3():
    def made(features=(0.5, 0.4, 0.1, 0.05), target=(0.5, 0.4, 0.1, 0.02)) -> Rows:
        values = {"movement/features": features, "movement/target": target}
        return planted(**{
            name: {(case, "", x): x * of[rank] for case, rank in WIDTHS.items() for x in (0.0, 1.0)}
            for name, of in values.items()
        })  # fmt: skip

    assert a_fig3.rule(made()).holds
    assert a_fig3.rule(made(features=(0.5, 0.4, 0.3, 0.2))).holds is False  # the lazy one's move as well
    assert a_fig3.rule(made(target=(0.02, 0.1, 0.4, 0.5))).holds is False
