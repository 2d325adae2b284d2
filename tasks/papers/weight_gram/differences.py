"""Differences between paper A's text and the authors' code, and the effect of each, for a table of the report.

The effects are measured on networks of Figure 4 (experiments/a_differences.py) or by another figure's experiment.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.statistics import interval, welch
from tasks.stage import Stage


@dataclass(frozen=True)
class Difference:
    """The text's way, the code's way, and the figures that they concern."""

    text: str
    code: str
    where: str


@dataclass(frozen=True)
class Comparison:
    """Values of a quantity, one per seed, as printed and as in the code."""

    difference: Difference
    quantity: str
    printed: np.ndarray
    code: np.ndarray
    paired: bool  # whether both come from the same networks

    def row(self) -> dict[str, Any]:
        """A row of the table. The effect is code minus text, or code over text, with Student's 95 % interval."""
        factor = self.quantity in FACTORS
        printed, code = (np.log(values) if factor else values for values in (self.printed, self.code))
        effect = interval(code - printed) if self.paired else welch(code, printed)
        return {
            "text": self.difference.text,
            "code": self.difference.code,
            "where": self.difference.where,
            "quantity": NAMES[self.quantity],
            "means": {"printed": float(self.printed.mean()), "code": float(self.code.mean())},
            "effect": tuple(math.exp(value) for value in effect) if factor else effect,
            "sign": "× " if factor else "",
        }


# by case of the experiment a_differences
ON_FIGURE_4 = {
    "rate": Difference("SGD 0.005", "SGD 0.0005, momentum 0.8", "Figure 4"),
    "labels": Difference("one-hot labels", "one-hot labels less their mean", "Figures 4, 9, 12–14"),
    "classes": Difference("surrogate: trace over the classes", "mean over the classes", "Figures 4, 9, 12"),
    "pca": Difference("surrogate and TL in all dimensions", "in 256 principal components where there are more than "
                      "1000 dimensions (no layer of Figure 4); here in a quarter of them", "convolutional networks"),
    "inverse": Difference("TL", "TL by the inverse of HᵀH in single precision, spread about each sample's own mean",
                          "all TL"),
    "test loss": Difference("test loss", "every batch added twice", "logs of the runs"),
    "test labels": Difference("random training labels, p = 0.25", "random test labels, too", "Figure 12"),
}  # fmt: skip
WHITENING = Difference("UVᵀ of W(W − γG)ᵀ", "ten Newton–Schulz steps from W(W − γG)ᵀ over its norm", "Figure 2")
MOMENTUM = Difference("SGD (no momentum is named)", "momentum 0.85", "Figure 2")
FASTER_MOMENTUM = Difference("SGD 0.005 (no momentum is named)", "momentum 0.95", "Figures 4 and 12")
# the difference, the experiment that measures both ways, and the arm and quantity of each way
IN_OTHER_FIGURES: tuple[tuple[Difference, str, tuple[str, str], tuple[str, str]], ...] = (
    (Difference("virtual update by the learning rate, of the mean loss", "of each sample's own loss (another reading)",
                "Figure 1"), "a_fig1",
     ("claim", "target_linearity"), ("claim", "target_linearity, each sample's own loss")),
    (Difference("virtual update by the learning rate", "by 700", "Figure 1"), "a_fig1",
     ("claim", "target_linearity"), ("claim", "target_linearity, at c = 700")),
    (Difference("virtual update by the learning rate, TL with an intercept", "by 700", "Figure 1"), "a_fig1",
     ("claim", "target_linearity, with intercept"), ("corrected", "target_linearity")),
    (replace(WHITENING, where="Figure 2, first step of the layer of 256 × 256 (drawn data)"), "a_whiten",
     ("claim", "whiten/step, whole"), ("claim", "whiten/step, ten steps")),
    (WHITENING, "a_fig2", ("claim", "gap"), ("claim", "gap, ten steps")),
    (MOMENTUM, "a_fig2", ("claim", "gap"), ("claim", "gap, momentum")),
    (WHITENING, "a_fig2", ("claim", "lead"), ("claim", "lead, ten steps")),
    (MOMENTUM, "a_fig2", ("claim", "lead"), ("claim", "lead, momentum")),
    (Difference("outputs as they are", "over the root of the width", "Figures 3 and 8"), "a_fig8",
     ("claim", "target/distance"), ("corrected", "target/distance")),
    (replace(FASTER_MOMENTUM, where="Figure 12"), "a_fig12",
     ("claim", "train_accuracy"), ("corrected", "train_accuracy")),
    (replace(FASTER_MOMENTUM, where="Figure 4, with the momentum of the code for Figure 12"), "a_fig4",
     ("claim", "train_accuracy"), ("corrected", "train_accuracy")),
    (Difference("TL of the inputs", "of the inputs less their mean", "Figure 10"), "a_fig10",
     ("claim", "target_linearity"), ("corrected", "target_linearity")),
)  # fmt: skip
ANOTHER_RATE = ("a_fig4", "digits")  # there the networks with momentum have a smaller rate than those without
FACTORS = ("surrogate", "test_loss")  # quantities whose effect is a factor, not a difference
NAMES = {
    "surrogate": "surrogate",
    "target_linearity": "TL",
    "test_loss": "test loss",
    "test_accuracy": "test accuracy",
    "train_accuracy": "training accuracy",
    "target/distance": "‖y − y_OLS‖/‖y‖",
    "whiten/step": "the Gram's error over its change",
    "gap": "test accuracy, whitened less original",
    "lead": "best test accuracy, whitened's in five epochs less original's",
}


def measured(stage: Stage) -> list[dict[str, Any]]:
    """Rows of the report's table, from the experiments that have run with at least two seeds."""
    comparisons = (*_on_figure_4(stage), *_in_other_figures(stage))
    return [comparison.row() for comparison in comparisons if min(len(comparison.printed), len(comparison.code)) > 1]


def _on_figure_4(stage: Stage) -> Iterator[Comparison]:
    """Comparisons on the networks of a_differences; its learning rate is compared with the networks of a_fig4."""
    rows = _table(stage, "a_differences")
    for case, difference in ON_FIGURE_4.items():
        for (quantity,), measurements in rows.where(case=case).by("quantity").items():
            printed, code = (measurements.by_seed(arm=arm) for arm in ("printed", "code"))
            if case == "rate":
                printed = _of_figure_4(stage, quantity)
            yield Comparison(difference, quantity, printed, code, paired=case != "rate")


def _in_other_figures(stage: Stage) -> Iterator[Comparison]:
    """Comparisons after training in other experiments; of a grid, at its smallest and largest value."""
    for difference, key, (printed_arm, printed_quantity), (code_arm, code_quantity) in IN_OTHER_FIGURES:
        rows = _table(stage, key)
        printed = rows.where(arm=printed_arm, quantity=printed_quantity)
        code = rows.where(arm=code_arm, quantity=code_quantity)
        for case in _extreme_cases(set(printed.case.tolist())):
            if (key, case) == ANOTHER_RATE:
                continue
            where = f"{difference.where}, {case}" if case else difference.where
            final = [_last_step(measurements.where(case=case)).by_seed() for measurements in (printed, code)]
            quantity = printed_quantity.partition(",")[0]
            yield Comparison(replace(difference, where=where), quantity, final[0], final[1], paired=True)


def _extreme_cases(cases: set[str]) -> Iterator[str]:
    """The cases "axis=number" with the smallest and the largest number of each axis, and all cases without an axis."""
    yield from sorted(case for case in cases if "=" not in case)
    parts = sorted(case.rpartition("=") for case in cases if "=" in case)
    for _, group in groupby(parts, lambda part: part[0]):
        ordered = sorted(group, key=lambda part: float(part[2]))
        yield from dict.fromkeys("".join(part) for part in (ordered[0], ordered[-1]))


def _table(stage: Stage, key: str) -> Rows:
    path = stage.table(key)
    return Rows(tables.read(path) if path.is_file() else tables.table([]))


def _of_figure_4(stage: Stage, quantity: str) -> np.ndarray:
    """Values by seed after training in a_fig4, in the last layer where the quantity has layers."""
    rows = _last_step(_table(stage, "a_fig4").where(arm="claim", case={"CIFAR-10", "digits"}, quantity=quantity))
    return rows.by_seed(layer=max(rows.layer.tolist(), default=""))


def _last_step(rows: Rows) -> Rows:
    return rows.where(step=int(rows.step.max())) if len(rows) else rows
