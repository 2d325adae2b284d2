"""The AGOP of a network that approximates its target resembles the target's EGOP, and so does the NFM WᵀW.

The EGOP is the expected gradient outer product of the target, the chain monomial y = x₁x₂ + x₂x₃ + x₃x₄ + x₄x₅ + x₅x₁.
For inputs N(0, I) it is A², with A the adjacency matrix of the cycle of the five coordinates. “Resembles” is read as:
the correlation ρ, a cosine, is above its null, the mean for independent eigenvectors. A network approximates the target
if its R² on new samples is above 1/2.

The paper says that the EGOP of a chain of r coordinates has rank r. We compute the rank for r from 1 to 12. It is r − 2
if 4 divides r, and r otherwise, as for the paper's r = 5. The control is the open chain, without the product of the
last and the first coordinate.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import curves, fisher

ID = "B.egop"
KIND = "statistical"
TITLE = "The AGOP of a network that approximates its target resembles the target's EGOP"
PRINTED = "the AGOP “will approximate” and “resembles” the EGOP, which “will be rank r”, Section 2.1 and Figure 1"
MATH = (
    r"\bar G \to \mathbb{E}_x\left[ \nabla f^\star(x)\, \nabla f^\star(x)^\top \right] = A^2 \quad\text{as "
    r"} f \to f^\star, \qquad \operatorname{rank} A^2 = r"
)
MATH_CORRECTED = r"\operatorname{rank} A^2 = r - 2 \;\text{ if } 4 \mid r, \quad r \;\text{ otherwise}"
CORRECTS = "a formula"
CORRECTION = (
    "The EGOP of a chain of r coordinates is A², with A the adjacency matrix of their cycle. A has the eigenvalues "
    "2 cos(2πj/r) for j from 0 to r − 1. If 4 divides r, two of them are 0, for j = r/4 and j = 3r/4, so the "
    "rank is r − 2. For r = 4 the target is (x₁ + x₃)(x₂ + x₄), which depends on two directions. The paper's networks "
    "have r = 5, and there the rank is 5. The other statements are judged as printed."
)
OF_NETWORKS = (
    "egop/agop", "egop/gram", "null/egop_agop", "null/egop_gram", "egop/agop, another target", "r2/train", "r2/test",
)  # fmt: skip
NEAR = 0.5  # the R² on new samples above which a network approximates the target: nearer to 1 than to 0
PANELS = {
    "cosine with the EGOP": {
        "egop/agop": "AGOP",
        "egop/gram": "NFM",
        "null/egop_agop": "AGOP, independent eigenvectors",
    },
    "R²": {"r2/train": "training samples", "r2/test": "new samples"},
}
COLORS = {
    "egop/agop": style.COLORS["AGOP"],
    "egop/gram": style.COLORS["weight Gram"],
    "null/egop_agop": style.GUIDE,
    "r2/train": style.COLORS["training accuracy"],
    "r2/test": style.COLORS["test accuracy"],
}


def has_the_rank(rows: Rows) -> Finding:
    """On every chain the rank of the EGOP is that of the formula: ``value`` is their difference."""
    wrong_chains = ", ".join(f"{r:g}" for r in np.unique(rows.x[rows.value != 0]))
    largest = float(np.abs(rows.value).max())
    rule = "difference between the rank of the EGOP and the formula: at most 0 on every instance"
    measured = (
        f"the rank of the EGOP differs from the formula by {largest:g} at r = {wrong_chains}"
        if wrong_chains
        else f"the rank of the EGOP is that of the formula for every r from {rows.x.min():g} to {rows.x.max():g}"
    )
    return Finding(not wrong_chains, largest, rule, "exact", measured=measured)


def agop_resembles(rows: Rows) -> Finding:
    """The AGOP's cosine with the EGOP is above its mean for independent eigenvectors, after training."""
    agop, null = (curves(rows.where(quantity=name), "seed") for name in ("egop/agop", "null/egop_agop"))
    finding = positive(agop[:, -1] - null[:, -1], "the cosine of AGOP and EGOP minus its null")
    return replace(finding, measured=_before_and_after("AGOP", agop))


def nfm_resembles(rows: Rows) -> Finding:
    """The NFM's cosine with the EGOP is above its mean for independent eigenvectors, after training."""
    nfm, null = (curves(rows.where(quantity=name), "seed") for name in ("egop/gram", "null/egop_gram"))
    finding = positive(nfm[:, -1] - null[:, -1], "the cosine of NFM and EGOP minus its null")
    return replace(finding, measured=_before_and_after("NFM", nfm))


def _before_and_after(matrix: str, cosines: np.ndarray) -> str:
    """The mean cosine of a matrix with the EGOP, (seeds, steps), at the first and at the last step."""
    before, after = np.mean(cosines[:, 0]), fisher(cosines[:, -1])[0]
    return f"the cosine of {matrix} and EGOP is {before:.3f} before training and {after:.3f} after it"


def nearer_to_1(rows: Rows) -> Finding:
    """The AGOP's cosine with the EGOP is nearer to 1 than to its mean for independent eigenvectors."""
    agop, null = (curves(rows.where(quantity=name), "seed")[:, -1] for name in ("egop/agop", "null/egop_agop"))
    label = "the normalized cosine of AGOP and EGOP, (ρ − null)/(1 − null), minus 1/2"
    return positive((agop - null) / (1 - null) - 0.5, label)


def this_target(rows: Rows) -> Finding:
    """The AGOP's cosine with the EGOP is above that with the EGOP of a chain of one coordinate less or more."""
    cosine, other = (
        curves(rows.where(quantity=name), "seed")[:, -1] for name in ("egop/agop", "egop/agop, another target")
    )
    label = "the AGOP's cosine with the EGOP minus the larger one with the EGOPs of a shorter and a longer chain"
    return positive(cosine - other, label)


def approximates(rows: Rows) -> Finding:
    """R² on new samples exceeds 1/2; R² on the training samples is reported beside it."""
    train, test = (curves(rows.where(quantity=name), "seed")[:, -1] for name in ("r2/train", "r2/test"))
    finding = positive(test - NEAR, f"R² on new samples minus {NEAR}")
    numbers = {"R² on new samples": float(test.mean()), "R² on the training samples": float(train.mean())}
    measured = f"R² is {test.mean():.2f} on new samples and {train.mean():.3f} on the training samples"
    return replace(finding, numbers=numbers, measured=measured)


HYPOTHESES = (
    Hypothesis(
        name="the network approximates the target",
        text="Section 2.1 speaks of networks that well-approximate the target. "
        f"The rule asks for R² above {NEAR} on new samples.",
        rule=approximates,
        reads=("r2/train", "r2/test"),
        statements=(
            "AGOP resembles EGOP",
            "NFM resembles EGOP",
            "nearer to 1 than to chance",
            "this target and no other",
        ),  # the rank is that of the target, and needs no network
    ),
)
CONTROLS = {
    "untrained": Control(
        text="At each epoch a network with newly drawn initial weights takes the place of the trained one.",
        has=OF_NETWORKS,
    ),
    "open chain": Control(
        text="The target is the open chain, without the product of the last and the first coordinate.",
        has=("rank/egop",),
    ),
    "open chain, corrected": Control(
        text="The target is the open chain, without the product of the last and the first coordinate.",
        has=("rank/egop",),
    ),
}
STATEMENTS = (
    Statement(
        name="rank of the EGOP",
        quote="In this case, EGOP(y, μ) will be rank r, where r is much less than the ambient dimension (Figure 1).",
        place="Section 2.1",
        rule=has_the_rank,
        reads=("rank/egop",),
        printed="rank r",
        derived="rank r, or r − 2 if 4 divides r",
        rows=60,
    ),
    Statement(
        name="AGOP resembles EGOP",
        quote="Similarly, the AGOP of the trained model resembles the EGOP.",
        place="Section 2.1",
        rule=agop_resembles,
        reads=("egop/agop", "null/egop_agop"),
        printed="“resembles”",
        rows=50,
        forms=("claim",),
    ),
    Statement(
        name="NFM resembles EGOP",
        quote="In this case the NFA implies that the NFM also resembles the EGOP.",
        place="Section 2.1",
        rule=nfm_resembles,
        reads=("egop/gram", "null/egop_gram"),
        printed="“resembles”",
        rows=50,
        forms=("claim",),
    ),
    Statement(
        name="nearer to 1 than to chance",
        quote="will approximate the",
        place="Section 2.1",
        rule=nearer_to_1,
        reads=("egop/agop", "null/egop_agop"),
        kind="ours",
        rows=50,
        forms=("claim",),
    ),
    Statement(
        name="this target and no other",
        quote="task-specific structure",
        place="Section 2.1",
        rule=this_target,
        reads=("egop/agop", "egop/agop, another target"),
        kind="ours",
        rows=50,
        forms=("claim",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw each quantity of the trained networks against the step, and two of the untrained ones as dotted lines."""
    figure, grid = style.panels(claim, columns=2, height=3.8)
    for axes, (label, quantities) in zip(grid[0], PANELS.items(), strict=True):
        for quantity, name in quantities.items():
            values = rows[rows["quantity"] == quantity]
            style.seeds(axes, values[values["arm"] == "claim"], "step", COLORS[quantity], label=name)
            if quantity in ("egop/agop", "r2/test"):
                for arm in style.controls(values):
                    style.seeds(axes, values[values["arm"] == arm], "step", style.CONTROL, linestyle=":",
                                label=f"{name}, {arm}")  # fmt: skip
        axes.set(xlabel="step", ylabel=label)
    grid[0, 0].set_ylim(0, 1)
    grid[0, 1].axhline(
        NEAR, color=style.PRINTED, linestyle="--", linewidth=0.8, label=f"{NEAR:g}, least on new samples"
    )
    for axes in grid[0]:
        style.label_lines(axes, width=18)
    style.note(figure, style.meaning_of_lines(rows))
    return figure
