"""At the minimiser on D(p, tau), p = lambda = 10^-5 and tau = 0.02, FACT is near W^T W and AGOP is far from it.

D(p, tau) are the data of Theorem 3.4, and lambda is the weight decay. The network has width 10. The paper prints
cosines after 10^6 Adam steps at rate 0.01. Here Newton's method continues from Adam's last step to a minimum of the
loss. FACT is judged at every local minimum that a seed reaches, AGOP at the lowest minimum alone. “Far” means a cosine
below 0.5. Two printed levels are judged apart: AGOP's cosine below 0.068, and both cosines after Adam alone.
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

ID = "C.fig4"
KIND = "statistical"
TITLE = "FACT is near WᵀW and AGOP is not, on D(10⁻⁵, 0.02)"
FACT, AGOP, DIGIT = 0.994, 0.068, 0.001  # printed: FACT's cosine, the bound on AGOP's, the unit of their last digit
DERIVED_AGOP = 0.082  # AGOP's cosine at the minimum where lambda is far below p
PRINTED = f"cosine with WᵀW: FACT {FACT}, AGOP < {AGOP}, Figure 4"
MATH = (
    (
        rf"\cos\left( \text{{FACT}},\; W^\top W \right) = {FACT}, \quad \cos\left( \text{{AGOP}},\; W^\top W "
        rf"\right) < {AGOP}"
    ),
    r"p = \lambda = 10^{-5}, \quad \tau = 0.02",
)
MATH_CORRECTED = (
    (
        rf"\cos\left( \text{{FACT}},\; W^\top W \right) \ge {FACT}, \quad \cos\left( \text{{AGOP}},\; W^\top W "
        rf"\right) = {DERIVED_AGOP}"
    ),
    r"p = 10^{-5}, \quad \lambda = 10^{-7}, \quad \tau = 0.02",
)
CORRECTS = "a setting"
CORRECTION = (
    "λ is 10⁻⁷ instead of 10⁻⁵. If λ = p, as printed, regularisation outweighs the uniform samples of the data: the "
    "minimiser has one neuron, and AGOP and WᵀW agree. If λ is far below p, as in Theorem 3.4, AGOP's cosine is "
    f"{DERIVED_AGOP}. So the two are nearly uncorrelated, though the cosine is not below {AGOP}. The paper's network "
    f"may not have reached the minimum: at a minimum FACT's cosine is 1, and the paper prints {FACT}. The statement "
    "“after Adam alone” has the cosines where Adam ends, at both λ."
)
SETTINGS = ("steps",)
EXCESS = 1e-6  # relative loss above the best seed's from which a seed counts as another local minimum
LEAST_FACT, LARGEST_AGOP = FACT - DIGIT / 2, AGOP + DIGIT / 2  # what still rounds to the printed numbers
NEAR = 1e-8  # largest relative distance from a minimum
UNCORRELATED = 0.5  # a cosine below it is nearer to 0 than to 1

LEVELS = {"fact": f"{FACT}", "agop": f"< {AGOP}"}
TITLES = {"gram": "WᵀW", "fact": "FACT", "agop": "AGOP"}
ARMS = {
    "claim": "λ = 10⁻⁵ = p, as printed",
    "corrected": "corrected: λ = 10⁻⁷",
    "control: p and tau near 1": "control: p = τ = 0.9",
}
COORDINATES = ["x₁", "x₂", "x₃", "x₄"]


def fact_holds(rows: Rows) -> Finding:
    """By seed, at any local minimum: FACT's cosine with W^T W reaches the print."""
    finding = positive(rows.value - LEAST_FACT, f"FACT's cosine minus {LEAST_FACT:g}")
    return replace(finding, measured=f"the cosine of FACT and WᵀW is {rows.value.mean():.3f}")


def agop_is_uncorrelated(rows: Rows) -> Finding:
    """By seed, at the minimiser: AGOP's cosine with W^T W is nearer to 0 than to 1."""
    return _agop_below(rows, UNCORRELATED)


def agop_matches(rows: Rows) -> Finding:
    """By seed, at the minimiser: AGOP's cosine is below what rounds to the printed bound."""
    return _agop_below(rows, LARGEST_AGOP)


def _agop_below(rows: Rows, bound: float) -> Finding:
    excess = rows.where(quantity="fig4/excess")
    seeds = set(excess.seed[excess.value < EXCESS].tolist())
    agop = rows.where(quantity="fig4/minimiser/agop", seed=seeds).value
    others = rows.where(quantity="fig4/minimiser/agop", seed=set(excess.seed.tolist()) - seeds).value
    finding = positive(bound - agop, f"{bound:g} minus AGOP's cosine at the minimiser")
    where = f"all {len(seeds)} seeds, which reach the lowest minimum"
    if len(others):
        where = (f"the {len(seeds)} of {len(excess)} seeds that reach the lowest minimum; it is {spread(others)} at "
                 "another local minimum, which the rule leaves out")  # fmt: skip
    return replace(
        finding,
        measured=f"the cosine of AGOP and WᵀW is {agop.mean():.3f} in {where}",
        numbers={"seeds": float(len(excess)), "seeds at the minimiser": float(len(seeds))},
    )


def spread(values: np.ndarray) -> str:
    """The least and the largest value, or the one that all of them are, with three digits."""
    return " to ".join(dict.fromkeys(f"{value:.3f}" for value in (values.min(), values.max())))


def adam_matches(rows: Rows) -> Finding:
    """After Adam's last step both cosines round to the print, at every seed; refuted if at none.

    The paper shows one run.
    """
    fact, agop = (rows.by_seed(quantity=f"fig4/adam/{name}") for name in ("fact", "agop"))
    as_fact, as_agop = fact >= LEAST_FACT, agop < LARGEST_AGOP
    fraction = float(np.mean(as_fact & as_agop))
    rule = (f"FACT's cosine at least {LEAST_FACT:g} and AGOP's below {LARGEST_AGOP:g}: in all of {len(fact)} seeds; "
            "fails if in none")  # fmt: skip
    measured = (f"after Adam alone FACT's cosine is at least {LEAST_FACT:g} on {int(as_fact.sum())} of {len(fact)} "
                f"seeds (least {fact.min():.3f}), and AGOP's is {spread(agop)}, below {LARGEST_AGOP:g} on "
                f"{int(as_agop.sum()) or 'none'}")  # fmt: skip
    numbers = {"seeds": float(len(fact)), "seeds whose FACT reaches it": float(as_fact.sum()),
               "seeds whose AGOP is below": float(as_agop.sum()), "least FACT": float(fact.min()),
               "least AGOP": float(agop.min()), "largest AGOP": float(agop.max())}  # fmt: skip
    holds = {1.0: True, 0.0: False}.get(fraction)
    return Finding(holds, fraction, rule, "matches print", numbers=numbers, measured=measured)


def fact_above_null(rows: Rows) -> Finding:
    """By seed: FACT's cosine exceeds its null, that with W^T W's spectrum in random directions."""
    fact, null = (rows.where(quantity=f"fig4/{name}/fact").value for name in ("minimiser", "null"))
    finding = positive(fact - null, "FACT's cosine minus its null's 97.5 % quantile")
    return replace(
        finding, measured=f"the cosine of FACT and WᵀW is {fact.mean():.3f}, and by chance {null.mean():.3f}"
    )


def converged(rows: Rows) -> Finding:
    """Newton's method has converged at every seed."""
    farthest = float(rows.value.max())
    return Finding(farthest <= NEAR, farthest, f"relative distance at most {NEAR:g} at every seed", "exact", high=NEAR)


CONTROLS = {
    "p and tau near 1": Control(
        text="The data have p = τ = 0.9 instead of p = 10⁻⁵ and τ = 0.02, and the weight decay λ is 10⁻²."
    ),
    "after 100 steps": Control(
        text="FACT is computed after 100 steps of Adam instead of at a minimum of the loss.",
        has=("fig4/minimiser/fact",),
    ),
}
EQUAL_SEEDS = dict.fromkeys(
    ("fig4/minimiser/fact", "fig4/minimiser/agop", "fig4/excess"),
    "Newton's method takes several seeds to the same minimum of the loss, to the last digit.",
)
STATEMENTS = (
    Statement(
        name="FACT at convergence",
        quote=f"At convergence, FACT achieves {FACT} cosine similarity with WᵀW",
        place="Section 3.2",
        rule=fact_holds,
        reads=("fig4/minimiser/fact",),
        printed=LEVELS["fact"],
        rows=10,
    ),
    Statement(
        name="AGOP is uncorrelated",
        quote="The FACT and NFA are uncorrelated at convergence on the synthetic dataset.",
        place="Figure 4, caption",
        rule=agop_is_uncorrelated,
        reads=("fig4/minimiser/agop", "fig4/excess"),
        printed="uncorrelated, at λ = 10⁻⁵",
        derived="uncorrelated, at λ = 10⁻⁷",
        rows=10,
    ),
    Statement(
        name="AGOP's level",
        quote="while AGOP achieves < 0.068 cosine similarity.",
        place="Section 3.2",
        rule=agop_matches,
        reads=("fig4/minimiser/agop", "fig4/excess"),
        kind="printed level",
        printed=LEVELS["agop"],
        rows=10,
        scales=("paper",),
    ),
    Statement(
        name="after Adam alone",
        quote="which is the result of training a width-10 network for 10⁶ iterations of Adam with learning rate 0.01",
        place="Section 3.2",
        rule=adam_matches,
        reads=("fig4/adam/fact", "fig4/adam/agop"),
        kind="printed level",
        printed=f"FACT {LEVELS['fact']}, AGOP {LEVELS['agop']}",
        rows=10,
        scales=("paper",),
    ),
    Statement(
        name="FACT above its null",
        quote=f"At convergence, FACT achieves {FACT} cosine similarity with WᵀW",
        place="Section 3.2",
        rule=fact_above_null,
        reads=("fig4/minimiser/fact", "fig4/null/fact"),
        kind="ours",
        rows=10,
    ),
)
HYPOTHESES = (
    Hypothesis(
        name="convergence",
        text="The figure is about networks at convergence: Newton's method ends within 1e-8 of a local minimum.",
        rule=converged,
        reads=("fig4/distance",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the matrices of the lowest seed of each arm, each scaled by its largest entry, with the cosines."""
    arms = [arm for arm in ARMS if arm in set(rows["arm"])] or style.controls(rows)
    figure, grid = style.panels(claim, columns=3, rows=len(arms), height=0.6 + 1.95 * len(arms))
    for arm, row in zip(arms, grid, strict=True):
        arm_rows, gram = rows[rows["arm"] == arm], np.zeros((4, 4))
        for axes, (name, title) in zip(row, TITLES.items(), strict=True):
            entries = arm_rows[arm_rows["quantity"] == f"fig4/matrix/{name}"].drop_duplicates("x").sort_values("x")
            matrix = entries["value"].to_numpy().reshape(4, -1)
            gram = matrix if name == "gram" else gram
            largest = np.abs(matrix).max()
            drawn = axes.imshow(matrix / largest, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="none")
            axes.set(xticks=range(4), yticks=range(4), xticklabels=COORDINATES, yticklabels=COORDINATES)
            axes.set_title(f"{title},\nlargest entry {largest:.2g}", fontsize=8)
            if name in LEVELS:
                cosines = arm_rows[arm_rows["quantity"] == f"fig4/minimiser/{name}"]["value"]
                printed = f"\nprinted {LEVELS[name]}" if arm == "claim" and style.are_of_paper_scale(rows) else ""
                names = (f"fig4/null/{name}", f"null/fig4/minimiser/{name}")
                null = arm_rows.loc[arm_rows["quantity"].isin(names), "value"]
                by_chance = null.median() if len(null) else chance(matrix, gram)
                measured = f"cosine with WᵀW {cosines.median():.3f},\nby chance {by_chance:.3f}"
                axes.set_xlabel(measured + printed, fontsize=8)
        row[0].set_ylabel(ARMS.get(arm, arm).replace(": ", ":\n"), fontsize=8)
    figure.colorbar(drawn, ax=grid, shrink=0.5, label="entry / the largest of its matrix", pad=0.06)
    return figure


def chance(matrix: np.ndarray, gram: np.ndarray, draws: int = 1000) -> float:
    """The 97.5 % quantile of the cosine of a matrix with W^T W's spectrum in random directions.

    For tables of the paper scale, which have this null for FACT alone.
    """
    generator, spectrum = np.random.default_rng(0), np.linalg.eigvalsh(gram)
    bases = [np.linalg.qr(generator.standard_normal(gram.shape))[0] for _ in range(draws)]
    turned = np.stack([basis @ np.diag(spectrum) @ basis.T for basis in bases])
    norms = np.linalg.norm(turned, axis=(1, 2)) * np.linalg.norm(matrix)
    return float(np.quantile((turned * matrix).sum((1, 2)) / norms, 0.975))
