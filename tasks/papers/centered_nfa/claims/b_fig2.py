"""The centered NFA (C-NFA) is high throughout training at every initial scale s₀; it is highest and varies least early.

The C-NFA is the correlation of W̄ᵀW̄ and W̄ᵀKW̄, where W̄ = W − W₀ is the change of the weights in training. The
uncentered NFA (UC-NFA) is the correlation of WᵀW and WᵀKW. K is the pre-activation tangent kernel, the sum of ∂f/∂z
∂f/∂zᵀ over the samples; z = Wh is a layer's output before the activation. s₀ is a factor of the first layer's initial
variance. We take s₀ = 1, 0.1 and 0.01; the paper's text does not name its values. The spread is the largest minus the
smallest value over s₀. Correlations are means over both hidden layers; the data are isotropic.

The paper prints curves and no thresholds, so we read its words as follows. The UC-NFA “emerges” if it rises. A
correlation is “more robust” if its spread is smaller. The C-NFA is “high” if at every measurement it is nearer to 1
than to the null, the mean correlation for independent eigenvectors. Then the normalized C-NFA, (C-NFA −
null)/(1 − null), is above 1/2. Early is the first measurement, after five steps; later is the mean of all others.
“Extremely sensitive” means that the final UC-NFA has a larger spread than the final C-NFA. We judge this in layer 2,
because the sentence points to the figure's second row.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared import centerings, section_2_3

ID = "B.fig2"
KIND = "statistical"
TITLE = "The centered NFA is high at every initialization scale, and highest early"
PRINTED = (
    "C-NFA “high throughout training across initialization scale”, “especially high and invariant to scale early on”, "
    "final UC-NFA “extremely sensitive to the initialization scale”; C-NFA “more robust to the initialization scale”; "
    "curves of both layers, Figure 2"
)
MATH = (
    (
        r"\text{C-NFA} = \rho\left( \bar W^\top \bar W,\; \bar W^\top K \bar W \right) \text{ is high at "
        r"every } s_0 \text{ and falls with } t"
    ),
    r"\text{UC-NFA} = \rho\left( W^\top W,\; W^\top K W \right) \text{ at the end depends on } s_0",
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTS = "a setting"
CORRECTION = centerings.CORRECTION
PRINTED_SETTINGS = centerings.PRINTED_SETTINGS
SPECTRUM = "isotropic"
SPREADS = "the final UC-NFA's spread over s₀ minus the final C-NFA's"

draw = centerings.draw_nfa_and_losses


def uncentered_is_sensitive(rows: Rows) -> Finding:
    """In layer 2 the final UC-NFA varies more over the scales than the final C-NFA."""
    uncentered, centered = _final_spreads(rows)
    finding = positive((uncentered - centered)[:, 1], f"{SPREADS}, layer 2")
    means = (f"{spread[:, 1].mean():.2f} for the {name}" for spread, name in ((uncentered, "UC"), (centered, "C")))
    return replace(finding, measured=f"in layer 2 the final spread over s₀ is {'-NFA and '.join(means)}-NFA")


def uncentered_is_sensitive_in_each_layer(rows: Rows) -> Finding:
    """In each layer the final UC-NFA varies more over the scales than the final C-NFA."""
    uncentered, centered = _final_spreads(rows)
    return centerings.by_layer(uncentered - centered, SPREADS)


def _final_spreads(rows: Rows) -> list[np.ndarray]:
    """The largest less the smallest final UC-NFA over the scales, and the same of the C-NFA; by (seeds, layers)."""
    both = centerings.of_spectrum(rows, SPECTRUM, "nfa/uncentered", "nfa/centered")
    return [np.ptp(nfa[..., -1], 2) for nfa in both]


def highest_early_at_each_scale(rows: Rows) -> Finding:
    """In each layer and at each scale the first C-NFA is above the mean of the later ones."""
    early, later = section_2_3.early_and_later(rows, SPECTRUM)
    return centerings.at_each_scale(early - later, np.unique(rows.x), "the early C-NFA minus the later one")


CONTROLS = centerings.for_both_forms(
    {
        "no training": Control(
            text="The weights move as far from their start as in training, but in a random direction.",
            parts=("case", "layer"),
            parts_because="At step 0 this control's weights are the claim's.",
        ),
        "random K": Control(text="The tangent kernel K has random eigenvectors and its own eigenvalues."),
    }
)
SENSITIVE = (
    "This is in contrast to the UC-NFA, whose final value can be extremely sensitive to the initialization scale (e.g. "
    "second row, Figure 2)."
)
STATEMENTS = (
    *section_2_3.statements(SPECTRUM, "Figure 2"),
    Statement(
        name="the NFA emerges",
        quote="We showed that the NFA is equivalent to PTK-weight alignment (Proposition 2), and that it emerges "
        "during training (Figure 2 and Appendix G).",
        place="Section 2.3",
        rule=partial(centerings.emerges, spectrum=SPECTRUM),
        reads=("nfa/uncentered",),
        cases=3,
        rows=centerings.ROWS[0],
    ),
    Statement(  # the sentence is about Figures 7 and 8; “similar to Figure 2” may mean its first half alone
        name="UC-NFA becomes high",
        quote=f"{centerings.ROBUST}, and UC-NFA value become high through training, while being small at "
        "initialization.",
        place="Appendix G",
        rule=partial(centerings.becomes_high, spectrum=SPECTRUM),
        reads=("nfa/uncentered", "null/uncentered"),
        kind="ours",
        cases=3,
        rows=centerings.ROWS[0],
    ),
    *(
        Statement(
            name=name,
            quote=quote,
            place=place,
            rule=rule,
            reads=("nfa/uncentered", "nfa/centered"),
            kind=kind,
            cases=3,
            rows=centerings.ROWS[0],
        )
        for name, quote, place, rule, kind in (
            (
                "UC-NFA sensitive to scale", SENSITIVE, "Section 2.3 and Figure 2, second row",
                uncentered_is_sensitive, "asserted",
            ),
            (
                "C-NFA more robust", centerings.ROBUST, "Appendix G and Figure 2",
                partial(centerings.robust, spectrum=SPECTRUM), "asserted",
            ),
            (
                "UC-NFA sensitive to scale, in each layer", SENSITIVE, "Section 2.3 and Figure 2",
                uncentered_is_sensitive_in_each_layer, "ours",
            ),
        )
    ),
    Statement(
        name="highest early at each scale",
        quote=section_2_3.QUOTE,
        place="Section 2.3",
        rule=highest_early_at_each_scale,
        reads=("nfa/centered",),
        kind="ours",
        cases=3,
        rows=centerings.ROWS[0],
    ),
)  # fmt: skip
