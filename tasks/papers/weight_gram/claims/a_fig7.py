"""The Virtual Covariance Shift, summed over training, tracks the weight Gram's diagonal better than the AGOP does.

The paper prints the Pearson correlations of both diagonals with diag(W^T W), for a network with 46 % test accuracy;
Section 3 says the same of the update, W^T W - W_0^T W_0. We compare correlations in Fisher's z, the inverse hyperbolic
tangent. We call a correlation high if it is nearer to 1 than to chance, as in our claims on paper B. For the shift
(VCS) chance is the null, the correlation with Grams of the same spectrum in random directions; for the AGOP we take 0.
We read “substantially higher” as higher, because the paper prints no margin. The control accumulates the shift from
shuffled labels. It has the same AGOP as the claim, because the AGOP does not depend on the labels.

The paper also says that the γ² factor, the remainder of Theorem 1, hardly affects the Gram. Correlations cannot test
this, because they ignore scale and offset. The remainder is the update minus the accumulated shift. We ask that its
Frobenius norm is below half of the update's. This holds on the digits of the quick scale, and fails on CIFAR-10. The
paper prints neither a batch size nor a number of epochs; we take batches of 64, and at the paper scale 10 epochs, which
end near the printed test accuracy. The remainder depends on the batch size.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.drawing import style
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import fisher

ID = "A.fig7"
KIND = "statistical"
TITLE = "Virtual Covariance Shift tracks the weight Gram better than the AGOP"
RHO_VCS, RHO_AGOP, LAST_DIGIT = 0.98, 0.71, 0.01
WITH = {"gram": "WᵀW", "change": "its change"}  # in the figure
IN_WORDS = {"gram": "WᵀW", "change": "WᵀW − W₀ᵀW₀"}
PRINTED = f"ρ ≈ {RHO_VCS:g} against {RHO_AGOP:g}, Figure 7"
MATH = (
    (
        r"\rho\left( \operatorname{diag} \Sigma_{\text{VCS}}, \operatorname{diag} W^\top W \right) > "
        r"\rho\left( \operatorname{diag} \text{AGOP}, \operatorname{diag} W^\top W \right)"
    ),
    r"\Sigma_{\text{VCS}} = \sum_t \sum_i \left( h_{i,t}^+ (h_{i,t}^+)^\top - h_{i,t} h_{i,t}^\top \right)",
)
# quantity -> title, and the correlation and the printed number below it
IMAGES = {
    "diagonal/gram": "weight Gram WᵀW",
    "diagonal/vcs": "Virtual Covariance Shift",
    "diagonal/agop": "AGOP",
    "diagonal/gram_change": "change WᵀW − W₀ᵀW₀",
}
MEASURES = {"vcs": "VCS", "agop": "AGOP"}
LEVELS = {"vcs": RHO_VCS, "agop": RHO_AGOP}
HIGH_FROM = 0.5  # a correlation above it is nearer to 1 than to 0
LARGEST_REMAINDER = 0.5  # of the update's norm; a smaller remainder leaves most of the update to the shift


def above_agop(rows: Rows, matrix: str) -> Finding:
    """Paired by seed in Fisher's z: the VCS's correlation of the diagonals is above the AGOP's."""
    vcs, agop = (rows.by_seed(quantity=f"pearson/{name}_{matrix}_diagonal") for name in ("vcs", "agop"))
    finding = positive(fisher_z(vcs) - fisher_z(agop), "Fisher's z of the VCS's correlation minus that of the AGOP's")
    levels = f"{fisher(vcs)[0]:.3f} for the VCS and {fisher(agop)[0]:.3f} for the AGOP"
    return replace(finding, measured=f"ρ with {IN_WORDS[matrix]} is {levels}")


def both_high(rows: Rows) -> Finding:
    """Both correlations are nearer to 1 than to chance.

    Chance is the 97.5 % quantile of random Grams of the same spectrum for the VCS. It is 0 for the AGOP, the mean over
    random Grams.
    """
    vcs, agop = (rows.by_seed(quantity=f"pearson/{name}_gram_diagonal") for name in ("vcs", "agop"))
    null = _null(rows, "vcs")
    middle = (1 + null) / 2
    finding = all_of(
        vcs=positive(
            fisher_z(vcs) - fisher_z(middle), "Fisher's z of the VCS's correlation minus that of (1 + null)/2"
        ),
        agop=positive(
            fisher_z(agop) - fisher_z(HIGH_FROM), f"Fisher's z of the AGOP's correlation minus that of {HIGH_FROM:g}"
        ),
    )
    levels = f"ρ is {fisher(vcs)[0]:.3f} for the VCS and {fisher(agop)[0]:.3f} for the AGOP"
    chance = f"97.5 % of the VCS's correlations with random matrices are below {fisher(null)[0]:.3f}"
    return replace(finding, measured=f"{levels}; {chance}")


def above_null(rows: Rows, name: str, matrix: str) -> Finding:
    """A correlation of the diagonals is above the 97.5 % quantile of that with matrices in random directions."""
    z = fisher_z(rows.by_seed(quantity=f"pearson/{name}_{matrix}_diagonal")) - fisher_z(_null(rows, name, matrix))
    return positive(z, f"Fisher's z of the {MEASURES[name]}'s correlation minus that of the null's 97.5 % quantile")


def _null(rows: Rows, name: str, matrix: str = "gram") -> np.ndarray:
    """The 97.5 % quantile of the correlations with matrices in random directions, by seed."""
    return rows.by_seed(quantity=f"null/{name}_{matrix}_diagonal")


def remainder_small(rows: Rows) -> Finding:
    """The update of the Gram minus the accumulated VCS is below one half of the update, in Frobenius norm.

    The whole matrices are compared, as in Theorem 1. The update is W^T W without W_0^T W_0, because the initial Gram
    comes neither from the shift nor from the remainder.
    """
    relative_norm = rows.by_seed(quantity="whole/remainder")
    statistic = f"{LARGEST_REMAINDER:g} minus the ratio of the remainder's norm to the update's"
    finding = positive(LARGEST_REMAINDER - relative_norm, statistic)
    measured = f"the update minus the accumulated VCS has {relative_norm.mean():.2g} times the norm of the update"
    return replace(finding, measured=measured)


def equals_print(rows: Rows, name: str, matrix: str, printed: float) -> Finding:
    """The correlation of the diagonals equals the printed number."""
    return equals(rows.by_seed(quantity=f"pearson/{name}_{matrix}_diagonal"), printed, LAST_DIGIT)


HIGH = "We observe that both VC and AGOP exhibit a high correlation with the weight Gram."
UPDATE = "the VCS tracks the actual Gram update at ρ = 0.98, compared to ρ = 0.71 for AGOP"
CONTROLS = {
    "shuffled labels": Control(
        text="The shift is accumulated from gradients of the loss for shuffled labels; the networks are trained "
        "on the true ones.",
        equal_quantities=(
            "null/agop_change_diagonal",
            "null/agop_gram_diagonal",
            "pearson/agop_change_diagonal",
            "pearson/agop_gram_diagonal",
        ),
        equal_because="Labels are shuffled in the measure, and the AGOP does not depend on labels.",
    ),
}
STATEMENTS = (
    Statement(
        name="VCS above AGOP",
        quote="VC achieves a correlation of ρ ≈ 0.98, which is substantially higher than that of AGOP (ρ ≈ 0.71)",
        place="Appendix B.3",
        rows=5,
        rule=partial(above_agop, matrix="gram"),
        reads=("pearson/vcs_gram_diagonal", "pearson/agop_gram_diagonal"),
        printed=f"ρ ≈ {RHO_VCS:g} against ρ ≈ {RHO_AGOP:g}",
    ),
    Statement(
        name="VCS tracks the update",
        quote=UPDATE,
        place="Section 3",
        rows=5,
        rule=partial(above_agop, matrix="change"),
        reads=("pearson/vcs_change_diagonal", "pearson/agop_change_diagonal"),
        printed=f"ρ = {RHO_VCS:g} against {RHO_AGOP:g}",
    ),
    Statement(
        name="high correlation",
        quote=HIGH,
        place="Appendix B.3",
        rows=5,
        rule=both_high,
        reads=("pearson/vcs_gram_diagonal", "pearson/agop_gram_diagonal", "null/vcs_gram_diagonal"),
        printed=f"“high”: ρ ≈ {RHO_VCS:g} and ρ ≈ {RHO_AGOP:g}",
    ),
    Statement(
        name="a small remainder",
        quote="Through this, we empirically verify that Theorem 1 holds, and the γ² factor does not significantly "
        "affect the resulting weight Gram.",
        place="Appendix B.3",
        rows=5,
        rule=remainder_small,
        reads=("whole/remainder",),
    ),
    *(
        Statement(
            name=f"{name.upper()} above its null{ending}",
            quote=quote,
            place=place,
            rows=5,
            rule=partial(above_null, name=name, matrix=matrix),
            reads=(f"pearson/{name}_{matrix}_diagonal", f"null/{name}_{matrix}_diagonal"),
            kind="ours",
        )
        for name, matrix, ending, quote, place in (
            ("agop", "gram", "", HIGH, "Appendix B.3"),
            ("vcs", "change", ", of the update", UPDATE, "Section 3"),
            ("agop", "change", ", of the update", UPDATE, "Section 3"),
        )
    ),
    *(
        Statement(
            name=f"{name.upper()}'s level{ending}",
            quote=quote,
            place=place,
            rows=5,
            rule=partial(equals_print, name=name, matrix=matrix, printed=LEVELS[name]),
            reads=(f"pearson/{name}_{matrix}_diagonal",),
            kind="printed level",
            printed=f"ρ {sign} {LEVELS[name]:g}",
            scales=("paper",),
        )
        for name, matrix, ending, quote, place, sign in (
            ("vcs", "gram", "", "VC achieves a correlation of ρ ≈ 0.98", "Appendix B.3", "≈"),
            ("agop", "gram", "", "substantially higher than that of AGOP (ρ ≈ 0.71)", "Appendix B.3", "≈"),
            ("vcs", "change", ", of the update", UPDATE, "Section 3", "="),
            ("agop", "change", ", of the update", UPDATE, "Section 3", "="),
        )
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the diagonals of seed 0 as images, and below them every seed's correlations and the paper's."""
    rows = rows[rows["step"] == rows["step"].max()]
    figure, grid = style.panels(claim, columns=len(IMAGES), rows=2, height=4.1, height_ratios=(1.5, 1))
    for axes, (quantity, title) in zip(grid[0], IMAGES.items(), strict=True):
        diagonal = rows[(rows["quantity"] == quantity) & (rows["seed"] == 0) & (rows["arm"] == "claim")]
        drawn = axes.imshow(style.square(diagonal.sort_values("x")["value"].to_numpy()), interpolation="none")
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=7.5)
        figure.colorbar(drawn, ax=axes, location="bottom", shrink=0.9, ticks=MaxNLocator(3))
    for axes in grid[1]:
        axes.remove()
    _draw_correlations(figure.add_subplot(grid[1, 0].get_gridspec()[1, :]), rows)
    return figure


def _draw_correlations(axes: Axes, rows: pd.DataFrame) -> None:
    """A row for each measure, arm and what it is correlated with; a mark is a seed."""
    arms = ["claim", *style.controls(rows)]
    names = [
        (f"{title}, {partner}" + ("" if arm == "claim" else ", ✗ shuffled"), measure, key, arm)
        for key, partner in WITH.items()
        for measure, title in MEASURES.items()
        for arm in arms
        if arm == "claim" or measure == "vcs"  # the AGOP has no labels to shuffle
    ]
    for place, (_, measure, key, arm) in enumerate(names):
        quantity = rows[(rows["quantity"] == f"pearson/{measure}_{key}_diagonal") & (rows["arm"] == arm)]
        color = style.CONTROL if arm != "claim" else style.COLORS["AGOP"] if measure == "agop" else style.CLAIM
        mark = style.MARKS["claim" if arm == "claim" else "control"]
        axes.plot(quantity["value"], [place] * len(quantity), mark, color=color, markersize=4, alpha=0.6)
        words = f"{quantity['value'].mean():.3f}"
        if style.are_of_paper_scale(rows) and arm == "claim":
            axes.plot(LEVELS[measure], place, "|", color=style.PRINTED, markersize=12, markeredgewidth=1.5)
            words += f" (printed {LEVELS[measure]:g})"
        axes.text(1.015, place, words, transform=axes.get_yaxis_transform(), color=color, fontsize=style.SMALL,
                  va="center")  # fmt: skip
    axes.axvline(0, color=style.GUIDE, linewidth=0.6)
    axes.set_yticks(range(len(names)), [name for name, *_ in names])
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(min(-0.05, axes.get_xlim()[0]), 1.02))
    axes.set_xlabel(f"Pearson correlation of the diagonals ({rows['seed'].nunique()} seeds; at the right, means)")
