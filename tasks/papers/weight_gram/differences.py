"""What the authors' code of paper A does otherwise than the paper's text, and what each difference changes.

Measured on networks of Figure 4 (tasks/experiments/a_differences.py), or by the experiment of the figure concerned.
"""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from gramlab import tables
from tasks.judging.rules import Rows, interval, welch
from tasks.stage import Stage

# case of tasks/experiments/a_differences.py -> the text, the code, where
DIFFERENCES = {
    "rate": ("SGD 0.005", "SGD 0.0005, momentum 0.8", "Figure 4"),
    "labels": ("one-hot labels", "one-hot labels less their mean", "Figures 4, 9, 12–14"),
    "classes": ("surrogate: trace over the classes", "mean over the classes", "Figures 4, 9, 12"),
    "pca": ("surrogate and TL of all dimensions", "of 256 principal ones where there are more than 1000: none of "
            "Figure 4's layers; here of a quarter", "convolutional networks"),
    "inverse": ("TL", "TL by the inverse of HᵀH in single precision, spread about each sample's own mean", "all TL"),
    "test loss": ("test loss", "every batch added twice", "logs of the runs"),
    "test labels": ("random training labels, p = 0.25", "random test labels, too", "Figure 12"),
}  # fmt: skip
WHITENING = ("UVᵀ of W(W − γG)ᵀ", "ten Newton–Schulz steps from W(W − γG)ᵀ over its norm")
# the text, the code, where, and the experiment whose table has both ways, with the rows of each
ELSEWHERE = (
    ("virtual update by 0.05", "by 700", "Figure 1", "a_fig1",
     {"printed": ("claim", "target_linearity"), "code": ("claim", "target_linearity, at c = 700")}),
    ("virtual update by 0.05, TL with an intercept", "by 700", "Figure 1", "a_fig1",
     {"printed": ("claim", "target_linearity, with intercept"), "code": ("corrected", "target_linearity")}),
    (*WHITENING, "Figure 2, first step of the layer of 256 × 256 (drawn data)", "a_whiten",
     {"printed": ("claim", "whiten/step, whole"), "code": ("claim", "whiten/step, ten steps")}),
    *(
        (*about, "Figure 2", "a_fig2", {"printed": ("claim", quantity), "code": ("claim", f"{quantity}, {way}")})
        for quantity in ("gap", "lead")
        for way, about in (("ten steps", WHITENING), ("momentum", ("SGD (no momentum is named)", "momentum 0.85")))
    ),
    ("outputs as they are", "over the root of the width", "Figures 3 and 8", "a_fig8",
     {"printed": ("claim", "target/distance"), "code": ("corrected", "target/distance")}),
    ("TL of the inputs", "of the inputs less their mean", "Figure 10", "a_fig10",
     {"printed": ("claim", "target_linearity"), "code": ("corrected", "target_linearity")}),
)  # fmt: skip
RATIOS = ("surrogate", "test_loss")  # their effects are factors, those of the others differences
NAMES = {"surrogate": "surrogate", "target_linearity": "TL", "test_loss": "test loss", "test_accuracy": "test accuracy",
         "train_accuracy": "training accuracy", "target/distance": "‖y − y_OLS‖/‖y‖",
         "whiten/step": "the Gram's error over its change", "gap": "test accuracy, whitened less original",
         "lead": "best test accuracy, whitened's of five epochs less original's"}  # fmt: skip


def measured(stage: Stage) -> list[dict[str, Any]]:
    """Rows of the report's table, of the experiments that have run. Their staleness follows data/SCALE/made."""
    found = []
    for about, quantity, values, paired in (*_on_figure_4(stage), *_elsewhere(stage)):
        if all(len(value) > 1 for value in values.values()):
            means = {arm: float(value.mean()) for arm, value in values.items()}
            if factor := quantity in RATIOS:
                values = {arm: np.log(value) for arm, value in values.items()}
            effect = _effect(values["printed"], values["code"], paired)
            effect = tuple(math.exp(one) for one in effect) if factor else effect
            found.append({**dict(zip(("text", "code", "where"), about, strict=True)), "quantity": NAMES[quantity],
                          "means": means, "effect": effect, "sign": "× " if factor else ""})  # fmt: skip
    return found


def _on_figure_4(stage: Stage) -> Iterator[tuple[tuple[str, str, str], str, dict[str, np.ndarray], bool]]:
    """What differs and where, a quantity, its values by seed in both ways, and whether of the same networks."""
    rows = _table(stage, "a_differences")
    for case, about in DIFFERENCES.items():
        for (quantity,), one in rows.where(case=case).by("quantity").items():
            values = {arm: _by_seed(one.where(arm=arm)) for arm in ("printed", "code")}
            if case == "rate":
                values["printed"] = _figure_4(stage, quantity)
            yield about, quantity, values, case != "rate"


def _elsewhere(stage: Stage) -> Iterator[tuple[tuple[str, str, str], str, dict[str, np.ndarray], bool]]:
    """The same of other experiments, after training, at both ends of a grid where there is one."""
    for text, code, where, key, ways in ELSEWHERE:
        rows = _table(stage, key)
        both = {way: rows.where(arm=arm, quantity=quantity) for way, (arm, quantity) in ways.items()}
        for case in _extremes(set(both["printed"].case.tolist())):
            values = {way: _by_seed(_last(one.where(case=case))) for way, one in both.items()}
            quantity = ways["printed"][1].partition(",")[0]
            yield (text, code, f"{where}, {case}" if case else where), quantity, values, True


def _extremes(cases: set[str]) -> Iterator[str]:
    """Of the cases "axis=number" those of each axis's least and largest number; "" where there is no grid."""
    parts = sorted(case.rpartition("=") for case in cases)
    for _, group in groupby(parts, lambda part: part[0]):
        ordered = sorted(group, key=lambda part: float(part[2] or 0))
        yield from dict.fromkeys("".join(part) for part in (ordered[0], ordered[-1]))


def _table(stage: Stage, key: str) -> Rows:
    path = stage.table(key)
    return Rows(tables.read(path) if path.is_file() else tables.table([]))


def _figure_4(stage: Stage, quantity: str) -> np.ndarray:
    """The last layer's value, or the network's, at the end of the run at the text's rate."""
    rows = _table(stage, "a_fig4").where(arm="claim", case="CIFAR-10", quantity=quantity)
    rows = _last(rows)
    return _by_seed(rows.where(layer=max(rows.layer.tolist(), default="")))


def _last(rows: Rows) -> Rows:
    return rows.where(step=int(rows.step.max())) if len(rows) else rows


def _by_seed(rows: Rows) -> np.ndarray:
    return rows.value[np.argsort(rows.seed)]


def _effect(printed: np.ndarray, code: np.ndarray, paired: bool) -> tuple[float, ...]:
    """Code less text with Student's 95 % interval: of each network's own difference, or of two sets of networks."""
    return interval(code - printed) if paired else welch(code, printed)
