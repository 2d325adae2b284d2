"""The summed Virtual Covariance Shift tracks the weight Gram's diagonal more closely than the AGOP does.

The paper prints Pearson correlations of 0.98 and 0.71 with diag(W^T W) for a network with 46 % test accuracy.
"""

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, fisher, matches, positive

ID = "A.fig7"
KIND = "statistical"
TITLE = "Virtual Covariance Shift tracks the weight Gram, better than the AGOP"
PRINTED = "ρ ≈ 0.98 against 0.71, Figure 7"
QUANTITIES = ("pearson/vcs_gram_diagonal", "pearson/agop_gram_diagonal", "null/vcs_gram_diagonal",
              "pearson/vcs_gram_whole", "pearson/agop_gram_whole", "pearson/vcs_change_diagonal",
              "pearson/agop_change_diagonal", "pearson/vcs_change_whole", "pearson/agop_change_whole",
              "test_accuracy")  # fmt: skip


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z: above the AGOP's, and above the 97.5 % quantile of Grams of the same spectrum."""
    vcs, agop = (_by_seed(rows.where(quantity=name)) for name in QUANTITIES[:2])
    null = np.array([np.quantile(one.value, 0.975) for one in rows.where(quantity=QUANTITIES[2]).by("seed").values()])
    found = every(
        above_agop=positive(np.arctanh(vcs) - np.arctanh(agop), "z of VCS minus z of AGOP"),
        above_null=positive(np.arctanh(vcs) - np.arctanh(null), "z of VCS minus z of the null's 97.5 % quantile"),
    )
    for (quantity,), one in rows.by("quantity").items():
        if quantity.startswith("pearson/"):
            left, right, part = quantity.removeprefix("pearson/").split("_")
            name = f"rho({left.upper()}, {'Gram' if right == 'gram' else 'change of the Gram'}), {part}"
            found.numbers.update(zip((name, f"{name}, low", f"{name}, high"), fisher(one.value), strict=True))
    accuracy = rows.where(quantity="test_accuracy")
    if len(accuracy):
        found.numbers["test accuracy"] = float(accuracy.value[accuracy.step == accuracy.step.max()].mean())
    evidence = "matches print" if matches(vcs, 0.98, 0.01) and matches(agop, 0.71, 0.01) else found.evidence
    return replace(found, evidence=evidence, measured=f"ρ = {fisher(vcs)[0]:.3f} against {fisher(agop)[0]:.3f}")


def _by_seed(rows: Rows) -> np.ndarray:
    return rows.value[np.argsort(rows.seed)]


# quantity -> title, the correlation beside it, and what the paper prints for it
IMAGES = {
    "diagonal/gram": ("weight Gram WᵀW", None, None),
    "diagonal/vcs": ("Virtual Covariance Shift", "pearson/vcs_gram_diagonal", 0.98),
    "diagonal/agop": ("AGOP", "pearson/agop_gram_diagonal", 0.71),
    "diagonal/gram_change": ("change WᵀW − W₀ᵀW₀", None, None),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the diagonals of seed 0 and, under each, its correlation with W^T W over all seeds and the paper's."""
    rows = rows[rows["arm"] == "claim"]
    rows = rows[rows["step"] == rows["step"].max()]
    figure, grid = style.panels(claim, columns=len(IMAGES), height=2.9, width=7.6)
    for axes, (quantity, (title, correlation, printed)) in zip(grid[0], IMAGES.items(), strict=True):
        one = rows[(rows["quantity"] == quantity) & (rows["seed"] == 0)].sort_values("x")
        axes.imshow(_square(one["value"].to_numpy()), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            found = rows[rows["quantity"] == correlation].assign(x=0)
            mean, low, high = style.mean_and_band(found, "x").loc[0, ["mean", "low", "high"]]
            n = found["seed"].nunique()
            about = f"ρ with WᵀW\n{mean:.3f} [{low:.3f}, {high:.3f}]\n{n} seeds; paper: {printed}"
            axes.set_xlabel(about, fontsize=8)
    return figure


def _square(values: np.ndarray) -> np.ndarray:
    """The pixels as a square; of three colour channels the mean."""
    channels = 1 if math.isqrt(len(values)) ** 2 == len(values) else 3
    side = math.isqrt(len(values) // channels)
    return values.reshape(channels, side, side).mean(0)
