"""The Virtual Covariance Shift, summed over training, tracks the weight Gram's diagonal better than the AGOP does.

The paper prints Pearson correlations of 0.98 and 0.71 with diag(W^T W) for a network with 46 % test accuracy.
"""

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, matches, positive
from tasks.judging.statistics import fisher

ID = "A.fig7"
KIND = "statistical"
TITLE = "Virtual Covariance Shift tracks the weight Gram better than the AGOP"
RHO_VCS, RHO_AGOP, LAST_DIGIT = 0.98, 0.71, 0.01
PRINTED = f"ρ ≈ {RHO_VCS:g} against {RHO_AGOP:g}, Figure 7"
QUANTITIES = (
    "pearson/vcs_gram_diagonal", "pearson/agop_gram_diagonal", "null/vcs_gram_diagonal", "pearson/vcs_gram_whole",
    "pearson/agop_gram_whole", "pearson/vcs_change_diagonal", "pearson/agop_change_diagonal",
    "pearson/vcs_change_whole", "pearson/agop_change_whole", "test_accuracy",
)  # fmt: skip
# quantity -> title, and the correlation and the printed number below it
IMAGES = {
    "diagonal/gram": ("weight Gram WᵀW", None),
    "diagonal/vcs": ("Virtual Covariance Shift", ("pearson/vcs_gram_diagonal", RHO_VCS)),
    "diagonal/agop": ("AGOP", ("pearson/agop_gram_diagonal", RHO_AGOP)),
    "diagonal/gram_change": ("change WᵀW − W₀ᵀW₀", None),
}


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z: above the AGOP's z, and above the 97.5 % quantile of random Gram matrices."""
    vcs, agop = (_by_seed(rows.where(quantity=f"pearson/{name}_gram_diagonal")) for name in ("vcs", "agop"))
    null = np.array([np.quantile(seed.value, 0.975)
                     for seed in rows.where(quantity="null/vcs_gram_diagonal").by("seed").values()])  # fmt: skip
    finding = all_of(
        above_agop=positive(np.arctanh(vcs) - np.arctanh(agop), "Fisher's z of VCS minus that of AGOP"),
        above_null=positive(
            np.arctanh(vcs) - np.arctanh(null), "Fisher's z of VCS minus that of the null's 97.5 % quantile"
        ),
    )
    for (quantity,), selected in rows.by("quantity").items():
        if quantity.startswith("pearson/"):
            left, right, part = quantity.removeprefix("pearson/").split("_")
            name = f"rho({left.upper()}, {'Gram' if right == 'gram' else 'change of the Gram'}), {part}"
            names = (name, f"{name}, low", f"{name}, high")
            finding.numbers.update(zip(names, fisher(selected.value), strict=True))
    accuracy = rows.where(quantity="test_accuracy")
    if len(accuracy):
        finding.numbers["test accuracy"] = float(accuracy.value[accuracy.step == accuracy.step.max()].mean())
    as_printed = matches(vcs, RHO_VCS, LAST_DIGIT) and matches(agop, RHO_AGOP, LAST_DIGIT)
    evidence = "matches print" if as_printed else finding.evidence
    return replace(finding, evidence=evidence, measured=f"ρ = {fisher(vcs)[0]:.3f} against {fisher(agop)[0]:.3f}")


def _by_seed(rows: Rows) -> np.ndarray:
    return rows.value[np.argsort(rows.seed)]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the diagonals of seed 0 and, under each, its correlation with W^T W over all seeds and the paper's."""
    rows = rows[rows["arm"] == "claim"]
    rows = rows[rows["step"] == rows["step"].max()]
    figure, grid = style.panels(claim, columns=len(IMAGES), height=2.9, width=7.6)
    for axes, (quantity, (title, correlation)) in zip(grid[0], IMAGES.items(), strict=True):
        diagonal = rows[(rows["quantity"] == quantity) & (rows["seed"] == 0)].sort_values("x")
        axes.imshow(_square(diagonal["value"].to_numpy()), cmap="viridis", interpolation="none")
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
        if correlation:
            name, printed = correlation
            by_seed = rows[rows["quantity"] == name].assign(x=0)
            mean, low, high = style.mean_and_band(by_seed, "x").loc[0, ["mean", "low", "high"]]
            seeds = by_seed["seed"].nunique()
            label = f"ρ with WᵀW\n{mean:.3f} [{low:.3f}, {high:.3f}]\n{seeds} seeds; paper: {printed:g}"
            axes.set_xlabel(label, fontsize=8)
    return figure


def _square(pixels: np.ndarray) -> np.ndarray:
    """The pixels as a square; the mean of three colour channels."""
    channels = 1 if math.isqrt(len(pixels)) ** 2 == len(pixels) else 3
    side = math.isqrt(len(pixels) // channels)
    return pixels.reshape(channels, side, side).mean(0)
