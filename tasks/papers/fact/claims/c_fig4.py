"""At the minimiser on D(p, tau) with p = 1e-5, tau = 0.02, lambda = 1e-5 FACT is near W^T W and AGOP far from it.

Width 10; the paper prints cosines after 10^6 Adam steps at 0.01. Here Adam's end is taken to the minimiser by Newton's
method; the seeds that end in a higher local minimum are left out. FACT's cosine must also exceed its null, that with
matrices of W^T W's spectrum in random directions.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "C.fig4"
KIND = "statistical"
TITLE = "FACT holds and AGOP does not, on D(10⁻⁵, 0.02)"
PRINTED = "cosine with WᵀW: FACT 0.994, AGOP < 0.068, Figure 4"
CORRECTION = (
    "λ = 10⁻⁷ instead of 10⁻⁵. Where λ = p as printed, regularisation outweighs the uniform part of the data: the "
    "minimiser has one neuron, and AGOP and WᵀW agree. With λ far below p, as the theorem has it, AGOP's cosine is "
    "0.082: nearly uncorrelated, though not below 0.068."
)
QUANTITIES = ("fig4/minimiser/fact", "fig4/minimiser/agop", "fig4/adam/fact", "fig4/adam/agop", "fig4/null/fact",
              "fig4/excess", "fig4/distance")  # fmt: skip

FACT, AGOP = 0.9935, 0.0685  # the least and the largest cosine that round to the print


def rule(rows: Rows) -> Finding:
    """By seeds, at the minimiser: FACT's cosine above 0.9935 and its null, AGOP's below 0.0685."""
    excess = rows.where(quantity="fig4/excess")
    least = set(excess.seed[excess.value < 1e-6].tolist())
    at = rows.where(seed=least)
    fact, agop, null = (at.where(quantity=f"fig4/{name}").value
                        for name in ("minimiser/fact", "minimiser/agop", "null/fact"))  # fmt: skip
    found = every(
        agop=positive(AGOP - agop, f"{AGOP:g} - AGOP's cosine"),
        fact=positive(fact - FACT, f"FACT's cosine - {FACT:g}"),
        null=positive(fact - null, "FACT's cosine minus its null's 97.5 % quantile"),
    )
    numbers = {
        **found.numbers,
        "seeds at the minimiser": float(len(least)),
        "relative distance to it, at most": float(at.where(quantity="fig4/distance").value.max()),
    }
    for name in ("fact", "agop"):
        ends = rows.where(quantity=f"fig4/adam/{name}").value
        numbers |= {f"after Adam, {name}, median": float(np.median(ends)), f"after Adam, {name}, least": ends.min()}
    return replace(found, numbers=numbers, measured=f"FACT {fact.mean():.3f}, AGOP {agop.mean():.3f}")


LEVELS = {"fact": "0.994", "agop": "< 0.068"}
TITLES = {"gram": "WᵀW", "fact": "FACT", "agop": "AGOP"}
ROWS = {
    "claim": "λ = 10⁻⁵ = p, as printed",
    "corrected": "λ = 10⁻⁷",
    "control: p and tau near 1": "control: p = τ = 0.9",
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the matrices of the lowest seed of each arm, each scaled by its largest entry, with the cosines."""
    arms = [arm for arm in ROWS if arm in set(rows["arm"])] or style.controls(rows)
    figure, grid = style.panels(claim, columns=3, rows=len(arms), height=0.6 + 1.75 * len(arms), width=6.4)
    for arm, line in zip(arms, grid, strict=True):
        found = rows[rows["arm"] == arm]
        for axes, (name, title) in zip(line, TITLES.items(), strict=True):
            entries = found[found["quantity"] == f"fig4/matrix/{name}"].drop_duplicates("x").sort_values("x")["value"]
            matrix = entries.to_numpy().reshape(4, -1)
            largest = np.abs(matrix).max()
            axes.imshow(matrix / largest, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="none")
            axes.set(xticks=range(4), yticks=range(4), xticklabels=["x₁", "x₂", "x₃", "x₄"],
                     yticklabels=["x₁", "x₂", "x₃", "x₄"])  # fmt: skip
            axes.set_title(f"{title}, largest entry {largest:.2g}", fontsize=8)
            if name in LEVELS:
                cosines = found[found["quantity"] == f"fig4/minimiser/{name}"]["value"]
                axes.set_xlabel(f"cosine {cosines.median():.3f}; paper: {LEVELS[name]}", fontsize=8)
        line[0].set_ylabel(ROWS.get(arm, arm), fontsize=8)
    return figure
