"""A rule that predicts the winner of a cell from its optimizer, decay, stationarity and depth.

The rule is a decision tree of depth 3 (scikit-learn), fitted on some cells and tested on cells that it has not seen.
Its inputs were fixed before the first run of the atlas.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier

from tasks.atlas.judging.contest import half_of

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "muon", "whitened")
FEATURES = (*(f"optimizer is {name}" for name in OPTIMIZERS), "weight decay", "log10 stationarity", "layers")
UNKNOWN_STATIONARITY = 3.0  # log10 of a large distance: without weight decay no point is critical
DEPTH = 3


def features(cell: Mapping[str, Any]) -> list[float]:
    """The rule's inputs for a cell of the JSON."""
    stationarity = cell["facts"].get("stationarity")
    distance = math.log10(max(stationarity, 1e-6)) if stationarity is not None else UNKNOWN_STATIONARITY
    is_optimizer = [float(cell["optimizer"] == name) for name in OPTIMIZERS]
    return [*is_optimizer, float(cell["weight_decay"] > 0), distance, float(cell["facts"]["layers"])]


def predict(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Count how often the rule is right on unseen cells, and how often the most frequent winner of the other cells is.

    There are two ways to leave cells out: each half in turn, and each group (an architecture on a task) in turn. The
    label is the winner on the forward side for the change of the Gram matrix, "tie" and "nobody" included.

    Parameters
    ----------
    cells : mapping of str to cell
        As in `tasks.atlas.judging.verdicts`.

    Returns
    -------
    dict
        By way: "cells", "right", "most_frequent_right", and "p", the exact two-sided p-value of McNemar's test;
        "rule": the tree that is fitted on all cells, as `rule_of` prints it.
    """
    names = sorted(cells)
    labels = np.array([cells[name]["sides"]["forward"]["change"]["winner"] for name in names])
    if len(names) < 4 or len(set(labels.tolist())) < 2:
        return {}
    x = np.array([features(cells[name]) for name in names])
    groups = np.array([cells[name]["group"] for name in names])
    of_half = half_of(names)
    halves = np.array([of_half[name] for name in names])
    result: dict[str, Any] = {}
    for way, parts in (("halves", halves), ("groups", groups)):
        if len(set(parts.tolist())) < 2:
            continue
        right, baseline_right = np.zeros(len(names), bool), np.zeros(len(names), bool)
        for part in sorted(set(parts.tolist())):
            test, fit = parts == part, parts != part
            right[test] = _tree(x[fit], labels[fit]).predict(x[test]) == labels[test]
            baseline_right[test] = labels[test] == Counter(sorted(labels[fit].tolist())).most_common(1)[0][0]
        rule_alone, baseline_alone = int((right & ~baseline_right).sum()), int((baseline_right & ~right).sum())
        disagreements = rule_alone + baseline_alone
        result[way] = {"cells": len(names), "right": int(right.sum()), "most_frequent_right": int(baseline_right.sum()),
                       "p": float(binomtest(rule_alone, disagreements).pvalue) if disagreements else 1.0}  # fmt: skip
    return {**result, "rule": rule_of(_tree(x, labels), FEATURES)}


def rule_of(tree: DecisionTreeClassifier, names: Sequence[str]) -> str:
    """A tree in lines of text, without the splits whose two sides name the same winner.

    Examples
    --------
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["AGOP", "FACT"])
    >>> print(rule_of(tree, ["layers"]), end="")
    |--- layers <= 0.50
    |   |--- AGOP
    |--- layers >  0.50
    |   |--- FACT
    """
    nodes = tree.tree_

    def lines(node: int) -> list[str]:
        left, right = nodes.children_left[node], nodes.children_right[node]
        if left < 0:  # a leaf
            return [f"|--- {tree.classes_[nodes.value[node].argmax()]}"]
        sides = lines(left), lines(right)
        if sides[0] == sides[1]:
            return sides[0]
        split = f"|--- {names[nodes.feature[node]]}", f"{nodes.threshold[node]:.2f}"
        return [line for sign, side in zip(("<=", "> "), sides, strict=True)
                for line in (f"{split[0]} {sign} {split[1]}", *(f"|   {below}" for below in side))]  # fmt: skip

    return "".join(f"{line}\n" for line in lines(0))


def _tree(x: np.ndarray, labels: np.ndarray) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=2, random_state=0).fit(x, labels)
