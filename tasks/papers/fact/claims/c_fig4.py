"""At the minimiser on D(p, tau) with p = 1e-5, tau = 0.02, lambda = 1e-5, FACT is near W^T W and AGOP far from it.

Width 10. The paper prints cosines after 10^6 Adam steps at rate 0.01; here Newton's method continues from Adam's last
step to the minimiser. Seeds that end in a higher local minimum are left out. FACT's cosine must also exceed its null,
the cosine with matrices of W^T W's spectrum in random directions.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "C.fig4"
KIND = "statistical"
TITLE = "FACT holds and AGOP does not, on D(10⁻⁵, 0.02)"
FACT, AGOP, DIGIT = 0.994, 0.068, 0.001  # printed: FACT's cosine, the bound on AGOP's, the unit of their last digit
PRINTED = f"cosine with WᵀW: FACT {FACT}, AGOP < {AGOP}, Figure 4"
CORRECTION = (
    "λ = 10⁻⁷ instead of 10⁻⁵. Where λ = p, as printed, regularisation outweighs the uniform part of the data: the "
    "minimiser has one neuron, and AGOP and WᵀW agree. Where λ is far below p, as in the theorem, AGOP's cosine is "
    f"0.082: nearly uncorrelated, though not below {AGOP}."
)
QUANTITIES = ("fig4/minimiser/fact", "fig4/minimiser/agop", "fig4/adam/fact", "fig4/adam/agop", "fig4/null/fact",
              "fig4/excess", "fig4/distance")  # fmt: skip
SETTINGS = ("steps",)
EXCESS = 1e-6  # relative loss above the best seed's from which a seed counts as another local minimum
LEAST_FACT, LARGEST_AGOP = FACT - DIGIT / 2, AGOP + DIGIT / 2  # what still rounds to the printed numbers

LEVELS = {"fact": f"{FACT}", "agop": f"< {AGOP}"}
TITLES = {"gram": "WᵀW", "fact": "FACT", "agop": "AGOP"}
ARMS = {
    "claim": "λ = 10⁻⁵ = p, as printed",
    "corrected": "λ = 10⁻⁷",
    "control: p and tau near 1": "control: p = τ = 0.9",
}
COORDINATES = ["x₁", "x₂", "x₃", "x₄"]


def rule(rows: Rows) -> Finding:
    """By seed, at the minimiser: FACT's cosine reaches the print and exceeds its null; AGOP's is below its bound."""
    excess = rows.where(quantity="fig4/excess")
    seeds = set(excess.seed[excess.value < EXCESS].tolist())
    minimisers = rows.where(seed=seeds)
    fact, agop, null = (minimisers.where(quantity=f"fig4/{name}").value
                        for name in ("minimiser/fact", "minimiser/agop", "null/fact"))  # fmt: skip
    finding = all_of(
        agop=positive(LARGEST_AGOP - agop, f"{LARGEST_AGOP:g} minus AGOP's cosine"),
        fact=positive(fact - LEAST_FACT, f"FACT's cosine minus {LEAST_FACT:g}"),
        null=positive(fact - null, "FACT's cosine minus its null's 97.5 % quantile"),
    )
    numbers = {
        **finding.numbers,
        "seeds at the minimiser": float(len(seeds)),
        "relative distance to it, at most": float(minimisers.where(quantity="fig4/distance").value.max()),
    }
    for name in ("fact", "agop"):
        cosines = rows.where(quantity=f"fig4/adam/{name}").value
        numbers[f"after Adam, {name}, median"] = float(np.median(cosines))
        numbers[f"after Adam, {name}, least"] = cosines.min()
    return replace(finding, numbers=numbers, measured=f"FACT {fact.mean():.3f}, AGOP {agop.mean():.3f}")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the matrices of the lowest seed of each arm, each scaled by its largest entry, with the cosines."""
    arms = [arm for arm in ARMS if arm in set(rows["arm"])] or style.controls(rows)
    figure, grid = style.panels(claim, columns=3, rows=len(arms), height=0.6 + 1.75 * len(arms), width=6.4)
    for arm, row in zip(arms, grid, strict=True):
        arm_rows = rows[rows["arm"] == arm]
        for axes, (name, title) in zip(row, TITLES.items(), strict=True):
            entries = arm_rows[arm_rows["quantity"] == f"fig4/matrix/{name}"].drop_duplicates("x").sort_values("x")
            matrix = entries["value"].to_numpy().reshape(4, -1)
            largest = np.abs(matrix).max()
            axes.imshow(matrix / largest, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="none")
            axes.set(xticks=range(4), yticks=range(4), xticklabels=COORDINATES, yticklabels=COORDINATES)
            axes.set_title(f"{title}, largest entry {largest:.2g}", fontsize=8)
            if name in LEVELS:
                cosines = arm_rows[arm_rows["quantity"] == f"fig4/minimiser/{name}"]["value"]
                axes.set_xlabel(f"cosine {cosines.median():.3f}; paper: {LEVELS[name]}", fontsize=8)
        row[0].set_ylabel(ARMS.get(arm, arm), fontsize=8)
    return figure
