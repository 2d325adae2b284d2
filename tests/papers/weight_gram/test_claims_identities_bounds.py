"""Claims on identities and inequalities against planted tables: all statements hold, or one fails.

Brute force finds the extremal instances again that the bounds' best constants rest on.
"""

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from helpers import rows
from planted import UNITS

from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.judging.finding import find
from tasks.judging.statement import quantities
from tasks.judging.verdict import judge
from tasks.papers.weight_gram.claims import (
    a_bce,
    a_eq1,
    a_eq2,
    a_lem1,
    a_lem2,
    a_lem4,
    a_lem5,
    a_ols,
    a_prop1,
    a_prop2,
    a_prop3,
    a_prop4,
    a_thm1,
    a_thm2,
    a_tl,
    a_whiten,
)
from tasks.papers.weight_gram.experiments import a_linear, a_taylor

CLAIMS = (a_bce, a_eq1, a_eq2, a_lem1, a_lem2, a_lem4, a_lem5, a_ols, a_prop1, a_prop2, a_prop3, a_prop4, a_thm1,
          a_thm2, a_tl, a_whiten)  # fmt: skip
STEPS = 2.0 ** -np.arange(12)
RATIOS = ("ratio", "sharp", "by linearity")
COUNTS = ("violated", "unequal signs", "not positive")
BEST = {a_thm2: 4 / 27, a_lem4: 0.5}  # left / right side where a sharper statement of ours holds too


def planted(claim, arm: str = "claim", broken: tuple[str, ...] = ()) -> list[dict]:
    """As many rows as the claim's statements need; the ``broken`` quantities do not obey their rule."""
    records = []
    for quantity in quantities(claim):
        readers = [statement for statement in claim.STATEMENTS if quantity in statement.reads]
        cases = max(reader.least_cases("quick") for reader in readers)
        count = max(60, *(reader.rows for reader in readers))
        columns = {"arm": arm, "quantity": quantity, "experiment": "planted", "scale": "quick", "dtype": "float64"}
        name, wrong = quantity.partition("/")[2], quantity in broken
        per_number = {"remainder": len(STEPS), "gap": 6, "nc1": 6}.get(name, 1 if name in (*RATIOS, *COUNTS) else 2)
        for number in range(max(-(-count // per_number), cases)):
            case = f"kind {chr(97 + number % cases)}, {number // cases}"
            row = {**columns, "case": case, "layer": str(number // cases), "seed": number}
            if name == "remainder":
                records += [{**row, "x": x, "value": x if wrong else x**2} for x in STEPS]
            elif name in ("gap", "nc1"):
                time = 6 * number / count
                records += [{**row, "case": "trained", "seed": seed, "step": number, "layer": "",
                             "value": 0.5 * np.exp(-9 * (time if not wrong else -time)) + 1e-6 * seed}
                            for seed in range(6)]  # fmt: skip
            elif name in RATIOS:
                worst = BEST.get(claim, 1.0) / (1 + number)
                records.append({**row, "value": 1.01 if wrong and number == 0 else worst})
            elif name in COUNTS:
                records.append({**row, "value": float(wrong and number == 0)})
            else:
                size = (1e3 if wrong else 0.1) * stream("test_checks_a", number).uniform(0.5, 1)
                records += [{**row, "dtype": dtype, "value": unit * size} for dtype, unit in UNITS.items()]
    factor = 1.001 if arm.startswith("control") else 1.0  # no control has the numbers of the claim
    return [{**record, "value": factor * record["value"]} for record in records]


def judged(claim, records: list[dict]) -> dict:
    return judge({"planted": find(claim, "A", rows(records), "planted", "quick", set())})["planted"]


def verdicts(claim, records: list[dict]) -> dict[str, str]:
    return {statement["name"]: statement["verdict"] for statement in judged(claim, records)["statements"]}


@pytest.fixture(autouse=True)
def the_print_alone(monkeypatch):
    """The planted tables have no corrected arm, without which a refuted print waits for a new table."""
    for claim in CLAIMS:
        monkeypatch.setattr(claim, "CORRECTION", "", raising=False)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.ID)
def test_a_broken_quantity_refutes_the_statements_that_read_it_and_no_other(claim):
    control = planted(claim, "control: broken", quantities(claim))
    assert judged(claim, planted(claim) + control)["verdict"] == "holds"
    assert set(verdicts(claim, planted(claim) + control).values()) == {"holds"}
    for quantity in quantities(claim):
        verdict_of = verdicts(claim, planted(claim, broken=(quantity,)) + control)
        asserted_by = {statement.name for statement in claim.STATEMENTS if quantity in statement.reads}
        if quantity == "prop2/nc1":
            continue  # reported, not judged
        assert {name for name, verdict in verdict_of.items() if verdict == "fails"} == asserted_by, quantity


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.ID)
def test_a_control_that_is_kept_leaves_the_claim_undecided(claim):
    control = [{**row, "value": 0.99 * row["value"]} for row in planted(claim, "control: kept")]
    if all("not positive" not in name and "violated" not in name and "signs" not in name for name in quantities(claim)):
        judgement = judged(claim, planted(claim) + control)
        assert (judgement["verdict"], judgement["reason"]) == ("inconclusive", "control kept")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.ID)
def test_half_of_a_quantity_or_a_single_case_is_refused(claim):
    control = planted(claim, "control: broken", quantities(claim))
    for quantity in quantities(claim):
        table = planted(claim)
        of_quantity = [row for row in table if row["quantity"] == quantity]
        others = [row for row in table if row["quantity"] != quantity]
        if len(of_quantity) < 2 * max(statement.rows for statement in claim.STATEMENTS if quantity in statement.reads):
            with pytest.raises(ContractError, match=r" rows in the arm claim"):
                find(
                    claim, "A", rows(others + of_quantity[: len(of_quantity) // 2] + control), "planted", "quick", set()
                )
        if max(statement.cases for statement in claim.STATEMENTS if quantity in statement.reads) > 1:
            single = [{**row, "case": "0", "layer": f"{row['case']} {row['layer']}"} for row in of_quantity]
            with pytest.raises(ContractError, match="1 kinds of cases in the arm claim"):
                find(claim, "A", rows(others + single + control), "planted", "quick", set())


def test_only_strictness_of_lemmas_1_and_4_is_corrected():
    for claim, name in ((a_lem1, "lem1"), (a_lem4, "lem4")):
        control = planted(claim, "control: broken", quantities(claim))
        corrected = planted(claim, "corrected")
        judgement = judged(claim, planted(claim, broken=(f"{name}/violated",)) + corrected + control)
        forms = {statement["name"]: statement["verdict"] for statement in judgement["statements"]}
        assert judgement["verdict"] == "holds corrected"
        assert (forms["bound"], forms["strictness"]) == ("holds", "holds corrected")


@pytest.mark.parametrize("r", [1.0, 1.3, 1.61, 1.63, 3.0, 100.0])
def test_best_constant_of_lemma_2(r):
    """Against a fine grid of the weight p on the smallest of the eigenvalues 1 and r."""
    p = np.linspace(0, 1, 100_001)
    assert a_linear._best_kappa(r) == pytest.approx(((p + (1 - p) / r**2) * (p + (1 - p) * r)).max(), rel=1e-8)


def test_best_constant_of_theorem_2():
    """Against a fine grid of t = lambda_max / lambda and p, the share of the labels in the features' direction."""
    t, p = np.meshgrid(np.geomspace(1e-3, 1e3, 2001), np.linspace(0, 1, 1501))
    value = 4 * t * p * (1 - p + p / (1 + t) ** 2) / (2 + t) ** 2
    assert value.max() == pytest.approx(4 / 27, rel=1e-5)
    assert t.flat[value.argmax()] == pytest.approx(1, rel=1e-2)
    assert p.flat[value.argmax()] == pytest.approx(2 / 3, rel=1e-2)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_kinks_on_a_segment_against_a_dense_scan(depth):
    draw = stream("test_checks_a", "kinks", depth)
    weights = [draw.normal(size=(6, 4 if layer == 0 else 6)) for layer in range(depth)]
    head, a, b = draw.normal(size=6), draw.normal(size=4), draw.normal(size=4)

    def patterns_and_slope(x):
        linear, signs = np.eye(4), []
        for weight in weights:
            active = weight @ linear @ x > 0
            linear = active[:, None] * (weight @ linear)
            signs += active.tolist()
        return tuple(signs), head @ linear

    scanned = [patterns_and_slope(a + t * (b - a)) for t in (np.arange(20_000) + 0.5) / 20_000]
    gradients = a_taylor.gradients(weights, head, a, b)
    assert len(gradients) == 1 + sum(x != y for (x, _), (y, _) in pairwise(scanned))
    assert np.allclose(gradients[0], scanned[0][1])
    assert np.allclose(gradients[-1], scanned[-1][1])


@pytest.mark.parametrize("kind", a_taylor.KINDS)
def test_features_are_homogeneous(kind):
    draw = stream("test_checks_a", kind)
    weights = [torch.from_numpy(draw.normal(size=(5, 3 if layer == 0 else 5))) for layer in range(3)]
    x = torch.from_numpy(draw.normal(size=(20, 3)))
    degree = {"relu^2": 2, "relu^3": 3, "relu^2, 2 layers": 4, "degree 1/2": 0.5, "cubic": 3}.get(kind, 1)
    phi = a_taylor.features(kind, weights)
    assert torch.allclose(phi(1.7 * x), 1.7**degree * phi(x))


def test_the_pull_of_a_class_may_be_negative_although_the_class_is_more_similar_to_itself():
    """Against the sums over both classes, pair by pair."""
    H, y, f = np.array([[1.0, 0.9]]), np.array([1.0, 0.0]), np.log([9.0, 9.0])  # both predicted as 0.9
    assert a_linear.pull(H, y, f) == pytest.approx(1 * 1 * (1 - 0.9) - 1 * 0.9 * 0.9)
    draw = stream("test_checks_a", "pull")
    H, y, f = draw.normal(size=(3, 7)), np.array([1.0, 0, 0, 1, 1, 0, 1]), draw.normal(size=7)
    total = 0.0
    for i in range(7):
        for j in range(7):
            residual = y[j] - 1 / (1 + np.exp(-f[j]))
            total += y[i] * residual * sum(H[row, i] * H[row, j] for row in range(3))
    assert a_linear.pull(H, y, f) == pytest.approx(total)


def test_the_corrected_condition_makes_the_pull_positive():
    measured = [row for instance in range(100) for row in a_linear.pull_of_a_class(instance)]
    counts = {
        arm: sum(row["value"] for row in measured if row["arm"] == arm) for arm in {row["arm"] for row in measured}
    }
    assert counts["corrected"] == 0
    assert 0 < counts["claim"] < 100
    assert 0 < counts[a_linear.CROSS_CLASS] < 100


def test_the_corrected_condition_needs_features_that_are_not_negative():
    """The sums over the classes do not suffice: y^T K g = -0.238 although similarity within the class dominates."""
    H, y = np.array([[1, -0.5, -0.6], [0, 0.1, -10]]), np.array([1.0, 1.0, 0.0])
    predicted = np.array([0.999, 0.001, 0.001])
    K, ones = H.T @ H, y == 1
    assert K[ones][:, ones].min() > K[ones][:, ~ones].max()
    assert (1 - predicted[ones]).sum() > predicted[~ones].sum()
    assert a_linear.pull(H, y, np.log(predicted / (1 - predicted))) == pytest.approx(-0.238, abs=1e-3)


def test_the_corrected_condition_has_to_be_strict():
    """Of all one-dimensional features 0, 1, 2 and predictions: strict domination makes the pull positive.

    Where similarities are equal, the pull may be 0.
    """
    zeros = 0
    for h, odds in product(product(range(3), repeat=3), product((-2, 0, 1), repeat=3)):
        for y in ((1, 0, 0), (1, 1, 0)):
            H, labels, logits = np.array([h], dtype=float), np.array(y, dtype=float), np.array(odds, dtype=float)
            K, ones = H.T @ H, labels == 1
            gap = K[ones][:, ones].min(1) - K[ones][:, ~ones].max(1)
            if (labels - 1 / (1 + np.exp(-logits))).sum() < 0 or gap.min() < 0:
                continue
            pull = a_linear.pull(H, labels, logits)
            assert pull >= -1e-12
            if gap.min() > 0:
                assert pull > 1e-3
            zeros += abs(pull) < 1e-12
    assert zeros
    assert a_linear.pull(np.array([[1.0, 1.0]]), np.array([1.0, 0.0]), np.zeros(2)) == 0
