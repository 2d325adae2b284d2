"""Claims on training runs against planted tables: one where a statement holds, others where it does not."""

import numpy as np
import pytest
from grokking_tables import judged
from helpers import rows
from planted import SEEDS, noise

from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.judging.statistics import interval, log_variance_ratio
from tasks.papers.weight_gram.claims import (
    a_fig1,
    a_fig2,
    a_fig3,
    a_fig4,
    a_fig5,
    a_fig6,
    a_fig7,
    a_fig8,
    a_fig9,
    a_fig10,
    a_fig12,
    a_fig13,
    a_fig14,
)
from tasks.papers.weight_gram.claims.shared.growth import errors_of_laws

CLAIMS = (a_fig1, a_fig2, a_fig3, a_fig4, a_fig5, a_fig6, a_fig7, a_fig8, a_fig9, a_fig10, a_fig12, a_fig13, a_fig14)


def test_every_claim_has_an_asserted_statement_and_different_names():
    for claim in CLAIMS:
        names = [statement.name for statement in claim.STATEMENTS]
        assert len(set(names)) == len(names)
        assert any(statement.kind == "asserted" for statement in claim.STATEMENTS)
        for hypothesis in getattr(claim, "HYPOTHESES", ()):
            assert set(hypothesis.statements) <= set(names)


def figure_1(step: float) -> Rows:
    return rows([{"seed": seed, "step": frame, "quantity": quantity,
                  "value": 0.1 + step * frame + 0.001 * noise(seed, frame)}
                 for seed in SEEDS for frame in range(0, 51, 10)
                 for quantity in ("target_linearity", a_fig1.OWN_LOSS)])  # fmt: skip


@pytest.mark.parametrize("name", ["towards a line", "progressively", "towards a line, by each sample's own loss"])
def test_figure_1(name):
    assert judged(a_fig1, name, figure_1(0.01)).holds
    assert judged(a_fig1, name, figure_1(-0.01)).holds is False
    assert not judged(a_fig1, name, figure_1(0.0)).holds


def accuracies(
    data_set: str, whitened: list[float], original: list[float], rate: float = 0.1, size=0.001
) -> list[dict]:
    """Test accuracies by epoch of both updates, with noise."""
    return [{"arm": "claim", "scale": "quick", "case": f"{data_set}, lr={rate:g}", "seed": seed, "step": epoch,
             "x": float(epoch),
             "quantity": f"{name}/test_accuracy", "value": value + size * noise(data_set, name, seed, epoch)}
            for name, course in (("whitened", whitened), ("original", original)) for seed in SEEDS
            for epoch, value in enumerate(course)]  # fmt: skip


ORIGINAL = [0.1, 0.5, 0.7, 0.8, 0.85, 0.88, 0.9, 0.89]


def test_figure_2_compares_the_best_accuracies_at_the_figure_s_learning_rate():
    def no_worse(lead: float, **other) -> bool | None:
        return judged(
            a_fig2, "no worse", rows(accuracies("MNIST", [*ORIGINAL[:6], 0.9 + lead, 0.3], ORIGINAL, **other))
        ).holds

    assert no_worse(0.0)
    assert no_worse(0.05)
    assert no_worse(-0.005)  # within what a figure shows
    assert no_worse(-0.03) is False
    both = accuracies("MNIST", ORIGINAL, ORIGINAL) + accuracies("MNIST", [0.1] * 8, ORIGINAL, rate=0.5)
    assert judged(a_fig2, "no worse", rows(both)).holds
    assert judged(a_fig2, "at every learning rate", rows(both)).holds is False
    gap = rows(accuracies("CIFAR-100", [*ORIGINAL[:6], 0.88, 0.3], ORIGINAL))
    assert judged(a_fig2, "a small gap", gap).holds
    wide = rows(accuracies("CIFAR-100", [*ORIGINAL[:5], 0.85, 0.86, 0.3], ORIGINAL))
    assert judged(a_fig2, "a small gap", wide).holds is False


def test_figure_2_says_something_else_of_each_data_set():
    """A statement sees its own data sets alone, and is not judged where the table has none of them."""
    table = rows(accuracies("digits", ORIGINAL, ORIGINAL) + accuracies("CIFAR-100", [0.1] * 8, ORIGINAL))
    judgeable = {statement.name for statement in a_fig2.STATEMENTS if statement.judgeable(table)}
    assert judgeable == {"no worse", "a small gap"}
    assert judged(a_fig2, "no worse", table).holds
    assert judged(a_fig2, "a small gap", table).holds is False


@pytest.mark.parametrize(("lead", "holds"), [(0.02, True), (-0.02, False)])
def test_faster_means_to_reach_the_original_s_best_in_five_epochs(lead, holds):
    late = [0.1, 0.2, 0.3, 0.4, 0.5, 0.9 + lead, 0.95, 0.95]
    assert judged(a_fig2, "faster", rows(accuracies("CIFAR-10", late, ORIGINAL))).holds is holds


def test_faster_at_every_learning_rate_is_judged_at_each():
    fast, slow = ([0.1, 0.2, 0.3, 0.4, 0.5, 0.9 + lead, 0.95, 0.95] for lead in (0.02, -0.02))
    both = rows(accuracies("CIFAR-10", fast, ORIGINAL) + accuracies("CIFAR-10", slow, ORIGINAL, rate=0.5))
    assert judged(a_fig2, "faster", both).holds
    finding = judged(a_fig2, "faster, at every learning rate", both)
    assert finding.holds is False
    assert {name: part.holds for name, part in finding.parts.items()} == {
        "CIFAR-10, lr 0.1": True,
        "CIFAR-10, lr 0.5": False,
    }
    number = finding.numbers["CIFAR-10, lr 0.5, percentage points below gradient descent's best"]
    assert number == pytest.approx(2, abs=0.3)
    alike = rows(accuracies("CIFAR-10", fast, ORIGINAL) + accuracies("CIFAR-10", fast, ORIGINAL, rate=0.5))
    assert judged(a_fig2, "faster, at every learning rate", alike).holds


def test_steadier_means_a_lower_variance_over_runs():
    def steadier(spread: float) -> bool | None:
        table = []
        for name, size in (("original", 0.08), ("whitened", spread)):
            for seed in range(10):
                offset = size * float(stream("test_claims_training", "svhn", name, seed).normal())
                table += [{"scale": "quick", "case": "SVHN, lr=0.1", "quantity": f"{name}/test_accuracy", "seed": seed,
                           "step": epoch, "x": float(epoch), "value": ORIGINAL[epoch] + offset}
                          for epoch in range(8)]  # fmt: skip
        return judged(a_fig2, "lower variance", rows(table)).holds

    assert steadier(0.01)
    assert steadier(0.2) is not True


def test_the_jackknife_of_two_variances_has_its_nominal_level_and_power():
    """Equal variances are rejected at 2.5 % about that often, variances that differ 25-fold most of the time."""
    draw = stream("test_checks_growth", "jackknife")
    rejections = {1.0: 0, 5.0: 0}
    for _ in range(300):
        first, second = draw.normal(size=(2, 5, 1)) + 0.1 * draw.normal(size=(2, 5, 8))
        for size in rejections:
            rejections[size] += interval(log_variance_ratio(size * second, first))[1] > 0
    assert rejections[1.0] <= 300 * 0.07
    assert rejections[5.0] >= 300 * 0.4


@pytest.mark.parametrize(("lead", "holds"), [(0.0, True), (0.03, False), (-0.03, False)])
def test_figure_6_allows_no_difference_in_either_direction(lead, holds):
    table = rows(accuracies("digits", [*ORIGINAL[:6], 0.9 + lead, 0.3], ORIGINAL, rate=0.01))
    assert judged(a_fig6, "negligible difference", table).holds is holds


def figure_4(
    surrogate=lambda layer, t: 2.0**layer * np.exp(0.04 * t),
    linearity=lambda layer, t: 0.1 * layer + 0.05 * layer * np.log1p(t),
    data_set="digits",
) -> list[dict]:
    return [{"case": data_set, "seed": seed, "layer": str(layer), "step": int(t), "x": t, "quantity": quantity,
             "value": law(layer, t) * (1 + 0.003 * noise(seed, layer, t))}
            for seed in SEEDS for layer in (1, 2, 3, 4) for t in np.arange(0.0, 101, 5)
            for quantity, law in
            (*((name, surrogate) for name in ("surrogate", "surrogate, raw", "surrogate, normalised")),
             ("target_linearity", linearity))]  # fmt: skip


@pytest.mark.parametrize("claim", [a_fig4, a_fig9])
def test_figures_4_and_9(claim):
    true = rows(figure_4())
    kinds = {"asserted", "ours"}
    names = [statement.name for statement in claim.STATEMENTS if statement.kind in kinds and not statement.data_sets]
    assert len(names) == 6
    assert all(judged(claim, name, true).holds for name in names)

    def outcome(name: str, **laws) -> bool | None:
        return judged(claim, name, rows(figure_4(**laws))).holds

    for name, quantity in (("surrogate", "surrogate"), ("TL", "linearity")):
        # the ends rise, but what lies between them falls
        between = {quantity: lambda layer, t: 0.1 * layer * (np.exp(-0.04 * t) + (t == 100))}
        assert outcome(f"{name} in training", **between) is False
        # layer 3 is below layer 2
        step_down = {quantity: lambda layer, t: (layer - 1.5 * (layer == 3)) * (1 + 0.01 * t)}
        assert outcome(f"{name} with depth", **step_down) is False
    (exponential,) = (name for name in names if name.startswith("surrogate exponential"))
    (logarithmic,) = (name for name in names if name.startswith("TL logarithmic"))
    assert outcome(exponential, surrogate=lambda layer, t: 2.0**layer * (1 + 0.1 * t)) is False
    assert outcome(logarithmic, linearity=lambda layer, t: 0.1 * layer + 0.001 * layer * t) is False


def test_the_normalised_surrogate_of_figure_4_without_momentum():
    """Both statements read it under its own name: the surrogates of the two forms do not change them."""
    names = [f"normalised surrogate {direction}, without momentum" for direction in ("in training", "with depth")]
    true, normalised = figure_4(), "surrogate, normalised"
    falling = figure_4(surrogate=lambda layer, t: 2.0**-layer * np.exp(-0.04 * t))

    def mixed(planted: list[dict], others: list[dict]) -> Rows:
        of_planted = [row for row in planted if row["quantity"] == normalised]
        return rows(of_planted + [row for row in others if row["quantity"] != normalised])

    assert all(judged(a_fig4, name, mixed(true, falling)).holds for name in names)
    assert all(judged(a_fig4, name, mixed(falling, true)).holds is False for name in names)
    # steps are factors: from layer to layer the planted surrogate doubles
    step = judged(a_fig4, names[1], mixed(true, falling)).parts["digits, 1 to 2"].statistic
    assert step == pytest.approx(np.log(2), rel=0.01)


@pytest.mark.parametrize("name", ["surrogate exponential", "TL logarithmic"])
def test_figure_4_s_laws_are_those_of_its_data_sets(name):
    """Straight lines break them there; on digits they decide nothing, and stand beside the claim's verdict."""
    lines = {
        "surrogate": lambda layer, t: 2.0**layer * (1 + 0.1 * t),
        "linearity": lambda layer, t: 0.1 * layer + 0.01 * t,
    }
    straight = {data_set: figure_4(data_set=data_set, **lines) for data_set in ("CIFAR-10", "CIFAR-100", "digits")}
    laws = {data_set: figure_4(data_set=data_set) for data_set in straight}
    law = next(statement for statement in a_fig4.STATEMENTS if statement.name == name)
    ours = next(statement for statement in a_fig4.STATEMENTS if statement.name == f"{name} on every data set")
    assert (law.kind, ours.kind) == ("asserted", "ours")
    for data_set in ("CIFAR-10", "CIFAR-100"):
        others = [row for other in straight if other != data_set for row in laws[other]]
        assert judged(a_fig4, name, rows([*others, *straight[data_set]])).holds is False
    on_digits = rows([*laws["CIFAR-10"], *laws["CIFAR-100"], *straight["digits"]])
    assert judged(a_fig4, name, on_digits).holds
    assert judged(a_fig4, ours.name, on_digits).holds is False
    assert not law.judgeable(rows([{**row, "arm": "claim"} for row in laws["digits"]]))


def test_figure_4_on_two_data_sets_and_its_printed_levels():
    first = figure_4(linearity=lambda layer, t: 0.15 * layer * (1 + 0.01 * t) / 2, data_set="CIFAR-10")
    second = figure_4(linearity=lambda layer, t: 0.15 * layer / 4, data_set="CIFAR-100")
    assert judged(a_fig4, "TL higher on CIFAR-10", rows([*first, *second])).holds
    assert judged(a_fig4, "TL on CIFAR-10", rows(first)).holds  # 0.6, where more than 0.5 is printed
    assert judged(a_fig4, "TL on CIFAR-100", rows(second)).holds
    assert judged(a_fig4, "TL on CIFAR-100", rows(figure_4(data_set="CIFAR-100"))).holds is False
    higher = next(statement for statement in a_fig4.STATEMENTS if statement.name == "TL higher on CIFAR-10")
    assert not higher.judgeable(rows([{**row, "arm": "claim"} for row in first]))  # one data set of two


@pytest.mark.parametrize(("accuracy", "holds"), [(0.5, True), (0.46, False)])
def test_figure_4_s_accuracies_are_printed_to_a_percent(accuracy, holds):
    table = [{"case": "CIFAR-10", "seed": seed, "step": 1, "x": 1.0, "quantity": "test_accuracy",
              "value": accuracy + 0.002 * noise(seed)} for seed in SEEDS]  # fmt: skip
    assert judged(a_fig4, "test accuracy on CIFAR-10", rows(table)).holds is holds


@pytest.mark.parametrize(("accuracy", "met"), [(0.97, True), (0.6, False)])
def test_figure_4_speaks_of_networks_that_fit(accuracy, met):
    table = rows([{"case": "digits", "seed": seed, "step": step, "x": float(step), "quantity": "train_accuracy",
                   "value": (accuracy if step else 0.99) + 0.002 * noise(seed)}
                  for seed in SEEDS for step in (0, 1)])  # fmt: skip
    (fitted,) = a_fig4.HYPOTHESES
    assert fitted.rule(table).holds is met


@pytest.mark.parametrize(("accuracy", "holds"), [(0.95, True), (0.85, False)])
def test_figure_4_s_training_accuracy_exceeds_the_print_on_its_own_data_set(accuracy, holds):
    """The hypothesis asks for the same, so it is no condition of this level."""
    accuracies = {"CIFAR-10": accuracy, "CIFAR-100": 1.8 - accuracy}
    table = rows([{"case": data_set, "seed": seed, "step": step, "x": float(step), "quantity": "train_accuracy",
                   "value": (value if step else 0.9) + 0.002 * noise(data_set, seed)}
                  for data_set, value in accuracies.items() for seed in SEEDS for step in (0, 1)])  # fmt: skip
    assert judged(a_fig4, "training accuracy on CIFAR-10", table).holds is holds
    assert judged(a_fig4, "training accuracy on CIFAR-100", table).holds is not holds
    (fitted,) = a_fig4.HYPOTHESES
    levels = {"training accuracy on CIFAR-10", "training accuracy on CIFAR-100"}
    assert {statement.name for statement in a_fig4.STATEMENTS} - set(fitted.statements) == levels


@pytest.mark.parametrize("law", ["exponential", "linear", "logarithmic"])
def test_growth_laws_are_told_apart(law):
    t = np.arange(0.0, 60, 3)
    y = {"exponential": 0.3 * np.exp(0.05 * t), "linear": 1 + 0.2 * t, "logarithmic": 1 + 0.2 * np.log1p(t)}[law]
    errors = errors_of_laws(t, y)
    assert min(errors, key=lambda name: errors[name]) == law
    assert errors[law] < 1e-4 * (y**2).sum()


def figure_7(vcs: float, agop: float, null: float, of: str = "gram") -> Rows:
    records = []
    for seed in SEEDS:
        wobble = 0.01 * noise("fig7", seed)
        records += [
            {"seed": seed, "quantity": f"pearson/vcs_{of}_diagonal", "value": np.tanh(np.arctanh(vcs) + wobble)},
            {"seed": seed, "quantity": f"pearson/agop_{of}_diagonal", "value": np.tanh(np.arctanh(agop) - wobble)},
        ]
        records.append({"seed": seed, "quantity": "null/vcs_gram_diagonal", "value": null})
    return rows(records)


def test_figure_7():
    finding = judged(a_fig7, "VCS above AGOP", figure_7(0.98, 0.71, 0.2))
    assert finding.holds
    assert finding.measured.startswith("ρ with WᵀW is 0.980 for the VCS and 0.7")
    assert judged(a_fig7, "VCS above AGOP", figure_7(0.71, 0.98, 0.2)).holds is False
    assert judged(a_fig7, "VCS tracks the update", figure_7(0.98, 0.71, 0.2, "change")).holds
    assert judged(a_fig7, "VCS tracks the update", figure_7(0.71, 0.98, 0.2, "change")).holds is False
    assert judged(a_fig7, "high correlation", figure_7(0.98, 0.71, 0.2)).holds
    assert judged(a_fig7, "high correlation", figure_7(0.98, 0.71, 0.99)).holds is False  # as of random matrices
    assert judged(a_fig7, "high correlation", figure_7(0.98, -0.71, 0.2)).holds is False
    # nearer to chance than to 1, though positive and above chance
    for vcs, agop, null in ((0.98, 0.3, 0.2), (0.4, 0.71, 0.2), (0.55, 0.71, 0.2), (0.45, 0.71, 0.0)):
        assert judged(a_fig7, "high correlation", figure_7(vcs, agop, null)).holds is False
    assert judged(a_fig7, "high correlation", figure_7(0.65, 0.55, 0.2)).holds
    assert judged(a_fig7, "VCS's level", figure_7(0.98, 0.71, 0.2)).holds
    assert judged(a_fig7, "AGOP's level", figure_7(0.98, 0.8, 0.2)).holds is False


def test_figure_7_s_remainder_is_below_one_half_of_the_update():
    def remainder(share: float) -> bool | None:
        # the diagonal says the opposite
        values = {"whole/remainder": share, "diagonal/remainder": 1 - share}
        table = [{"seed": seed, "quantity": quantity, "value": value + 0.01 * noise("remainder", seed)}
                 for quantity, value in values.items() for seed in SEEDS]  # fmt: skip
        return judged(a_fig7, "a small remainder", rows(table)).holds

    assert remainder(0.2)
    assert remainder(0.45)
    assert remainder(0.55) is False
    assert remainder(1.4) is False  # a shift in the wrong direction


@pytest.mark.parametrize(("name", "other"), [("VCS", "agop"), ("AGOP", "vcs")])
def test_figure_7_s_printed_levels_of_the_update(name, other):
    level = f"{name}'s level, of the update"
    printed = {"vcs": 0.98, "agop": 0.71}
    assert judged(a_fig7, level, figure_7(**printed, null=0.2, of="change")).holds
    assert judged(a_fig7, level, figure_7(**{**printed, other: 0.1}, null=0.2, of="change")).holds
    assert judged(a_fig7, level, figure_7(**{**printed, name.lower(): 0.9}, null=0.2, of="change")).holds is False
