"""In deep linear networks of L layers, trained with weight decay, cos(AGOP^(1/L), W_1^T W_1) is close to 1.

Other powers of the AGOP are worse. FACT's cosine is at least 0.999 at every depth; a mean that rounds to 0.999
suffices. The layers are balanced: their singular values agree. "Close to 1" means above 0.99; singular values agree if
they differ by at most 5 % of the largest. The control has no weight decay. The statements are about networks that have
converged, so we also measure how far each layer is from a critical point.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.papers.fact.claims.shared.correlations import STATIONARY

ID = "C.fig11"
KIND = "statistical"
TITLE = "Deep linear networks: AGOP needs the power 1/L, FACT none"
AGOP, FACT, SPREAD = 0.99, 0.999, 0.05  # least cosines (FACT's is printed), largest spread of singular values
ROUNDED = FACT - 0.0005  # what still rounds to the print
PRINTED = f"AGOP^(1/L) close to 1, FACT ≥ {FACT} for every depth, singular values identical, Figure 11"
MATH = (
    (
        r"\cos\left( \text{AGOP}^{1/L},\; W_1^\top W_1 \right) \approx 1, \quad \cos\left( \text{FACT},\; "
        rf"W_1^\top W_1 \right) \ge {FACT}"
    ),
    r"\sigma_i(W_1) = \sigma_i(W_2) = \ldots = \sigma_i(W_L)",
)


def close_to_one(rows: Rows) -> Finding:
    """At each depth L the cosine of AGOP^(1/L) is above 0.99."""
    agop = {case: powers[1 / depth] for case, depth, powers in _powers(rows)}
    measured = _at_depths("the cosine of AGOP^(1/L) is", {case: f"{agop[case].mean():.4f}" for case in agop})
    return replace(_each(agop, AGOP, f"cosine of AGOP^(1/L) minus {AGOP:g}"), measured=measured)


def best_power(rows: Rows) -> Finding:
    """At each depth L the power 1/L is ahead of the best of the other powers, in Fisher's z."""
    parts, means = {}, {}
    for case, depth, powers in _powers(rows):
        best_other = np.max([cosines for power, cosines in powers.items() if power != 1 / depth], axis=0)
        parts[_depth(case)] = positive(
            fisher_z(powers[1 / depth]) - fisher_z(best_other),
            "Fisher's z of the power 1/L minus that of the best other",
        )
        means[case] = f"{powers[1 / depth].mean():.4f} and {best_other.mean():.4f}"
    return replace(all_of(**parts), measured=_at_depths("the power 1/L and the best other have cosines", means))


def fact_holds(rows: Rows) -> Finding:
    """At each depth FACT's cosine rounds to 0.999 or more."""
    fact = _by_depth(rows)
    measured = _at_depths("the cosine of FACT is", {case: f"{fact[case].mean():.4f}" for case in fact})
    return replace(_each(fact, ROUNDED, f"FACT's cosine minus {ROUNDED:g}"), measured=measured)


def balanced(rows: Rows) -> Finding:
    """At each depth the layers' singular values agree to 5 % of the largest."""
    spreads = {case: -values for case, values in _by_depth(rows).items()}
    largest = max(float(-values.mean()) for values in spreads.values())
    finding = _each(spreads, -SPREAD, f"{SPREAD:g} minus the spread of singular values, relative to the largest")
    return replace(
        finding, measured=f"the layers' singular values differ by at most {100 * largest:.2g} % of the largest"
    )


def converged(rows: Rows) -> Finding:
    """At each depth and in each layer, on average over seeds, -grad_W L / lambda is nearer to W than to 0."""
    means = {" layer ".join(key): float(group.value.mean()) for key, group in rows.by("case", "layer").items()}
    largest = max(means.values())
    rule = f"||grad_W L_lambda|| / (lambda ||W||) at most {STATIONARY:g} in every layer, mean over seeds"
    return Finding(largest <= STATIONARY, largest, rule, "bound", high=STATIONARY, numbers=means)


def above_null(rows: Rows) -> Finding:
    """At each depth FACT and AGOP^(1/L) are above their nulls."""
    parts = {}
    for case, depth, powers in _powers(rows.where(quantity="cosine/agop")):
        fact = rows.where(quantity="cosine/fact", case=case).value
        for name, values in (("agop", powers[1 / depth]), ("fact", fact)):
            null = rows.where(quantity=f"null/{name}", case=case).value
            parts[f"{_depth(case)}, {name}"] = positive(
                fisher_z(values) - fisher_z(null), "Fisher's z of the cosine minus that of its null's 97.5 % quantile"
            )
    return all_of(**parts)


def _depth(case: str) -> str:
    return f"L = {case.removeprefix('L')}"


def _at_depths(words: str, texts: dict[str, str]) -> str:
    """The words, and behind them a text for each depth, by its case such as "L2"."""
    return f"{words} {', '.join(f'{text} ({_depth(case)})' for case, text in texts.items())}"


def _by_depth(rows: Rows) -> dict[str, np.ndarray]:
    return {case: depth.value[np.argsort(depth.seed)] for (case,), depth in rows.by("case").items()}


def _powers(rows: Rows) -> Iterator[tuple[str, int, dict[float, np.ndarray]]]:
    """Each case, its depth, and AGOP's cosines over seeds by power."""
    for (case,), depth in rows.by("case").items():
        powers = {power: of_power.value[np.argsort(of_power.seed)] for (power,), of_power in depth.by("x").items()}
        yield case, int(case.removeprefix("L")), powers


def _each(values: dict[str, np.ndarray], least: float, label: str) -> Finding:
    parts = {_depth(case): replace(positive(cosines - least, label), numbers={"mean": float(np.mean(cosines))})
             for case, cosines in values.items()}  # fmt: skip
    return all_of(**parts)


HYPOTHESES = (
    Hypothesis(
        name="critical point",
        text="The networks are trained “to convergence” with weight decay (Appendix C), and FACT is about critical "
        f"points (Theorem 3.1): the regularised loss's gradient in each W is at most {STATIONARY:g} of lambda ||W||.",
        rule=converged,
        reads=("stationarity",),
    ),
)
CONTROLS = {
    "no weight decay": Control(text="The networks are trained without weight decay."),
}
STATEMENTS = (
    Statement(
        name="AGOP to the power 1/L",
        quote="has cosine similarity close to 1 to the NFM",
        place="Figure 11, caption",
        rule=close_to_one,
        printed="close to 1",
        reads=("cosine/agop",),
        cases=3,
        rows=45,  # three depths, five powers, five seeds: 75
    ),
    Statement(
        name="FACT at every depth",
        quote="For all of these network depths, FACT has cosine similarity",
        place="Figure 11, caption",
        rule=fact_holds,
        reads=("cosine/fact",),
        printed=f"≥ {FACT}",
        cases=3,
        rows=9,
    ),
    Statement(
        name="balanced",
        quote="the singular values of all of the weight matrices are identical after training, indicating balancedness",
        place="Appendix C",
        rule=balanced,
        printed="identical",
        reads=("balance",),
        cases=3,
        rows=9,
    ),
    Statement(
        name="1/L is the best power",
        quote="the exponent s in (NFA) must scale as 1/L in order for the NFA prediction to be correct",
        place="Appendix C",
        rule=best_power,
        printed="s = 1/L",
        reads=("cosine/agop",),
        cases=3,
        rows=45,
    ),
    Statement(
        name="above the null",
        quote="has cosine similarity close to 1 to the NFM",
        place="Figure 11, caption",
        rule=above_null,
        reads=("cosine/agop", "cosine/fact", "null/agop", "null/fact"),
        kind="ours",
        cases=3,
        rows=9,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the cosine of each power of AGOP, and that of FACT as a level line; the power 1/L is marked."""
    cases = sorted(case for case in rows["case"].unique() if case.startswith("L") and "," not in case)
    figure, grid = style.panels(claim, columns=len(cases), height=3.6, sharey=True)
    for axes, case in zip(grid[0], cases, strict=True):
        for arm in ["claim", *style.controls(rows)]:
            arm_rows = rows[(rows["case"] == case) & (rows["arm"] == arm)]
            control = arm != "claim"
            agop = arm_rows[arm_rows["quantity"] == "cosine/agop"]
            style.seeds(axes, agop, "x", style.CONTROL if control else style.COLORS["AGOP"],
                        marker=style.MARKS["control" if control else "claim"], markersize=4,
                        label=f"AGOP^s, {arm}" if control else "AGOP^s")  # fmt: skip
            fact = arm_rows[arm_rows["quantity"] == "cosine/fact"]["value"].mean()
            axes.axhline(fact, color=style.CONTROL if control else style.COLORS["FACT"], linestyle="--", linewidth=1.2,
                         label=f"FACT, {arm}" if control else "FACT")  # fmt: skip
        depth = int(case.removeprefix("L"))
        axes.axvline(1 / depth, color=style.GUIDE, linestyle=":", linewidth=1, label="_")
        axes.set(title=f"L = {depth}", xlabel="power s, dotted: 1/L", ylim=(min(0, rows["value"].min()), 1.03))
    grid[0, 0].set_ylabel("cosine with W₁ᵀW₁")
    style.label_lines(grid[0, -1])
    style.note(figure, style.meaning_of_lines(rows))
    return figure
