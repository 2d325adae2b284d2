"""Figures 1 and 3 to 6 of paper D on planted tables: a collapse holds, and each broken part fails its statement."""

import numpy as np
import pytest
import torch
from planted_collapse import finding_of, planted, verdict
from scipy.optimize import differential_evolution

from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.judging.rules import Finding
from tasks.judging.statistics import JudgeError
from tasks.papers.neural_collapse.claims import d_fig1, d_fig3, d_fig4
from tasks.papers.neural_collapse.claims.shared.exponential import explained
from tasks.papers.neural_collapse.experiments import d_deep_rfm

SEEDS, LAYERS = 6, 8
CASES = ("digits, gaussian, relu", "digits, laplace, relu", "digits, laplace, fourier")
COLLAPSED = {"nc1": 0.5, "agop": 0.3, "features": 1.5, "nc2": 0.8, "chance": 3.0}


def collapse(arm: str = "claim", nc1_by_layer: tuple[float, ...] = (), accuracy: float = 1.0, **factors: float):
    """NC1 and NC2 that change by these factors in each layer, or given NC1, with some noise between seeds."""
    factors = {**COLLAPSED, **factors}
    rows = []
    for case in CASES:
        for seed in range(SEEDS):
            noise = float(stream("test_checks_d", arm, case, seed).uniform(0.95, 1.05))
            rows.append({"arm": arm, "case": case, "seed": seed, "quantity": "train_accuracy", "value": accuracy})
            for layer in range(1, LAYERS + 1):
                data = nc1_by_layer[layer - 1] if nc1_by_layer else factors["nc1"] ** layer
                values = {"nc1/data": data, "nc1/agop": data * factors["agop"] * noise}
                values["nc1/features"] = values["nc1/agop"] * factors["features"] * noise
                values["nc2/data"] = factors["nc2"] ** layer
                values["nc2/agop"] = values["nc2/data"]
                if layer == LAYERS:
                    values |= {"null/nc1/agop": factors["chance"], "null/nc2/agop": factors["chance"]}
                values = {name: value * noise ** (layer % 3) for name, value in values.items()}
                values["ridge"] = 1.5e-8 if layer > 6 - seed % 2 else 0.0
                rows += [{"arm": arm, "case": case, "seed": seed, "layer": str(layer), "x": float(layer),
                          "quantity": name, "value": value} for name, value in values.items()]  # fmt: skip
    return rows


BROKEN = {
    "NC1 falls with depth": {"nc1": 1.2},
    "√M lowers NC1": {"agop": 1.2},
    "the feature map raises NC1": {"features": 0.7},
    "NC2 falls with depth": {"nc2": 1.2},
    "collapse beyond chance": {"chance": 0.1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_figure_3_accepts_a_collapse_and_refutes_its_contrary(name):
    assert finding_of(d_fig3, name, collapse()).holds
    assert finding_of(d_fig3, name, collapse(**BROKEN[name])).holds is False


@pytest.mark.parametrize(
    ("name", "quantity"), [("√M lowers NC1", "nc1/agop"), ("the feature map raises NC1", "nc1/features")]
)
def test_every_layer_counts_alike(name, quantity):
    """NC1 of the first layers is large: the contrary there does not outweigh the other layers, as in differences."""
    rows = collapse()
    for row in rows:
        if row["quantity"] == quantity and row["x"] <= 2:
            row["value"] *= {"nc1/agop": 5.0, "nc1/features": 0.4}[quantity]
    finding = finding_of(d_fig3, name, rows)
    assert finding.holds
    by_layer = [(1 - 1.5) / 2.5, (1 - 0.3) / 1.3] if quantity == "nc1/agop" else [(0.6 - 1) / 1.6, (1.5 - 1) / 2.5]
    assert finding.statistic == pytest.approx(0.25 * by_layer[0] + 0.75 * by_layer[1], abs=0.03)


def test_figure_3_judges_relu_features_alone():
    other = [row for row in collapse(nc1=1.2) if row["case"].endswith("fourier")]
    relu = [row for row in collapse() if row["case"].endswith("relu")]
    assert finding_of(d_fig3, "NC1 falls with depth", relu + other).holds


def test_figure_3_wants_every_case():
    bad = [row for row in collapse(nc1=1.2) if row["case"] == CASES[0]]
    good = [row for row in collapse() if row["case"] != CASES[0]]
    assert finding_of(d_fig3, "NC1 falls with depth", good + bad).holds is False


def test_a_seed_that_collapses_to_round_off_is_no_obstacle():
    """Its logarithms have so large a spread that their interval decides nothing."""
    rows = collapse()
    for row in rows:
        if row["seed"] == 0 and row["quantity"].startswith("nc1"):
            row["value"] *= 10.0 ** (-1.5 * (row["x"] - 1))
    for name in ("NC1 falls with depth", "√M lowers NC1", "the feature map raises NC1", "NC1 improves in every layer"):
        assert finding_of(d_fig3, name, rows).holds


def test_nc1_falls_below_a_tenth():
    """0.75 to the power of the layer falls from 0.75 to 0.1, more than a tenth; 0.7 falls from 0.7 to 0.058."""
    name = "NC1 falls with depth"
    slow = finding_of(d_fig3, name, collapse(nc1=0.75))
    assert slow.holds is False
    assert all(of_case.parts["trend"].holds for of_case in slow.parts.values())
    assert finding_of(d_fig3, name, collapse(nc1=0.7)).holds
    lead = 0.1 * 0.7 - 0.7**LAYERS
    assert finding_of(d_fig3, name, collapse(nc1=0.7)).parts[CASES[0]].parts["collapse"].statistic == pytest.approx(
        lead, abs=0.005
    )


def test_nc1_must_fall_in_every_layer():
    wavering = (1, 0.3, 0.1, 0.01, 0.02, 0.04, 0.06, 0.08)  # falls in 3 of 7 steps
    assert finding_of(d_fig3, "NC1 improves in every layer", collapse()).holds
    finding = finding_of(d_fig3, "NC1 improves in every layer", collapse(nc1_by_layer=wavering))
    assert finding.holds is False
    words = (
        "NC1 falls in 43 % of the steps from a layer to the next; in the mean over seeds it does not fall after layers"
    )
    assert f"{words} 4 to 7" in finding.measured


EXPONENTIAL = "NC1 falls exponentially"


def curve(law, noise: float = 0.03) -> list[dict]:
    """NC1 after M^{1/2} of six seeds in twelve layers, by a law in the layer, with a random factor in each layer."""
    draw = stream("test_checks_d", "curve").normal(size=(len(CASES), SEEDS, 12))
    return [
        {"case": case, "seed": seed, "layer": str(layer), "x": float(layer), "quantity": "nc1/agop",
         "value": float(law(layer) * np.exp(noise * draw[index, seed, layer - 1]))}
        for index, case in enumerate(CASES)
        for seed in range(SEEDS)
        for layer in reversed(range(1, 13))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda layer: 0.5**layer, True),
        (lambda layer: 1e-6**layer, True),
        (lambda layer: 2.0**layer, False),  # an exponential rise
        (lambda layer: layer**-2.0, False),
        (lambda layer: layer**-3.0 + 0.01, False),
        (lambda layer: 13.0 - layer, False),
        (lambda layer: max(8.0 - layer, 1.0), False),
        (lambda layer: 1.0 if layer == 1 else 0.01, None),  # a single drop, which every law with a steep rate fits
        (lambda layer: 1.0 if layer <= 6 else 0.1, False),
        (lambda layer: 0.3**layer + 0.01, True),  # it comes to rest, as the theorem allows
    ],
)
def test_an_exponential_law_fits_nc1_best(law, holds):
    assert finding_of(d_fig3, EXPONENTIAL, curve(law)).holds is holds


def test_a_rise_is_no_fall_whatever_fits_it():
    finding = finding_of(d_fig3, EXPONENTIAL, curve(lambda layer: 2.0**layer))
    of_cases = [case.parts["fall"] for case in finding.parts.values()]
    assert of_cases
    assert all(part.holds is False for part in of_cases)


def test_noise_alone_is_no_exponential_fall():
    assert finding_of(d_fig3, EXPONENTIAL, curve(lambda layer: 1.0, noise=0.5)).holds is not True


def test_seeds_that_disagree_decide_nothing():
    """Half of the seeds fall exponentially, and half by a power law."""
    rows = curve(lambda layer: 0.5**layer)
    for row in rows:
        if row["seed"] % 2:
            row["value"] *= 2.0 ** row["x"] * row["x"] ** -3.0
    assert finding_of(d_fig3, EXPONENTIAL, rows).holds is None


def test_a_seed_that_collapses_to_round_off_cannot_spoil_the_fits():
    rows = curve(lambda layer: 0.5**layer)
    for row in rows:
        if row["seed"] == 0:
            row["value"] *= 1e-2 ** row["x"]
    assert finding_of(d_fig3, EXPONENTIAL, rows).holds


LAWS = {  # NC1 by layer from a law's three numbers
    "exponential": lambda layer, a, b, c: a * np.exp(-b * (layer - 1)) + c,
    "straight": lambda layer, a, b, c: np.maximum(a * (1 - b * (layer - 1)), 0) + c,
    "power": lambda layer, a, b, c: a * layer**-b + c,
}


@pytest.mark.parametrize("law", LAWS)
def test_each_fit_is_the_best_of_its_law(law):
    """A global search of scipy finds no better numbers, on curves of all laws and on others."""
    layer = np.arange(1.0, 9.0)
    noise = np.exp(0.1 * stream("test_checks_d", "laws").normal(size=(5, len(layer))))
    curves = [other(layer, 2.0, 0.4 if name != "straight" else 0.15, 0.05) for name, other in LAWS.items()]
    nc1 = np.array([*curves, 0.5**layer, [1.0, 0.9, 1.1, 0.1, 0.09, 0.1, 0.12, 0.1]]) * noise
    for fit, values in zip(explained(nc1)[law], nc1, strict=True):
        logarithms = np.log(values)

        def error(numbers, logarithms=logarithms):
            a, b, c = np.exp(numbers)
            return float(((logarithms - np.log(LAWS[law](layer, a, b, c) + 1e-300)) ** 2).sum())

        bounds = [(-12, 12), (np.log(1e-4), np.log(30)), (-30, 5)]
        best = differential_evolution(error, bounds, seed=0, tol=1e-12, maxiter=2000, polish=True)
        assert fit == pytest.approx(1 - best.fun / (len(layer) * logarithms.var()), abs=2e-5)


def test_the_fit_of_a_single_drop():
    nc1 = np.array([[1.0, 0.7, 0.2, 0.1], [3.0, 3.5, 1.0, 0.2]])
    for fit, logarithms in zip(explained(nc1)["drop"], np.log(nc1), strict=True):
        left = [sum(part.var() * len(part) for part in np.split(logarithms, [first])) for first in (1, 2, 3)]
        assert fit == pytest.approx(1 - min(left) / (4 * logarithms.var()))


def test_figure_3_reports_nc1_and_the_ridge_of_singular_kernels():
    measured = finding_of(d_fig3, "NC1 falls with depth", collapse()).measured
    assert "digits, Gaussian kernel, ReLU features: NC1 of the layer's input is 0.5 in the first layer" in measured
    assert "and 0.0039 in the last" in measured
    assert "ridge of 1.5e-08 in 2 to 3 of 8 layers" in measured


def figure_3(**changed) -> list[dict]:
    """A collapse, with controls that do not collapse and whose NC2 ends above that of M = I."""
    shuffled = {"nc1": 1.2, "agop": 1.2, "features": 0.7, "nc2": 1.3}
    return collapse(**changed) + without_agop() + collapse(arm="control: fitted to shuffled labels", **shuffled)


def without_agop(nc2: float = 1.2) -> list[dict]:
    """The control M = I, whose NC2 changes by this factor in each layer."""
    rows = collapse(arm="control: M = I", nc1=1.2, agop=1.2, features=0.7, nc2=nc2)
    has = {"nc1/data", "nc1/features", "nc2/agop", "nc2/data", "ridge"}
    return [{**row, "value": row["value"] * (row["quantity"] != "ridge")} for row in rows if row["quantity"] in has]


def lower_nc2(claim: float, without: float, arm: str = "claim") -> Finding:
    """What the rule on NC2 with and without the AGOP finds in an arm, for these factors of a layer."""
    (statement,) = [each for each in d_fig3.STATEMENTS if each.name == "the AGOP lowers NC2"]
    rows = statement.rows_read(planted(collapse(arm=arm, nc2=claim) + without_agop(without)))
    assert set(rows.arm.tolist()) == {arm}  # M = I is no control of itself
    return statement.rule(rows)


def test_nc2_is_compared_with_that_without_agop_at_the_seeds_that_a_control_has():
    """A control with fewer seeds is judged like a table that has no other seeds."""
    (statement,) = [each for each in d_fig3.STATEMENTS if each.name == "the AGOP lowers NC2"]
    control = "control: fitted to shuffled labels"
    rows = collapse() + without_agop() + collapse(arm=control, nc2=1.3)
    of_three = [row for row in rows if row["seed"] < 3]
    without_some = [row for row in rows if row["arm"] != control or row["seed"] < 3]
    alone, beside = (statement.rows_read(planted(table)).where(arm=control) for table in (of_three, without_some))
    assert statement.rule(beside) == statement.rule(alone)
    in_claim = statement.rows_read(planted(without_some)).where(arm="claim", case=CASES[0], quantity="nc2/agop, M = I")
    assert set(in_claim.seed.tolist()) == set(range(SEEDS))


def test_figure_4_says_which_control_has_fewer_seeds_than_its_note():
    arms = {"control: M = I": 6, "control: fitted to shuffled labels": 3}
    rows = [row for arm, count in arms.items() for row in collapse(arm=arm) if row["seed"] < count]
    figure = d_fig4.draw(planted(collapse() + rows).frame, d_fig4)
    assert figure.texts[-1].get_text() == "thick: mean (of NC1: geometric); thin: each of 6 seeds"
    names = [text.get_text() for text in figure.axes[0].texts]
    assert [name for name in names if "seeds" in name] == ["loose dots, control:\nshuffled labels\n(3 seeds)"]


def test_the_agop_must_lower_nc2_of_the_last_layer():
    assert lower_nc2(0.8, 1.2).holds
    assert lower_nc2(0.8, 0.6).holds is False  # NC2 falls with depth, but less than without the AGOP
    assert lower_nc2(0.8, 0.8).holds is None
    assert lower_nc2(1.3, 1.2, arm="control: fitted to shuffled labels").holds is False
    finding = lower_nc2(0.8, 1.2)
    last, noise = 1.2**LAYERS - 0.8**LAYERS, 1.05**2
    assert last / noise < finding.statistic < last * noise
    assert "digits, Laplace kernel, ReLU features: NC2 after the last √M is 0.17, and 4." in finding.measured


def test_nc2_with_and_without_the_agop_is_compared_seed_by_seed():
    """Seeds differ by more than the AGOP changes NC2."""
    claim, without = collapse(), without_agop(0.8)
    for row in (*claim, *without):
        if row["quantity"] == "nc2/agop":
            row["value"] = 10.0 + row["seed"] + (0.1 + 0.01 * row["seed"]) * (row["arm"] != "claim")
    (statement,) = [each for each in d_fig3.STATEMENTS if each.name == "the AGOP lowers NC2"]
    finding = statement.rule(statement.rows_read(planted(without[::-1] + claim)))
    assert finding.holds
    assert finding.statistic == pytest.approx(np.mean([0.1 + 0.01 * seed for seed in range(SEEDS)]))


def test_nc2_is_not_judged_without_the_arm_to_compare_with():
    with pytest.raises(JudgeError, match="no arm 'control: M = I'"):
        verdict(d_fig3, [row for row in figure_3() if row["arm"] != "control: M = I"], SEEDS)


def test_the_verdict_on_figure_3():
    assert verdict(d_fig3, figure_3(), SEEDS)["verdict"] == "holds"
    also_in_control = collapse() + without_agop() + collapse(arm="control: fitted to shuffled labels", agop=0.4)
    assert (verdict(d_fig3, also_in_control, SEEDS)["verdict"], verdict(d_fig3, also_in_control, SEEDS)["reason"]) == (
        "inconclusive", "control kept",
    )  # fmt: skip
    untrained = verdict(d_fig3, figure_3(accuracy=0.9), SEEDS)
    assert (untrained["verdict"], untrained["reason"]) == ("inconclusive", "hypothesis not met")


@pytest.mark.parametrize(
    ("singular_from", "words"), [(7, "a ridge of 1.5e-08 in 1 to 2 of 8 layers"), (LAYERS + 1, "no ridge")]
)
def test_the_condition_says_where_kernel_matrices_were_singular(singular_from, words):
    """A ridge does not break the condition: the last machine still labels its samples rightly."""
    rows = figure_3()
    for row in rows:
        if row["quantity"] == "ridge" and row["arm"] == "claim":
            row["value"] = 1.5e-8 if row["x"] >= singular_from + row["seed"] % 2 else 0.0
    (condition,) = verdict(d_fig3, rows, SEEDS)["hypotheses"]
    form = condition["forms"]["claim"]
    assert (form["holds"], form["statistic"]) == (True, 1.0)
    assert form["measured"] == (
        f"digits, Gaussian kernel, ReLU features: {words}; digits, Laplace kernel, ReLU features: {words}"
    )


def test_a_case_of_other_features_may_miss_the_hypothesis():
    other = [row for row in figure_3(accuracy=0.9) if row["case"].endswith("fourier")]
    relu = [row for row in figure_3() if row["case"].endswith("relu")]
    assert verdict(d_fig3, relu + other, SEEDS)["verdict"] == "holds"


def test_a_table_without_a_seed_or_half_of_the_layers_is_refused():
    with pytest.raises(ContractError, match="the settings have 6"):
        verdict(d_fig3, [row for row in figure_3() if row["seed"] or row["case"] != CASES[1]], SEEDS)
    with pytest.raises(ContractError, match="the statement needs 90"):
        verdict(d_fig3, [row for row in figure_3() if row["quantity"] != "nc1/data" or row["x"] <= 4], SEEDS)


@pytest.mark.parametrize(
    ("last", "holds"), [((8.0, 4.0, 1.0), True), ((1.0, 4.0, 8.0), False), ((4.0, 4.0, 4.0), None)]
)
def test_figure_4_asks_whether_more_samples_collapse_further(last, holds):
    rows = [
        {"case": CASES[2], "seed": seed, "x": count, "quantity": "nc1/by samples", "value": value * (1 + 0.01 * seed)}
        for seed in range(SEEDS)
        for count, value in zip((600.0, 150.0, 300.0), (last[2], last[0], last[1]), strict=True)
    ]
    finding = finding_of(d_fig4, "more samples collapse further", rows)
    assert finding.holds is holds
    if holds:
        assert "NC1 after the last √M is 8.2 with 150, 4.1 with 300, 1 with 600 samples" in finding.measured


def simplex(within: float = 0.98, across: float = -0.11, spread: float = 0.05) -> list[dict]:
    """Two layers: the first is far from a simplex, the last has these cosines."""
    values = {"within": within, "across": across, "spread": spread}
    first = {"within": 0.2, "across": 0.5, "spread": 0.6}
    return [
        {"case": "mnist, gaussian, relu", "seed": seed, "layer": str(layer), "x": float(layer),
         "quantity": f"gram/{name}", "value": value + 0.001 * seed}
        for seed in range(SEEDS)
        for layer, cosines in ((1, first), (2, values))
        for name, value in cosines.items()
    ] + [
        {"case": "mnist, gaussian, relu", "seed": seed, "layer": str(layer), "x": float(layer), "quantity": "ridge",
         "value": 0.0}
        for seed in range(SEEDS)
        for layer in (1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "broken"),
    [("points of one class", {"within": 0.8}), ("points of two classes", {"across": 0.1}),
     ("points of two classes", {"across": 0.0}), ("points of two classes", {"across": -0.09}),
     ("class means", {"spread": 0.2})],
)  # fmt: skip
def test_figure_1_is_about_the_last_layer(name, broken):
    finding = finding_of(d_fig1, name, simplex())
    assert finding.holds
    assert finding.p < 0.025  # Holm's correction uses it
    assert finding_of(d_fig1, name, simplex(**broken)).holds is False


def test_cosines_pair_by_pair():
    draw = stream("test_checks_d", "cosines")
    labels = np.array([0, 1, 2, 0, 1, 2, 2, 2])
    h = draw.normal(size=(8, 4)) + 2 * draw.normal(size=(3, 4))[labels]
    centred = h - np.mean([h[labels == c].mean(0) for c in range(3)], axis=0)
    pairs = {True: [], False: []}
    for i in range(8):
        for j in range(8):
            if i != j:
                cosine = centred[i] @ centred[j] / np.linalg.norm(centred[i]) / np.linalg.norm(centred[j])
                pairs[bool(labels[i] == labels[j])].append(cosine)
    within, across = d_deep_rfm.cosines(torch.from_numpy(h), torch.from_numpy(labels))
    assert (within, across) == (pytest.approx(np.mean(pairs[True])), pytest.approx(np.mean(pairs[False])))
