"""The tables of c_modular and c_parity, number by number, from explicit sums and refitted machines."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from machine_oracle import (
    QUADRATIC,
    UPDATES,
    gaussian,
    left_out_errors,
    machines,
    pairs,
    values,
)

from gramlab.streams import stream
from tasks.papers.fact.experiments import c_modular, c_parity

MARGIN = 1e-6  # a class that leads by less could be another one on another processor


def by_key(rows, *names):
    rows = list(rows)
    by = {tuple(row.get(name, 0) for name in names): row["value"] for row in rows}
    assert len(by) == len(rows)
    return by


def share_correct(scores, classes):
    """The share of samples whose highest score is their class's; no score may tie with the highest."""
    ordered = np.sort(scores, 1)
    assert (ordered[:, -1] - ordered[:, -2]).min() > MARGIN
    return float(np.mean([np.argmax(row) == label for row, label in zip(scores, classes, strict=True)]))


# Modular addition -----------------------------------------------------------------------------------------------


def addition(p, fraction, seed):
    """Samples and classes of the training and of the test part of the table of x + y modulo p."""
    table = [(a, b) for a in range(p) for b in range(p)]
    order = stream("modular", seed, "split").permutation(p * p)
    codes = np.array([np.eye(p)[list(table[index])].ravel() for index in order])
    sums = np.array([sum(table[index]) % p for index in order])
    n = round(fraction * p * p)
    return codes[:n], sums[:n], codes[n:], sums[n:]


def explained_by_circulants(M):
    """The share of the variance within four blocks that means along one kind of their diagonals explain."""
    p = len(M) // 2
    explained = total = 0.0
    for row, column in product(range(2), repeat=2):
        entries = {
            (i, j): M[row * p + i, column * p + j] for i in range(p) for j in range(p) if row != column or i != j
        }
        mean = np.mean(list(entries.values()))
        total += sum((value - mean) ** 2 for value in entries.values())
        shares = []
        for sign in (1, -1):
            lines = {}
            for (i, j), value in entries.items():
                lines.setdefault((i + sign * j) % p, []).append(value)
            shares.append(sum(len(line) * (np.mean(line) - mean) ** 2 for line in lines.values()))
        explained += max(shares)
    return explained / total if total > 1e-20 else 0.0


def multiplied(p, draw):
    """The codes of i -> c i + s modulo p, for both numbers; c and p = 9 have no common factor."""
    assert p == 9
    factor, shift = draw.choice([2, 4, 5, 7]), draw.integers(p)
    codes = [(factor * i + shift) % p for i in range(p)]
    return np.ix_([*codes, *(p + code for code in codes)], [*codes, *(p + code for code in codes)])


def pearson(a, b):
    return np.corrcoef(a.ravel(), b.ravel())[0, 1]


def of_blocks(a, b):
    """The correlation of the entries about their block's mean, without the diagonal."""
    p = len(a) // 2
    entries = [[], []]
    for of_matrix, matrix in zip(entries, (a, b), strict=True):
        for block in product((range(p), range(p, 2 * p)), repeat=2):
            inside = [matrix[i, j] for i, j in product(*block) if i != j]
            of_matrix += [value - np.mean(inside) for value in inside]
    return np.corrcoef(*entries)[0, 1]


def test_modular_addition():
    p, fraction, steps, interval, seeds = 9, 0.8, 9, 4, 2
    settings = c_modular.Settings(instances=seeds, modulus=p, fraction=fraction, steps=steps, every=interval)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a singular kernel would be solved with another ridge
        rows = list(c_modular.measure(settings))
    rows = [row for row in rows if row["case"] != c_modular.NOT_AVERAGED]
    measured = by_key(
        (row for row in rows if not row["quantity"].endswith("pair")), "arm", "case", "seed", "quantity", "x"
    )
    drawn_pairs = [row for row in rows if row["quantity"].endswith("pair")]
    expected, expected_pairs = {}, []
    for seed in range(seeds):
        x, classes, x_test, classes_test = addition(p, fraction, seed)
        shuffled = stream("c_modular", "numbers", seed).permutation(p)
        relabelled = np.ix_([*shuffled, *(shuffled + p)], [*shuffled, *(shuffled + p)])
        paths = {}
        for case, update in (("NFA-RFM", "AGOP^(1/2)"), ("FACT-RFM", "|FACT M|^(1/2)")):
            path = paths[case] = machines(update, QUADRATIC, x, np.eye(p)[classes], 0.0, steps + 1)
            for step in (0, 4, 8, 9):
                for arm, (M, alpha), features in (
                    ("claim", path[step], path[step][0]),
                    ("control: no feature learning", path[0], path[0][0]),
                    ("control: numbers relabelled", path[step], path[step][0][relabelled]),
                ):
                    key = (arm, case, seed)
                    scores = [values(QUADRATIC, inputs, x, M) @ alpha for inputs in (x, x_test)]
                    expected[*key, "modular/train accuracy", step] = share_correct(scores[0], classes)
                    expected[*key, "modular/accuracy", step] = share_correct(scores[1], classes_test)
                    expected[*key, "modular/circulancy", step] = explained_by_circulants(features)
            M = path[-1][0]
            if seed == 0:
                for index, value in enumerate((M / abs(M).max()).ravel()):
                    expected["claim", case, 0, "modular/feature", index] = value
        nfa, before = paths["NFA-RFM"][9][0], paths["FACT-RFM"][8][0]
        other = M[multiplied(p, stream("c_modular", "multiplied", seed))]
        draw = stream("c_modular", "null", seed)
        by_chance = [M[multiplied(p, draw)] for _ in range(40)]
        for arm, quantity, value in (
            ("claim", "modular/correlation", pearson(nfa, M)),
            ("claim", "modular/block correlation", of_blocks(nfa, M)),
            ("claim", "modular/distance", 1 - pearson(nfa, M)),
            ("claim", "null/modular/correlation", np.quantile([pearson(nfa, drawn) for drawn in by_chance], 0.975)),
            ("claim", "null/modular/block correlation",
             np.quantile([of_blocks(nfa, drawn) for drawn in by_chance], 0.975)),
            ("control: numbers multiplied", "modular/correlation", pearson(nfa, other)),
            ("control: numbers multiplied", "modular/block correlation", of_blocks(nfa, other)),
            ("control: one update before", "modular/distance", 1 - pearson(before, M)),
        ):  # fmt: skip
            expected[arm, "FACT-RFM", seed, quantity, 9] = value
        draw, identity = stream("c_modular", "pairs", seed), np.eye(2 * p)
        first = draw.integers(len(x), size=1000)
        second = (first + draw.integers(1, len(x), size=1000)) % len(x)
        assert (first != second).all()
        for arm, name, matrix, other in (
            ("claim", "pair", M, M),
            ("claim", "untrained pair", identity, identity),
            ("control: k' of relabelled M", "pair", M, M[relabelled]),
        ):
            slopes, of_other = 2 * pairs(QUADRATIC, x, x, matrix), 2 * pairs(QUADRATIC, x, x, other)
            for step, (i, j) in enumerate(zip(first, second, strict=True)):
                tau = np.mean(slopes[:, i] * slopes[:, j])
                expected_pairs.append((arm, f"modular/{name}", "FACT-RFM", seed, step, of_other[i, j], tau))
        apart = [place for place, pair in enumerate(zip(first, second, strict=True)) if x[pair[0]] @ x[pair[1]] == 0]
        assert 100 < len(apart) < 1000
        slopes = 2 * pairs(QUADRATIC, x, x, M)
        for arm, other in (("claim", M), ("control: distances of relabelled M", M[relabelled])):
            near, by_name = [], {"k'": [], "tau": []}
            for place in apart:
                i, j = first[place], second[place]
                near.append(-(x[i] - x[j]) @ other @ (x[i] - x[j]))
                by_name["k'"].append(slopes[i, j])
                by_name["tau"].append(np.mean(slopes[:, i] * slopes[:, j]))
            for name, of_pairs in by_name.items():
                closer = pd.Series(near).corr(pd.Series(of_pairs), method="spearman")
                expected[arm, "FACT-RFM", seed, f"modular/closer, {name}", 0] = closer
    assert measured == {key: pytest.approx(value, rel=1e-6, abs=1e-9) for key, value in expected.items()}
    assert len(drawn_pairs) == len(expected_pairs)
    for row, (*labels, slope, tau) in zip(drawn_pairs, expected_pairs, strict=True):
        assert [row[name] for name in ("arm", "quantity", "case", "seed", "step")] == labels
        assert (row["x"], row["value"]) == pytest.approx((slope, tau), rel=1e-6, abs=1e-9)
    accuracies = {value for (*_, quantity, _), value in expected.items() if quantity == "modular/accuracy"}
    assert len(accuracies) > 3  # they differ by iterate, update and seed


def test_modular_addition_without_averaging():
    """The scale follows from machines whose M has trace 2p: t^2 takes a factor of M to the power -2."""
    p, fraction, steps, seeds = 9, 0.8, 12, 2
    settings = c_modular.Settings(instances=seeds, modulus=p, fraction=fraction, steps=steps, every=5)
    rows = [row for row in c_modular.measure(settings) if row["case"] == c_modular.NOT_AVERAGED]
    expected = {}
    for seed in range(seeds):
        x, classes, x_test, classes_test = addition(p, fraction, seed)
        y, M, scale, untrained = np.eye(p)[classes], np.eye(2 * p), 0.0, None
        survived, lost = 0, False
        for step in range(steps + 1):
            alpha = np.linalg.solve(values(QUADRATIC, x, x, M), y)
            if step in (0, 5, 10, 12):
                accuracy = share_correct(values(QUADRATIC, x_test, x, M) @ alpha, classes_test)
                untrained = accuracy if untrained is None else untrained
                expected["claim", seed, "modular/scaled accuracy", step] = accuracy
                expected["control: no feature learning", seed, "modular/scaled accuracy", step] = untrained
            lost |= abs(2 * scale + np.log10(values(QUADRATIC, x, x, M).max())) > 308  # outside the range of float64
            if not lost:
                survived = step
                expected["claim", seed, "modular/scale", step] = scale
            M = UPDATES["|FACT|"](QUADRATIC, x, alpha, M)
            growth = np.trace(M) / (2 * p)
            M, scale = M / growth, -2 * scale + np.log10(growth)
        assert 0 < survived < steps
        expected["claim", seed, "modular/updates", steps] = survived
        averaged = machines("|FACT M|^(1/2)", QUADRATIC, x, y, 0.0, steps + 1)
        expected["control: averaged geometrically", seed, "modular/updates", steps] = steps
        for step, (features, _) in enumerate(averaged):
            scale = np.log10(np.trace(features) / (2 * p))
            expected["control: averaged geometrically", seed, "modular/scale", step] = scale
    measured = by_key(rows, "arm", "seed", "quantity", "x")
    assert measured == {key: pytest.approx(value, rel=1e-6, abs=1e-9) for key, value in expected.items()}


# Sparse parities ------------------------------------------------------------------------------------------------

PARITIES = [
    {"degree": 2, "dimension": 5, "samples": 26, "test_samples": 31, "steps": 4},
    {"degree": 3, "dimension": 4, "samples": 13, "test_samples": 30, "steps": 2, "transition": True},
]
RIDGES = [3e-4, 1e-2, 1.0]


def parity_data(parity, part, n, seed):
    """Signs over sqrt(d), and labels: 1 where their product over the support is positive."""
    bits = stream("sparse_parity", seed, "data", part).integers(2, size=(n, parity["dimension"]), dtype=np.int8)
    support = sorted(stream("sparse_parity", seed, "support").permutation(parity["dimension"])[: parity["degree"]])
    signs = 1.0 - 2.0 * bits
    return signs / np.sqrt(parity["dimension"]), (signs[:, support].prod(1) > 0).astype(float)[:, None], support


def chosen_path(update, x, y, steps):
    """The machines at the ridge at which one of them leaves out with the least error; errors by step; the ridge."""
    choices = []
    for ridge in RIDGES:
        path = machines(update, gaussian(5.0), x, y, ridge, steps + 1)
        errors = [np.mean(left_out_errors(gaussian(5.0), x, y, M, ridge) ** 2) for M, _ in path]
        choices.append((min(errors), path, errors, ridge))
    _, path, errors, ridge = min(choices, key=lambda choice: choice[0])
    return path, int(np.argmin(errors)), ridge


def expected_parities(instances):
    chosen = set()
    expected = {}
    for parity, seed in product(PARITIES, range(instances)):
        x, y, support = parity_data(parity, "train", parity["samples"], seed)
        x_test, y_test, _ = parity_data(parity, "test", parity["test_samples"], seed)
        coins = stream("c_parity", "random labels", parity["degree"], parity["samples"], seed).integers(2, size=y.shape)
        transition = parity.get("transition", False)
        figure, updates = ("transition", ("FACT-RFM",)) if transition else ("parity", ("NFA-RFM", "FACT-RFM"))
        learned = {}
        for case, (arm, targets) in product(updates, (("claim", y), ("control: random labels", coins.astype(float)))):
            update = {"NFA-RFM": "AGOP^(1/2)", "FACT-RFM": "|FACT M|^(1/2)"}[case]
            path, best, ridge = chosen_path(update, x, targets, parity["steps"])
            chosen.add((ridge, best))
            learned[arm, case] = path[best][0]
            key = (arm, f"k = {parity['degree']}, {case}", seed)
            for step, (M, alpha) in enumerate(path):
                train, test = (values(gaussian(5.0), inputs, x, M) @ alpha for inputs in (x, x_test))
                assert min(abs(train - 0.5).min(), abs(test - 0.5).min()) > 1e-9
                numbers = {
                    "accuracy": np.mean((test > 0.5) == (y_test == 1)),
                    "train accuracy": np.mean((train > 0.5) == (targets == 1)),
                    "mass": sum(M[i, i] for i in support) / sum(M[i, i] for i in range(len(M))),
                    "lead": (min(M[i, i] for i in support) - max(M[i, i] for i in range(len(M)) if i not in support))
                    / max(M[i, i] for i in range(len(M))),
                }
                for name, value in numbers.items():
                    expected[*key, f"{figure}/{name}", step] = value
                    if step == best:
                        expected[*key, f"{figure}/chosen {name}", step] = value
            if seed == 0:
                order = [*support, *(i for i in range(len(M)) if i not in support)]
                M = path[best][0]
                for index, (i, j) in enumerate(product(order, repeat=2)):
                    expected[*key, f"{figure}/feature", index] = M[i, j] / abs(M).max()
        for arm in () if transition else ("claim", "control: random labels"):
            nfa, fact = learned[arm, "NFA-RFM"], learned[arm, "FACT-RFM"]
            draw = stream("c_parity", "null", parity["degree"], parity["samples"], seed)
            orders = [draw.permutation(len(fact)) for _ in range(40)]
            key = (arm, f"k = {parity['degree']}", seed)
            expected[*key, "pearson/fig5", 0] = pearson(nfa, fact)
            expected[*key, "null/fig5", 0] = np.quantile([pearson(nfa, fact[np.ix_(o, o)]) for o in orders], 0.975)
    return expected, chosen


def test_sparse_parities():
    expected, chosen = expected_parities(2)
    assert len({ridge for ridge, _ in chosen}) > 1  # the choice of the ridge and of the iterate matters
    assert len({best for _, best in chosen}) > 2
    settings = c_parity.Settings(instances=2, ridges=RIDGES, parities=PARITIES)
    measured = by_key(c_parity.measure(settings, "cpu"), "arm", "case", "seed", "quantity", "x")
    assert measured == {key: pytest.approx(value, rel=1e-5, abs=1e-8) for key, value in expected.items()}
    assert len(set(expected.values())) > 50
