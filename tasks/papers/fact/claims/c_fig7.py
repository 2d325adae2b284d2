"""At convergence of FACT-RFM on modular addition the two similarities of Proposition 5.1 are nearly proportional.

The similarity tau(x_i, M, x_j) of the AGOP is plotted against that of FACT, k'(x_i^T M x_j), on 1000 random pairs of
samples. A good fit means that the best line through the origin has an R^2 above 0.9. The arXiv version draws the line
and prints no R^2; 0.987 is from the version at ICLR. The fit is almost as good for an untrained M. At M = I the pairs
that share a number (k' = 2, tau about 0.07) lie apart from the others (k' = 0, tau about 0.002), and R^2 is 0.94 at p =
61. So a good fit does not show that features were learned; a statement of ours asks whether training improves the fit.
The control takes k' from an M whose numbers are relabelled.

Section 5 says that both similarities increase when W x_i and W x_j are closer, and decrease otherwise. We ask for a
Spearman correlation above 1/2 with minus the distance, over pairs that share no number. A common number brings two
samples together under any M with a large diagonal. The control has the distances of an M whose numbers are relabelled.

Section 5 also says that both algorithms converge to similar features, "as demonstrated in Section 4.3". Section 4.3
says that they learn distinct features (C.fig6). Section 1 says that the features are "highly correlated in most
settings". The sentences contradict each other, and one setting cannot decide "most". So the statements on this are
ours. Their measure is the correlation that Section 1 names. We call features similar if the Pearson correlation of the
last M of NFA-RFM and of FACT-RFM is above 1/2, nearer to 1 than to 0, in the mean over seeds. The two M correlate in
any case: both have a large diagonal and circulant blocks. The control and the value by chance keep these, and relabel
FACT-RFM's numbers by i -> c i + s modulo p. Statements of ours ask whether the correlation is above chance, and whether
it is above 1/2 without the diagonal.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.fact.claims.shared.correlations import LOW

ID = "C.fig7"
KIND = "statistical"
TITLE = "The similarities of AGOP and FACT are proportional"
R_SQUARED = 0.987  # printed
PRINTED = f"good fit of a line through the origin, 1000 pairs, mod 61, Figure 7; R² = {R_SQUARED} in the ICLR version"
MATH = (
    rf"\tau(x_i, M, x_j) \approx c\, k'(x_i^\top M x_j), \quad R^2 = {R_SQUARED}",
    r"\rho\left( M_{\text{NFA-RFM}},\; M_{\text{FACT-RFM}} \right) > \tfrac{1}{2}",
)
LEAST = 0.9  # R^2 of a good fit
CLOSER = ("modular/closer, k'", "modular/closer, tau")


def good_fit(rows: Rows) -> Finding:
    """By seed: R^2 of the best line through the origin, relative to the variance of tau, is above LEAST."""
    fits = _fits(rows, "pair")
    finding = positive(fits - LEAST, f"R^2 of the line through the origin minus {LEAST:g}")
    mean = float(fits.mean())
    return replace(finding, measured=f"the line through the origin has an R² of {mean:.3f}", numbers={"mean R^2": mean})


def better_than_untrained(rows: Rows) -> Finding:
    """By seed: R^2 of the line is larger at convergence than at M = I."""
    trained, untrained = _fits(rows, "pair"), _fits(rows, "untrained pair")
    finding = positive(trained - untrained, "R^2 at convergence minus R^2 at M = I, paired by seed")
    measured = f"R² is {trained.mean():.3f} at convergence and {untrained.mean():.3f} at M = I"
    return replace(finding, numbers={"mean R^2 at M = I": float(untrained.mean())}, measured=measured)


def increase_when_closer(rows: Rows) -> Finding:
    """By seed: the rank correlations of both measures with minus the distance are nearer to 1 than to 0."""
    parts, measured = {}, []
    for name in CLOSER:
        correlations = rows.by_seed(quantity=name)
        label = name.rpartition(", ")[2]
        finding = positive(
            correlations - LOW, f"Spearman's correlation of {label} with closeness (minus the distance), minus {LOW:g}"
        )
        parts[label] = replace(finding, numbers={"mean correlation": float(correlations.mean())})
        measured.append(f"{correlations.mean():.2f} for {label}")
    words = "Spearman's correlation with minus the distance is"
    return replace(all_of(**parts), measured=f"{words} {' and '.join(measured)}")


def similar(rows: Rows) -> Finding:
    """By seed: the correlation of both machines' last M is nearer to 1 than to 0."""
    return _above_half(rows.value, "the correlation of NFA-RFM's and FACT-RFM's M", "")


def similar_blocks(rows: Rows) -> Finding:
    """By seed: without the diagonal and the blocks' means the correlation is nearer to 1 than to 0."""
    words = "without the diagonal and the blocks' means the correlation"
    return _above_half(rows.value, words, " without the diagonal")


def _above_half(correlations: np.ndarray, words: str, without: str) -> Finding:
    finding = positive(correlations - LOW, f"correlation of NFA-RFM's and FACT-RFM's last M{without}, minus {LOW:g}")
    mean = float(correlations.mean())
    return replace(finding, numbers={"mean correlation": mean}, measured=f"{words} is {mean:.2f}")


def similar_beyond_chance(rows: Rows) -> Finding:
    """By seed: the correlation of both machines' last M exceeds 97.5 % of those with relabelled numbers."""
    means: dict[str, float] = {}
    measured = []
    for name, subject in (("correlation", "the correlation"), ("block correlation", "without the diagonal it")):
        values, chance = (rows.by_seed(quantity=f"{prefix}modular/{name}") for prefix in ("", "null/"))
        means |= {name: float(values.mean()), f"{name} by chance": float(chance.mean())}
        measured.append(f"{subject} is {values.mean():.2f}, and by chance {chance.mean():.2f}")
    lead = rows.by_seed(quantity="modular/correlation") - rows.by_seed(quantity="null/modular/correlation")
    finding = positive(lead, "correlation of NFA-RFM's and FACT-RFM's last M minus its null's 97.5 % quantile")
    return replace(finding, numbers=means, measured="; ".join(measured))


def as_printed(rows: Rows) -> Finding:
    """The mean R^2 over seeds equals the printed R^2 of one run."""
    return equals(_fits(rows, "pair"), R_SQUARED, 0.001)


def _fits(rows: Rows, name: str) -> np.ndarray:
    by_seed = rows.where(quantity=f"modular/{name}").by("seed").values()
    return np.array([r_squared(seed.x, seed.value) for seed in by_seed])


CONTROLS = {
    "k' of relabelled M": Control(
        text="The numbers of M are renamed at random before k′ is computed, but not before τ is.", has=("modular/pair",)
    ),
    "numbers multiplied": Control(
        text="The numbers i of FACT-RFM's M are renamed c i + s modulo p, with random c and s, before it is compared "
        "with NFA-RFM's M.",
        has=("modular/correlation", "modular/block correlation"),
    ),
    "distances of relabelled M": Control(
        text="The numbers of M are renamed at random before the distances are computed, but not before k′ and τ are.",
        has=CLOSER,
    ),
}
STATEMENTS = (
    Statement(
        name="proportional",
        quote="we show that a best-fit line proportionally relating the two quantities achieves a good fit",
        place="Section 5",
        rule=good_fit,
        reads=("modular/pair",),
        rows=2000,  # 1000 pairs a seed
    ),
    Statement(
        name="similarities increase with closeness",
        quote="These measures increase when the transformed representations Wx_i and Wx_j are closer in the feature "
        "space, and decrease otherwise.",
        place="Section 5",
        rule=increase_when_closer,
        reads=CLOSER,
        rows=5,
    ),
    Statement(
        name="similar features",
        quote="as demonstrated in Section 4.3 both algorithms converge to similar features",
        place="Section 5; Section 4.3 says “distinct”, see C.fig6",
        rule=similar,
        reads=("modular/correlation",),
        kind="ours",
        rows=3,
    ),
    Statement(
        name="similar blocks",
        quote="as demonstrated in Section 4.3 both algorithms converge to similar features",
        place="Section 5",
        rule=similar_blocks,
        reads=("modular/block correlation",),
        kind="ours",
        rows=3,
    ),
    Statement(
        name="similar beyond chance",
        quote="we empirically find that the features learned by both algorithms are highly correlated in most settings "
        "(apart from the synthetic adversarial settings that we construct in Section 3.2 where they differ)",
        place="Section 1",
        rule=similar_beyond_chance,
        reads=tuple(
            f"{prefix}modular/{name}" for prefix in ("", "null/") for name in ("correlation", "block correlation")
        ),
        kind="ours",
        rows=3,
    ),
    Statement(
        name="better than untrained",
        quote="we show that a best-fit line proportionally relating the two quantities achieves a good fit",
        place="Section 5",
        rule=better_than_untrained,
        reads=("modular/pair", "modular/untrained pair"),
        kind="ours",
        rows=2000,
    ),
    Statement(
        name="the printed fit",
        quote="Drawing: the line with its R², which the ICLR version alone prints",
        place="Figure 7, ICLR version",
        rule=as_printed,
        reads=("modular/pair",),
        kind="printed level",
        printed=f"R² = {R_SQUARED}",
        rows=2000,
        scales=("paper",),
    ),
)


def r_squared(x: np.ndarray, y: np.ndarray) -> float:
    """R^2 of y = a x with the least-squares a >= 0: quantities of opposite signs are not proportional."""
    slope = max((x @ y) / (x @ x), 0.0)
    return float(1 - ((y - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the first seed's pairs at convergence, at M = I and for each control, with the R² of all seeds."""
    panels = {"FACT-RFM, last iterate": ("claim", "pair"), "M = I": ("claim", "untrained pair")}
    panels |= {arm: (arm, "pair") for arm in style.controls(rows[rows["quantity"] == "modular/pair"])}
    columns = -(-len(panels) // 2) if len(panels) > 3 else len(panels)
    lines = -(-len(panels) // columns)
    figure, grid = style.panels(claim, columns=columns, rows=lines, height=0.6 + 2.5 * lines)
    for axes, (title, (arm, name)) in zip(grid.flat, panels.items(), strict=False):
        arm_rows = rows[(rows["arm"] == arm) & (rows["quantity"] == f"modular/{name}")]
        fits = [r_squared(seed["x"].to_numpy(), seed["value"].to_numpy()) for _, seed in arm_rows.groupby("seed")]
        pairs = arm_rows[arm_rows["seed"] == 0]
        color = style.CLAIM if arm == "claim" and name == "pair" else style.GUIDE if arm == "claim" else style.CONTROL
        axes.plot(pairs["x"], pairs["value"], "o", color=color, markersize=2.5, alpha=0.4, markeredgewidth=0,
                  rasterized=True)  # fmt: skip
        x = np.array([0.0, pairs["x"].max()])
        axes.plot(x, x * (pairs["x"] @ pairs["value"]) / (pairs["x"] @ pairs["x"]), color="black", linewidth=1)
        axes.set(xlabel="k′(xᵢᵀMxⱼ)", ylabel="τ(xᵢ, M, xⱼ)")
        comparable = style.are_of_paper_scale(rows) and (arm, name) == ("claim", "pair")
        printed = f" (printed {100 * R_SQUARED:.1f} %)" if comparable else ""
        axes.set_title(f"{title}\nR² {100 * np.mean(fits):.1f} %{printed}", fontsize=8, color=color)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    style.note(figure, f"dots: the first of {rows['seed'].nunique()} seeds; R²: of the line through 0, mean of all")
    return figure
