"""The table of c_tabular, number by number, and scikit-learn's data sets as it reads them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from machine_oracle import UPDATES, dual, laplace, values
from sklearn import datasets

from gramlab.streams import stream
from tasks.papers.fact.experiments import c_tabular
from tasks.papers.fact.experiments.shared.classification_tables import data_sets

KERNEL = laplace(10.0)
METHODS = {"kernel": None, "NFA-RFM": "AGOP", "FACT-RFM": "|FACT|", "FACT-RFM, averaged": "|FACT M|^(1/2)"}
QUANTITIES = ("tabular/accuracy", "tabular/accuracy, own features")
ARMS = {  # and the methods whose features come from shuffled labels
    "claim": (),
    "control: shuffled labels": ("NFA-RFM", "FACT-RFM", "FACT-RFM, averaged"),
    "control: FACT-RFM from shuffled labels": ("FACT-RFM", "FACT-RFM, averaged"),
}
SIZES = {"a": (36, 5), "b": (31, 4)}  # rows and columns


def write_tables(folder):
    """Tables whose three classes depend on a product of columns, with noise; columns of different sizes."""
    folder.mkdir()
    for name, (n, d) in SIZES.items():
        draw = np.random.default_rng(n)
        x = draw.normal(size=(n, d)) * 3.0 ** np.arange(d) + np.arange(d)
        signal = x[:, 0] * (x[:, 1] - 1) / 3 + 0.2 * draw.normal(size=n)
        classes = (signal > -0.3).astype(int) + (signal > 0.5)
        frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(d)])
        frame["label"] = [f"class {2 - label}" for label in classes]
        frame.to_csv(folder / f"{name}.csv", index=False)
        yield name, x, 2 - classes


def shares_correct(update, x, y, teacher, train, test, ridge):
    """The test accuracies and the features of M = I and of four updates, or of M = I alone without an update.

    The features come from machines of the teacher's labels, the predictions from weights for y with these features.
    """
    codes, M, shares = np.eye(y.max() + 1), np.eye(x.shape[1]), []
    for _ in range(5 if update else 1):
        shares.append((share_correct(M, x, y, train, test, ridge), M))
        if update:
            M = UPDATES[update](KERNEL, x[train], dual(KERNEL, x[train], codes[teacher[train]], M, ridge), M)
    return shares


def share_correct(M, x, y, train, test, ridge):
    """The test accuracy with features M."""
    alpha = dual(KERNEL, x[train], np.eye(y.max() + 1)[y[train]], M, ridge)
    scores = values(KERNEL, x[test], x[train], M) @ alpha
    ordered = np.sort(scores, 1)
    assert (ordered[:, -1] - ordered[:, -2]).min() > 1e-10  # no class is a tie's
    return np.mean(scores.argmax(1) == y[test])


def cross_validated(update, x, y, teacher):
    """The accuracies over four folds, with the first best setting on a validation half.

    The folds share the features of that setting, or each learns its own with it.
    """
    n, best = len(x), (-1.0, None)
    scaled = x / np.sqrt((x**2).sum(1, keepdims=True))
    for ridge, z in product((10.0, 1.0, 0.1, 0.01, 0.001), (scaled, x)):
        shares = shares_correct(update, z, y, teacher, np.arange(n // 2), np.arange(n // 2, n), ridge)
        for step, (share, M) in enumerate(shares):
            if share > best[0]:
                best = share, (ridge, z, step, M)
    ridge, z, step, M = best[1]
    shared, tuned = [], []
    for fold in np.array_split(np.arange(n), 4):
        others = np.array([i for i in range(n) if i not in fold])
        shared.append(share_correct(M, z, y, others, fold, ridge))
        tuned.append(shares_correct(update, z, y, teacher, others, fold, ridge)[step][0])
    return (np.mean(shared), np.mean(tuned)), (ridge, z is x, step)


def test_accuracies_of_all_methods(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    expected, choices = {}, set()
    for index, (name, x, classes) in enumerate(write_tables(tmp_path / "sets")):
        order = stream("c_tabular", name, "order").permutation(len(x))
        x, y = ((x - x.mean(0)) / x.std(0))[order], classes[order]
        shuffled = y[stream("c_tabular", name, "labels").permutation(len(x))]
        for (method, update), (arm, of_shuffled) in product(METHODS.items(), ARMS.items()):
            teacher = shuffled if method in of_shuffled else y
            shares, choice = cross_validated(update, x, y, teacher)
            for quantity, share in zip(QUANTITIES, shares, strict=True):
                expected[arm, name, index, method, quantity] = share
            choices.add(choice)
    settings = c_tabular.Settings(instances=1, folder="sets", largest=36)
    rows = list(c_tabular.measure(settings))
    columns = ("arm", "case", "seed", "layer", "quantity")
    measured = {tuple(row[column] for column in columns): row["value"] for row in rows}
    assert len(rows) == len(measured)
    assert measured == {key: pytest.approx(value, abs=1e-12) for key, value in expected.items()}
    assert all(len({choice[part] for choice in choices}) > 1 for part in range(3))  # ridge, scaling, iterate all differ
    assert len(set(expected.values())) > 6
    shared, tuned = ({key[:-1]: value for key, value in expected.items() if key[-1] == name} for name in QUANTITIES)
    assert shared != tuned
    assert all(shared[key] == tuned[key] for key in shared if key[-1] == "kernel")  # it has no features


def test_scikit_learns_data_sets():
    sources = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast_cancer": datasets.load_breast_cancer,
               "digits": datasets.load_digits}  # fmt: skip
    for (name, x, classes), (source, load) in zip(data_sets(None, 170), sources.items(), strict=True):
        bunch = load()
        assert name == source
        assert classes.tolist() == bunch.target[:170].tolist()
        for column, stored in zip(x.numpy().T, bunch.data[:170].T, strict=True):
            deviation = np.sqrt(np.mean((stored - np.mean(stored)) ** 2))
            np.testing.assert_allclose(column * deviation, stored - np.mean(stored), atol=1e-9)
