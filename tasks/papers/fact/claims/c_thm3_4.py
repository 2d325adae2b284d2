"""For any s > 0 and eps there are p, tau, lambda such that at the minimiser on D(p, tau) corr(AGOP^s, W^T W) < eps.

FACT equals W^T W there. The paper calls both the theorem's bound and the proof's parameter eps. We call the proof's
parameter e: tau = e^3, p = e^8 and lambda = e^32 p. With these the correlation is of the order e^2 + e^(2s). We test s
= 0.25, 0.5, 1 and 2 and e down to 2^-10 = 1/1024, and ask for a correlation of at most 1/16 at the smallest e. A
statement of ours asks that the correlation falls in the proof's order. The theorem is about m >= 7 neurons, and the
networks here have four. This is no restriction: by Lemma D.2 the least norm of a network that represents a quadratic
form in four variables is the same at every m >= 4. So more neurons do not lower the minimum, and at the minimiser those
beyond four have weight 0. A test of ours checks m = 7. Two slips in the proof do no harm. Its first network represents
f* with a_2 = a_3 = -tau/2 and a_5 = a_6 = -1/2, where the paper prints -tau and -1. Step 4b prints half of the
coefficient of x_3 x_4 in a network: the sum of a_i W_i3 W_i4, which it is twice. The bound of this step holds with the
factor 2 too. The controls have p and tau near 1, or lie off the minimiser.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, below, never, order
from tasks.judging.statement import Control, Drawn, Grid, Hypothesis, Statement

ID = "C.thm3.4"
KIND = "exact"
TITLE = "Data that separate FACT from the neural feature ansatz"
PRINTED = "corr(AGOP^s, WᵀW) < ε for any s > 0; of the order ε^(2s) + ε² in the proof, with its own ε, Theorem 3.4"
MATH = (
    (
        r"\operatorname{corr}\left( \text{AGOP}^s,\; W^\top W \right) < \epsilon \quad\text{and}\quad "
        r"W^\top W = \text{FACT} \quad\text{at the minimiser on } \mathcal{D}(p_\epsilon, \tau_\epsilon)"
    ),
    (
        r"y = \tau x_1 x_2 + x_3 x_4, \quad x \;\sim\; \begin{cases} \text{uniform on } \{0, 1, 2\}^4 & "
        r"\text{with probability } p \\ (1, 1, 0, 0) & \text{with probability } 1 - p \end{cases}"
    ),
)
SETTINGS = ()  # the data, the rates and the ridges of this theorem are fixed in the experiment
TARGET = 1 / 16  # the theorem's epsilon, for which the table must have hyperparameters, at every power s


def uncorrelated(rows: Rows) -> Finding:
    """For every power s the smallest tau, p and lambda of the table bring the correlation below 1/16."""
    finding = below(rows, TARGET, "correlation", x="e")
    at = f"e = 1/{1 / float(rows.x.min()):.0f}"
    limit = f"must be at most 1/{1 / TARGET:.0f}"
    measured = f"the correlation of AGOP^s and WᵀW is at most {finding.statistic:.3f} at {at} ({limit})"
    return replace(finding, measured=measured)


def of_the_proofs_order(rows: Rows) -> Finding:
    """For every power s the correlation falls as e^min(2, 2s)."""
    return all_of(**{case: order(case_rows, _power(case)) for (case,), case_rows in rows.by("case").items()})


def fact_holds(rows: Rows) -> Finding:
    """W^T W and FACT differ by at most 1e-9 at every minimiser."""
    worst = float(rows.value.max())
    rule = "‖WᵀW − FACT‖ / ‖WᵀW‖ at every minimiser at most 1e-09"
    return Finding(worst <= 1e-9, worst, rule, "exact", high=1e-9)


def strict_minima(rows: Rows) -> Finding:
    """Newton's method ends at strict minima alone."""
    return never(rows, "point other than a strict minimum")


def _power(case: str) -> float:
    """The order of the correlation in e, of a case such as "s = 0.5"."""
    return min(2.0, 2 * float(case.removeprefix("s = ")))


EPSILONS = tuple(2.0**-power for power in range(1, 11))  # the proof's ε, which we call e
GRIDS = {quantity: Grid(x=EPSILONS) for quantity in ("thm3.4/correlation", "thm3.4/fact")}
DRAWN = {
    quantity: Drawn(0, "p, τ and s are a grid, and nothing is drawn.")
    for quantity in ("thm3.4/correlation", "thm3.4/fact", "thm3.4/no minimum")
}
SMALL_P = tuple(f"p = {2.0 ** (-8 * k):g}" for k in range(1, 11))  # e⁸ for e = 2⁻¹, …, 2⁻¹⁰
NEAR_1 = tuple(dict.fromkeys(f"p = {1 - 2.0 ** (-8 * k):g}" for k in range(1, 11)))
CONTROLS = {
    "p and tau near 1": Control(
        text="p = 1 − e⁸ and τ = 1 − e³ are near 1 instead of near 0.",
        cases={"thm3.4/fact": NEAR_1},
        parts_because="It breaks what the theorem says of p, so that it has a p of its own.",
    ),
    "1 % from the minimiser": Control(
        text="FACT and WᵀW are computed where every weight is 1 % larger than at the minimiser.",
        has=("thm3.4/fact",),
        cases={"thm3.4/fact": (*SMALL_P, *NEAR_1)},
        parts_because="It leaves the minimisers of the claim and of the control near 1.",
    ),
}
STATEMENTS = (
    Statement(
        name="uncorrelated with AGOP",
        quote="are nearly-uncorrelated with the (NFA) prediction",
        place="Theorem 3.4",
        rule=uncorrelated,
        reads=("thm3.4/correlation",),
        printed="corr(AGOP^s, WᵀW) < ε",
        cases=4,
    ),
    Statement(
        name="FACT holds",
        quote="In contrast, (FACT) holds.",
        place="Theorem 3.4",
        rule=fact_holds,
        reads=("thm3.4/fact",),
        printed="WᵀW = FACT",
        cases=10,
    ),
    Statement(
        name="the proof's order",
        quote="which can be taken arbitrarily small by sending",
        place="Appendix D, step 5",
        rule=of_the_proofs_order,
        reads=("thm3.4/correlation",),
        kind="ours",  # the proof bounds the correlation from above
        printed="corr ≲ ε^(2s) + ε², with the proof's ε",
        cases=4,
    ),
)
HYPOTHESES = (
    Hypothesis(
        name="minimisers",
        text="The theorem is about minimisers. Newton's method starts from Lemma D.2's network, the minimiser in the "
        "limit of small lambda, and ends at a strict minimum.",
        rule=strict_minima,
        reads=("thm3.4/no minimum",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlation with the proof's order e^min(2, 2s), log-log; the control stays level."""
    chance = rows[(rows["quantity"] == "null/thm3.4/correlation") & (rows["arm"] == "claim")]
    rows = rows[(rows["quantity"] == "thm3.4/correlation") & (rows["x"] > 0)]
    figure, grid = style.panels(claim, height=4.2)
    axes = grid[0, 0]
    axes.set(xscale="log", yscale="log", xlabel="e, with τ = e³, p = e⁸, λ = e³²p",
             ylabel="cosine of AGOPˢ and WᵀW at the minimiser")  # fmt: skip
    cases = sorted(rows["case"].unique())
    ends, controls = [], style.controls(rows)
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        for arm in ["claim", *controls]:
            line = rows[(rows["case"] == case) & (rows["arm"] == arm)].sort_values("x")
            dashes, mark = ("-", "o") if arm == "claim" else (":", "X")
            axes.plot(line["x"], line["value"], color=color if arm == "claim" else style.CONTROL, linestyle=dashes,
                      linewidth=1.3, marker=mark, markersize=3.5, label=f"{case}, {arm}")  # fmt: skip
        claim_rows = rows[(rows["case"] == case) & (rows["arm"] == "claim")].sort_values("x")
        guide = claim_rows["value"].iloc[0] * (claim_rows["x"] / claim_rows["x"].iloc[0]) ** _power(case)
        axes.plot(claim_rows["x"], guide, color=style.GUIDE, linestyle="--", linewidth=0.8, label="_")
        ends.append((float(claim_rows["value"].iloc[0]), case, color))
    axes.axhline(TARGET, color=style.PRINTED, linestyle="--", linewidth=0.8, label="1/16: limit at the smallest e")
    axes.invert_xaxis()  # the limit of the proof is at the right
    control = rows[rows["arm"] != "claim"].sort_values("x")["value"].iloc[0]
    ends.append((float(control), ", ".join(controls).replace("control: ", "✗ "), style.CONTROL))
    style.label_ends(axes, ends)
    for index, (_, line) in enumerate(chance.sort_values("x").groupby("case")):
        axes.plot(line["x"], line["value"], color=style.OTHER, linestyle="-.", linewidth=0.8,
                  label="_" if index else "AGOPˢ with random eigenvectors, mean")  # fmt: skip
    axes.plot([], [], color=style.GUIDE, linestyle="--", linewidth=0.8, label="order of the proof: e^min(2, 2s)")
    labelled = [line for line in axes.get_lines() if str(line.get_label()).startswith(("AGOP", "order", "1/16"))]
    axes.legend(handles=labelled, loc="lower left")
    return figure
