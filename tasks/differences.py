"""What the authors' code of paper A does otherwise than the paper's text, and what each difference changes."""

import math
from typing import Any

import numpy as np

from gramlab import tables
from tasks.judge import Rows, interval, t_quantile
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
RATIOS = ("surrogate", "test_loss")  # their effects are factors, those of the others differences
NAMES = {"surrogate": "surrogate", "target_linearity": "TL", "test_loss": "test loss", "test_accuracy": "test accuracy",
         "train_accuracy": "training accuracy"}  # fmt: skip


def measured(stage: Stage) -> list[dict[str, Any]]:
    """Rows of the report's table; none while the experiment has not run. Their staleness follows data/SCALE/made."""
    path = stage.table("a_differences")
    if not path.is_file():
        return []
    rows = Rows(tables.read(path))
    found = []
    for case, (text, code, where) in DIFFERENCES.items():
        for (quantity,), one in rows.where(case=case).by("quantity").items():
            values = {arm: _by_seed(one.where(arm=arm)) for arm in ("printed", "code")}
            if case == "rate":
                values["printed"] = _figure_4(stage, quantity)
            if all(len(value) > 1 for value in values.values()):
                about = {"text": text, "code": code, "where": where, "quantity": NAMES[quantity]}
                means = {arm: float(value.mean()) for arm, value in values.items()}
                if factor := quantity in RATIOS:
                    values = {arm: np.log(value) for arm, value in values.items()}
                effect = _effect(values["printed"], values["code"], paired=case != "rate")
                effect = tuple(math.exp(one) for one in effect) if factor else effect
                found.append({**about, "means": means, "effect": effect, "sign": "× " if factor else ""})
    return found


def _figure_4(stage: Stage, quantity: str) -> np.ndarray:
    """The last layer's value, or the network's, at the end of the run at the text's rate."""
    path = stage.table("a_fig4")
    if not path.is_file():
        return np.empty(0)
    rows = Rows(tables.read(path)).where(arm="claim", case="CIFAR-10", quantity=quantity)
    rows = rows.where(step=int(rows.step.max()))
    return _by_seed(rows.where(layer=max(rows.layer.tolist())))


def _by_seed(rows: Rows) -> np.ndarray:
    return rows.value[np.argsort(rows.seed)]


def _effect(printed: np.ndarray, code: np.ndarray, paired: bool) -> tuple[float, ...]:
    """Code less text with Student's 95 % interval: of each network's own difference, or of two sets of networks."""
    if paired:
        return interval(code - printed)
    spread = math.sqrt(sum(one.var(ddof=1) / len(one) for one in (printed, code)))
    half = t_quantile(0.975, min(len(printed), len(code)) - 1) * spread
    mean = float(code.mean() - printed.mean())
    return mean, mean - half, mean + half
