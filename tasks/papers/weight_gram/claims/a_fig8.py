"""In the rich regime, the two narrowest widths, the best linear predictor y_OLS on the features moves towards y.

Both terms decrease substantially there, that is, by more than a tenth of ||y||. As the width grows this movement
shrinks. At the widest ||y - y_OLS|| stays near zero, that is, below a tenth of ||y|| and below its least value at the
two rich widths, and mainly the network f moves. The rich regime ends closer to the target. Throughout, ||y - f|| <= ||f
- y_OLS|| + ||y_OLS - y||. Where the width exceeds the number of samples, as 1024 exceeds the paper's 1000, y_OLS is y
up to the ridge for almost any features. A distance near zero then says nothing about laziness. So the paper's sentence
that the widest network is lazy, with a fixed feature space, is judged by the movement of its features. The paper
concludes that the features limit the lazy network; that this network is lazy is a hypothesis. The paper's figure
contradicts the conclusion: at the widest ||y - y_OLS||, which the features cannot express, is near zero. The rest of
the error is ||f - y_OLS||, which the network has not fitted yet.

The control "NTK-scaled" replaces the narrowest network by one in NTK scaling; at the other widths it is the corrected
form. So it tests only statements that read the narrowest network. "Alone drives" is read as "falls by more".
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, positive, trend
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import case_number, cases_by_number

ID = "A.fig8"
KIND = "statistical"
TITLE = "Narrow networks chase a moving linear predictor, wide ones a fixed one"
PRINTED = "y_OLS shifts substantially at widths 32, 128; ‖y − y_OLS‖ flat near zero at 1024; Figure 8"
MATH = (
    r"\| y - \hat y \| \le \| \hat y - y_{\text{OLS}} \| + \| y_{\text{OLS}} - y \|",
    r"\| y - y_{\text{OLS},t} \| \text{ falls at small widths and stays near } 0 \text{ at large ones}",
)
MATH_CORRECTED = r"\text{the same with } \hat y = \frac{1}{\sqrt{k}}\, a^\top h_L(x) \text{ at width } k"
CORRECTS = "a setting"
CORRECTION = (
    "The network's outputs are divided by the root of its width, as in the authors' code: with the printed standard "
    "parametrization a wider network takes larger steps, not smaller ones."
)
# of a norm: features that move less are effectively fixed, a term that falls more decreases substantially, and a term
# below it is near zero
TENTH = 0.1
RICH = 2  # the narrowest widths
LINES = {
    "target/distance": (style.COLORS["linear predictor"], "‖y − y_OLS‖,\nthe predictor's error"),
    "target/chase": (style.COLORS["chase"], "‖ŷ − y_OLS‖,\nthe network's chase"),
    "target/error": (style.COLORS["network"], "‖y − ŷ‖,\nthe network's error"),
}
SHORT = {
    "control: narrowest and widest exchanged": "widths exchanged",
    "control: labels shuffled at the measure": "labels shuffled",
}
FORMS = {"corrected": "corrected", "claim": "as printed"}


def target_moves(rows: Rows) -> Finding:
    """At both rich widths ||y - y_OLS|| falls in training by more than a tenth of ||y||."""
    finding, narrowest = _falls_substantially(by_number(rows)[1], "||y - y_OLS||")
    return replace(finding, measured=f"‖y − y_OLS‖/‖y‖ {narrowest}")


def network_chases(rows: Rows) -> Finding:
    """At both rich widths ||f - y_OLS|| falls in training by more than a tenth of ||y||."""
    finding, narrowest = _falls_substantially(by_number(rows)[1], "||f - y_OLS||")
    return replace(finding, measured=f"‖ŷ − y_OLS‖/‖y‖ {narrowest}")


def _falls_substantially(distance: np.ndarray, name: str) -> tuple[Finding, str]:
    """The finding on a distance over ||y||, (seeds, widths, epochs), and how it goes at the narrowest width."""
    fall = (distance[:, :RICH, 0] - distance[:, :RICH, -1]).min(1)
    before, *_, after = distance[:, 0].mean(0)
    finding = positive(fall - TENTH, f"fall of {name} over ||y||, least of the rich widths, minus {TENTH:g}")
    return finding, f"goes from {before:.2f} to {after:.2f} at the narrowest"


def flattens(rows: Rows) -> Finding:
    """The wider the network, the less ||y - y_OLS|| falls in training."""
    distance = by_number(rows)[1]
    return trend(distance[:, :, -1] - distance[:, :, 0], "minus the fall of ||y - y_OLS|| with the width")


def near_zero(rows: Rows) -> Finding:
    """At the widest ||y - y_OLS|| is always below a tenth of ||y||, and below its least value at the rich widths."""
    distance = by_number(rows)[1]
    least, largest = distance[:, :RICH].min((1, 2)), distance[:, -1].max(1)
    finding = all_of(
        level=positive(TENTH - largest, f"{TENTH:g} minus the largest ||y - y_OLS|| over ||y|| at the widest"),
        lead=positive(least - largest, "least ||y - y_OLS|| at the rich widths minus largest at the widest"),
    )
    at_widths = f"at most {largest.mean():.2f} at the widest and at least {least.mean():.2f} at the two narrowest"
    return replace(finding, measured=f"‖y − y_OLS‖/‖y‖ in training is {at_widths}")


def chase_alone(rows: Rows) -> Finding:
    """At the widest ||f - y_OLS|| falls more than ||y - y_OLS||."""
    chase, distance = (by_number(rows.where(quantity=f"target/{name}"))[1][:, -1] for name in ("chase", "distance"))
    lead = (chase[:, 0] - chase[:, -1]) - (distance[:, 0] - distance[:, -1])
    return positive(lead, "at the widest, fall of ||f - y_OLS|| minus fall of ||y - y_OLS||")


def rich_ends_closer(rows: Rows) -> Finding:
    """After training the error of both rich widths is below that of the widest."""
    error = by_number(rows)[1][:, :, -1]
    finding = positive(error[:, -1] - error[:, :RICH].max(1), "final error, widest minus largest of the rich widths")
    errors = ", ".join(f"{mean:.3f}" for mean in error.mean(0))
    return replace(finding, measured=f"final error from the narrowest to the widest: {errors}")


def features_limit(rows: Rows) -> Finding:
    """After training ||y - y_OLS|| exceeds ||f - y_OLS|| at the widest.

    The paper splits the error into these two. Both are read after training, because those of the network before
    training are no parts of the final error.
    """
    distance, chase = (by_number(rows.where(quantity=f"target/{name}"))[1][:, -1, -1] for name in ("distance", "chase"))
    finding = positive(distance - chase, "at the widest after training, ||y - y_OLS|| minus ||f - y_OLS||")
    at_the_end = f"‖y − y_OLS‖/‖y‖ is {distance.mean():.3f} and ‖ŷ − y_OLS‖/‖y‖ is {chase.mean():.3f}"
    return replace(finding, measured=f"after training of the widest network, {at_the_end}")


def features_freeze(rows: Rows) -> Finding:
    """The wider the network, the less its features move, relative to their norm."""
    movement = by_number(rows)[1][:, :, -1]
    finding = trend(-movement, "minus the movement of the features with the width")
    by_width = ", ".join(f"{mean:.2f}" for mean in movement.mean(0))
    return replace(
        finding, measured=f"movement of the features over their norm, from the narrowest to the widest: {by_width}"
    )


def features_fixed(rows: Rows) -> Finding:
    """At the widest the features move by less than a tenth of their norm."""
    movement = by_number(rows)[1][:, -1, -1]
    finding = positive(TENTH - movement, f"{TENTH:g} minus the movement of the features at the widest")
    return replace(finding, measured=f"the features of the widest network move by {movement.mean():.2f} of their norm")


RICH_REGIME = (
    "in the rich regime (widths 32, 128), both terms decrease substantially: ŷ chases y_OLS while y_OLS "
    "itself shifts toward y"
)
CONTROLS = {
    "NTK-scaled": Control(),
    "narrowest and widest exchanged": Control(),
    "labels shuffled at the measure": Control(
        has=("target/chase", "target/distance", "target/error", "target/triangle ratio"),
    ),
}
RETIRED = {"untrained": "It repeated the network before training at every epoch: each fall was exactly 0, at any seed."}
STATEMENTS = (
    Statement(
        name="y_OLS moves to y",
        quote=RICH_REGIME,
        place="Appendix B.4",
        rule=target_moves,
        reads=("target/distance",),
        printed="at widths 32 and 128",
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="the network chases y_OLS",
        quote=RICH_REGIME,
        place="Appendix B.4",
        rule=network_chases,
        reads=("target/chase",),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="flattens with the width",
        quote="As width grows, this gap flattens",
        place="Appendix B.4",
        rule=flattens,
        reads=("target/distance",),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="near zero at the widest",
        quote="at width 1024, ‖y − y_OLS‖₂ stays near zero throughout training",
        place="Appendix B.4",
        rule=near_zero,
        reads=("target/distance",),
        printed="near zero at width 1024",
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="mainly the network moves",
        quote="‖ŷ − y_OLS‖₂ alone drives the decrease in ‖y − ŷ‖₂",
        place="Appendix B.4",
        rule=chase_alone,
        printed="at width 1024",
        reads=("target/chase", "target/distance"),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="the rich end closer",
        quote="the rich regime achieves a lower final ‖ŷ − y‖₂ through successful feature learning",
        place="Appendix B.4",
        rule=rich_ends_closer,
        reads=("target/error",),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="the features limit the lazy end",
        quote="Consequently, the rich regime achieves a lower final ‖ŷ − y‖₂ through successful feature learning, "
        "whereas the lazy regime is bottlenecked by the static expressivity of its initial features.",
        place="Appendix B.4",
        rule=features_limit,
        reads=("target/chase", "target/distance"),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="features freeze",
        quote="As width grows, features freeze",
        place="Figure 8, caption",
        rule=features_freeze,
        reads=("movement/features",),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="features fixed at the widest",
        quote="at width 1024, ‖y − y_OLS‖₂ stays near zero throughout training while ‖ŷ − y_OLS‖₂ alone drives the "
        "decrease in ‖y − ŷ‖₂, recovering the lazy / NTK behavior in which learning reduces to kernel regression in a "
        "fixed feature space",
        place="Appendix B.4",
        rule=features_fixed,
        reads=("movement/features",),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="triangle inequality",
        quote="By the triangle inequality, the training loss decomposes as",
        place="Appendix B.4",
        rule=bound,
        reads=("target/triangle ratio",),
        cases={"quick": 3, "paper": 4},
        rows=100,
        stands_in="It holds of any three vectors, so no network can break it; a test shows that the rule finds a "
        "larger left side.",
    ),
)
HYPOTHESES = (
    Hypothesis(
        name="the widest network is lazy",
        text=f"At the widest the features move by less than {TENTH:g} of their norm in training. The paper says “the "
        "lazy regime” and “the static expressivity of its initial features”; “the feature map remains effectively "
        "fixed” in the lazy regime (Section 4.2).",
        rule=features_fixed,
        reads=("movement/features",),
        statements=("the features limit the lazy end",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each width as in the paper: the corrected form, the printed one, and the controls' targets."""
    cases = cases_by_number(rows)
    figure, grid = style.panels(claim, columns=len(cases), rows=3, height=6.0, sharex=True, sharey=True)
    grid[0, 0].set_ylim(0, 1.15)
    rows = style.thinned(rows, 6)
    controls = style.controls(rows[rows["quantity"] == "target/distance"])
    dashes = {"--": "dashed", "-.": "dash-dotted", ":": "dotted"}
    for column, case in enumerate(cases):
        panel = rows[rows["case"] == case]
        lines = [[(panel[(panel["arm"] == arm) & (panel["quantity"] == quantity)], label, color, "-")
                  for quantity, (color, label) in LINES.items()] for arm in FORMS]  # fmt: skip
        lines.append([(panel[(panel["arm"] == arm) & (panel["quantity"] == "target/distance")],
                       f"{dashes[dash]}:\n{SHORT.get(arm, arm.removeprefix('control: '))}", style.CONTROL, dash)
                      for arm, dash in zip(controls, dashes, strict=False)])  # fmt: skip
        for axes, of_panel in zip(grid[:, column], lines, strict=True):
            for line, _, color, dash in of_panel:
                style.seeds(axes, line, "x", color, linestyle=dash)
            if column == len(cases) - 1:
                style.label_ends(axes, [(float(line.loc[line["x"] == line["x"].max(), "value"].mean()), label, color)
                                        for line, label, color, _ in of_panel], gap=0.22)  # fmt: skip
        grid[0, column].set_title(f"width {case_number(case):g}")
        grid[2, column].set_xlabel("epoch")
    for axes, name in zip(grid[:, 0], (*FORMS.values(), "controls, ‖y − y_OLS‖"), strict=True):
        axes.set_ylabel(f"{name}\ndistance / ‖y‖")
    style.note(figure, style.what_lines_are(rows))
    return figure
