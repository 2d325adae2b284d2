"""The larger the probability p of a random training label, the lower the last layer's Target Linearity after training.

And the larger the generalisation gap, training accuracy minus test accuracy. Target Linearity is that of the training
set with the labels that the network was trained on. At the paper's scale its printed levels are tested beside, each for
being equal: a part of its own, which the claim's direction does not hang on.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, by_number, curves, equals, every, kendall, positive
from tasks.rules.a import beside

ID = "A.fig12"
KIND = "statistical"
TITLE = "Random labels lower Target Linearity and widen the generalisation gap"
PRINTED = "last-layer TL 0.45 (p = 0), 0.3 (p = 0.5), 0.25 (p ≥ 0.75), Figure 12"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")
LEVELS = {0.0: (0.45, 0.01), 0.5: (0.3, 0.1), 0.75: (0.25, 0.01), 1.0: (0.25, 0.01)}  # by p; and a last digit's unit


def rule(rows: Rows) -> Finding:
    """Per seed, after training: from p = 0 to the largest p, and Kendall's tau over all p."""
    linearity, train, test = (rows.where(quantity=name) for name in QUANTITIES)
    chances, T = by_number(linearity.where(layer=max(linearity.layer)))
    T = T[:, :, -1]
    gap = curves(train, "seed", "case")[:, :, -1] - curves(test, "seed", "case")[:, :, -1]
    found = every(
        linearity_falls=positive(T[:, 0] - T[:, -1], "Target Linearity at p = 0 minus at the largest p"),
        linearity_trend=positive(np.array([-kendall(one) for one in T]), "minus Kendall's tau of linearity and p"),
        gap_grows=positive(gap[:, -1] - gap[:, 0], "gap at the largest p minus at p = 0"),
        gap_trend=positive(np.array([kendall(one) for one in gap]), "Kendall's tau of gap and p"),
    )
    shown = [f"{name} " + " → ".join(f"{value:.2f}" for value in of.mean(0)) for name, of in (("TL", T), ("gap", gap))]
    found = replace(found, measured=", ".join(shown))
    if set(rows.scale.tolist()) != {"paper"}:
        return found
    return beside(found, {f"p = {p:g}": equals(T[:, at], *LEVELS[p]) for at, p in enumerate(chances) if p in LEVELS})
