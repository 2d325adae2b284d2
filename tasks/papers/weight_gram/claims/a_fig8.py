"""In the rich regime, the two narrowest widths, the best linear predictor y_OLS on the features moves towards y.

At these two widths ||y - y_OLS|| and ||ŷ - y_OLS|| decrease substantially, that is, by more than a tenth of ||y||. The
wider the network, the less y_OLS moves. At the widest width mainly the network's output ŷ moves, and ||y - y_OLS||
stays near zero: below a tenth of ||y||, and below its least value at the two rich widths. The rich regime ends closer
to y. Throughout, ||y - ŷ|| <= ||ŷ - y_OLS|| + ||y_OLS - y||.

If the width exceeds the number of samples, y_OLS is y up to the ridge for almost any features. In the paper the width
1024 exceeds the 1000 samples. A distance near zero then says nothing about laziness. So the movement of the features
decides whether the widest network is lazy. The paper concludes that the features limit the lazy network; a condition of
this statement is that the network is lazy. The paper's figure contradicts the conclusion. ||y - y_OLS|| is the part of
y that the features cannot express, and at the widest width it is near zero. The rest of the error is ||ŷ - y_OLS||,
which the network has not fitted yet.

The control “NTK-scaled” replaces the narrowest network by one in NTK scaling; at the other widths it is the corrected
form. So it tests only statements that read the narrowest network. We read “alone drives” as “falls by more”.
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
TITLE = "Narrow networks chase a moving linear predictor, wide networks a fixed one"
PRINTED = "y_OLS shifts substantially at widths 32, 128; ‖y − y_OLS‖ flat near zero at 1024; Figure 8"
MATH = (
    r"\| y - \hat y \| \le \| \hat y - y_{\text{OLS}} \| + \| y_{\text{OLS}} - y \|",
    r"\| y - y_{\text{OLS},t} \| \text{ falls at small widths and stays near } 0 \text{ at large ones}",
)
MATH_CORRECTED = r"\text{the same with } \hat y = \frac{1}{\sqrt{k}}\, a^\top h_L(x) \text{ at width } k"
CORRECTS = "a setting"
CORRECTION = (
    "The network's outputs are divided by the square root of its width, as in the authors' code. With the printed "
    "standard parametrization a wider network takes larger steps, not smaller ones."
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
    finding, course = _falls_substantially(by_number(rows)[1], "||y - y_OLS||")
    return replace(finding, measured=f"‖y − y_OLS‖/‖y‖ {course}")


def network_chases(rows: Rows) -> Finding:
    """At both rich widths ||ŷ - y_OLS|| falls in training by more than a tenth of ||y||."""
    finding, course = _falls_substantially(by_number(rows)[1], "||ŷ - y_OLS||")
    return replace(finding, measured=f"‖ŷ − y_OLS‖/‖y‖ {course}")


def _falls_substantially(distance: np.ndarray, name: str) -> tuple[Finding, str]:
    """The finding on a distance over ||y||, (seeds, widths, epochs), and how it goes at the narrowest width."""
    fall = (distance[:, :RICH, 0] - distance[:, :RICH, -1]).min(1)
    before, *_, after = distance[:, 0].mean(0)
    finding = positive(fall - TENTH, f"smallest fall of {name}/||y|| at the rich widths, minus {TENTH:g}")
    return finding, f"goes from {before:.2f} to {after:.2f} in the training of the narrowest network"


def flattens(rows: Rows) -> Finding:
    """The wider the network, the less ||y - y_OLS|| falls in training."""
    distance = by_number(rows)[1]
    return trend(distance[:, :, -1] - distance[:, :, 0], "||y - y_OLS|| falls less in training if the network is wider")


def near_zero(rows: Rows) -> Finding:
    """At the widest ||y - y_OLS|| is always below a tenth of ||y||, and below its least value at the rich widths."""
    distance = by_number(rows)[1]
    least, largest = distance[:, :RICH].min((1, 2)), distance[:, -1].max(1)
    finding = all_of(
        level=positive(TENTH - largest, f"{TENTH:g} minus the largest ||y - y_OLS||/||y|| at the widest width"),
        lead=positive(
            least - largest, "least ||y - y_OLS||/||y|| at the rich widths minus the largest at the widest width"
        ),
    )
    at_widths = f"at most {largest.mean():.2f} at the widest width and at least {least.mean():.2f} at the two narrowest"
    return replace(finding, measured=f"in training, ‖y − y_OLS‖/‖y‖ is {at_widths}")


def chase_alone(rows: Rows) -> Finding:
    """At the widest ||ŷ - y_OLS|| falls more than ||y - y_OLS||."""
    chase, distance = (by_number(rows.where(quantity=f"target/{name}"))[1][:, -1] for name in ("chase", "distance"))
    lead = (chase[:, 0] - chase[:, -1]) - (distance[:, 0] - distance[:, -1])
    return positive(lead, "at the widest width, fall of ||ŷ - y_OLS||/||y|| minus fall of ||y - y_OLS||/||y||")


def rich_ends_closer(rows: Rows) -> Finding:
    """After training the error of both rich widths is below that of the widest."""
    widths, courses = by_number(rows)
    error = courses[:, :, -1]
    statistic = "final ||y - ŷ||/||y|| at the widest width minus the largest at the rich widths"
    finding = positive(error[:, -1] - error[:, :RICH].max(1), statistic)
    errors = ", ".join(f"{mean:.3f}" for mean in error.mean(0))
    return replace(finding, measured=f"after training, ‖y − ŷ‖/‖y‖ is {errors} at the widths {_listed(widths)}")


def features_limit(rows: Rows) -> Finding:
    """After training ||y - y_OLS|| exceeds ||ŷ - y_OLS|| at the widest.

    The paper splits the error into these two. Both are read after training, because those of the network before
    training are no parts of the final error.
    """
    distance, chase = (by_number(rows.where(quantity=f"target/{name}"))[1][:, -1, -1] for name in ("distance", "chase"))
    finding = positive(
        distance - chase, "after training at the widest width, ||y - y_OLS||/||y|| minus ||ŷ - y_OLS||/||y||"
    )
    at_the_end = f"‖y − y_OLS‖/‖y‖ is {distance.mean():.3f} and ‖ŷ − y_OLS‖/‖y‖ is {chase.mean():.3f}"
    return replace(finding, measured=f"after training of the widest network, {at_the_end}")


def features_freeze(rows: Rows) -> Finding:
    """The wider the network, the less its features move, relative to their norm."""
    widths, courses = by_number(rows)
    movement = courses[:, :, -1]
    finding = trend(-movement, "the relative movement of the features falls with the width")
    means = ", ".join(f"{mean:.2f}" for mean in movement.mean(0))
    measured = f"relative to their norm, the features move by {means} at the widths {_listed(widths)}"
    return replace(finding, measured=measured)


def features_fixed(rows: Rows) -> Finding:
    """At the widest the features move by less than a tenth of their norm."""
    movement = by_number(rows)[1][:, -1, -1]
    finding = positive(TENTH - movement, f"{TENTH:g} minus the relative movement of the features at the widest width")
    return replace(
        finding, measured=f"the features of the widest network move by {movement.mean():.2f} times their norm"
    )


def _listed(widths: np.ndarray) -> str:
    return ", ".join(f"{width:g}" for width in widths)


RICH_REGIME = (
    "in the rich regime (widths 32, 128), both terms decrease substantially: ŷ chases y_OLS while y_OLS "
    "itself shifts toward y"
)
CONTROLS = {
    "NTK-scaled": Control(
        text="The narrowest network has the NTK scaling; the others are those of the corrected form.",
        equal_statements=(
            "mainly the network moves",
            "the features limit the lazy end",
            "features fixed at the widest",
        ),
        equal_because="They read the widest network alone, and there this control is the corrected form.",
    ),
    "narrowest and widest exchanged": Control(
        text="The narrowest and the widest network of the corrected form are exchanged."
    ),
    "labels shuffled at the measure": Control(
        text="Shuffled labels take the place of y in all distances, and y_OLS is their best linear predictor; "
        "training is the corrected form's.",
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
        stands_in="The inequality holds for any three vectors, so no network can break it. A test shows that the "
        "rule finds a left side that is larger.",
    ),
)
HYPOTHESES = (
    Hypothesis(
        name="the widest network is lazy",
        text=f"In training the features of the widest network move by less than {TENTH:g} of their norm. The paper "
        "says “the lazy regime” and “the static expressivity of its initial features”. In the lazy regime “the feature "
        "map remains effectively fixed” (Section 4.2).",
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
    style.note(figure, style.meaning_of_lines(rows))
    return figure
