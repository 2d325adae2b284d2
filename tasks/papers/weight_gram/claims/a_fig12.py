"""The larger the probability p of a random training label, the lower the last layer's Target Linearity after training.

The generalisation gap, training accuracy minus test accuracy, grows with p. The training accuracy falls up to p = 0.5,
and Target Linearity (TL) grows more slowly for higher p. TL is that of the training set with its training labels; the
test labels are the true ones. The paper says this of networks that memorise their labels. The printed settings name no
momentum, and with them our networks do not memorise random labels at either scale. With the momentum of the authors'
code they do at both. The data are digits at the quick scale and CIFAR-10 at the paper scale. The control “untrained”
has the initial weights. The control “other labels” measures TL of labels drawn anew at random.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive, trend
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import case_number

ID = "A.fig12"
KIND = "statistical"
TITLE = "Random labels lower Target Linearity and widen the generalisation gap"
LEVELS = {0.0: (0.45, 0.01), 0.5: (0.3, 0.1), 0.75: (0.25, 0.01), 1.0: (0.25, 0.01)}  # by p: TL, its last digit's unit
TRAINING = {0.0: (0.85, 0.01), 0.5: (0.75, 0.01), 0.75: (0.7, 0.1), 1.0: (0.7, 0.1)}  # by p: the accuracy, the same
TEST = {0.0: (0.5, 0.1), 0.25: (0.3, 0.1), 0.5: (0.2, 0.1), 0.75: (0.1, 0.1), 1.0: (0.1, 0.1)}
MEAN_RISE = "the last layer's rise in TL, mean over epochs,"
LATENESS = "rise of the middle layers' TL per epoch, after the first third of training minus before"
NO_GROWTH = Finding(None, 0.0, "too few epochs to measure growth", "direction")
PRINTED = (
    f"last-layer TL {LEVELS[0.0][0]:g} (p = 0), {LEVELS[0.5][0]:g} (p = 0.5), {LEVELS[0.75][0]:g} (p ≥ 0.75), Figure 12"
)
MATH = (
    r"p < p' \;\implies\; \mathcal{T}_0(H_L, Y_p) > \mathcal{T}_0(H_L, Y_{p'})",
    r"p < p' \;\implies\; \text{training} - \text{test accuracy is smaller at } p",
)
MATH_CORRECTED = (
    r"W_{t+1} = W_t - \gamma v_{t+1}, \quad v_{t+1} = 0.95\, v_t + \nabla_W \mathcal{L} \quad\text{(the "
    r"print names no momentum)}"
)
CORRECTS = "a setting"
CORRECTION = (
    "The networks train with the momentum 0.95 of the authors' code. The paper names no momentum, and networks "
    "trained without one do not memorise random labels."
)
FALL = (LEVELS[0.0][0] - LEVELS[1.0][0]) / 4  # TL falls by more, or a trend of a thousandth would be one
ABOUT = 0.7  # "the overall training accuracy ... converges to approximately 0.7"
MEMORISED = 0.65  # the least accuracy that the print rounds to 0.7
ACCURACIES = ("train_accuracy", "test_accuracy")


def memorised(rows: Rows) -> Finding:
    """At every p the training accuracy after training is above the least that rounds to the paper's."""
    probabilities, accuracy = by_number(rows)
    label = f"training accuracy minus {MEMORISED:g}"
    return all_of(
        **{f"p = {p:g}": positive(accuracy[:, index, -1] - MEMORISED, label) for index, p in enumerate(probabilities)}
    )


HYPOTHESES = (
    Hypothesis(
        name="memorisation",
        text=f"The training accuracy after training is above {MEMORISED:g} at every p. The paper trains “to allow "
        f"sufficient memorization” and prints approximately {ABOUT:g} for p ≥ 0.75, more for smaller p. Numbers above "
        f"{MEMORISED:g} round to {ABOUT:g} or more.",
        rule=memorised,
        reads=("train_accuracy",),
    ),
)


def linearity_falls(rows: Rows) -> Finding:
    """After training the last layer's Target Linearity falls with p, by a quarter of the printed fall or more."""
    T = _last_layer(rows)[1]
    finding = all_of(
        trend=trend(-T, "the last layer's Target Linearity falls with p"),
        size=positive(T[:, 0] - T[:, -1] - FALL, f"TL at the smallest p minus TL at the largest, minus {FALL:g}"),
    )
    return replace(finding, measured=f"the last layer's TL is {_as_p_rises(T)}")


def gap_grows(rows: Rows) -> Finding:
    """After training the generalisation gap grows with p."""
    train, test = (by_number(rows.where(quantity=name))[1][:, :, -1] for name in ACCURACIES)
    measured = f"the gap is {_as_p_rises(train - test)}"
    return replace(trend(train - test, "the generalisation gap rises with p"), measured=measured)


def other_layers_fall(rows: Rows) -> Finding:
    """From p = 0 to p = 0.5 the other layers' Target Linearity falls too."""
    layers = sorted(set(rows.layer.tolist()))[:-1]
    parts = {}
    for layer in layers:
        probabilities, T = by_number(rows.where(layer=layer))
        half = int(np.argmin(np.abs(probabilities - 0.5)))
        parts[f"layer {layer}"] = positive(T[:, 0, -1] - T[:, half, -1], "TL at p = 0 minus TL at p = 0.5")
    return all_of(**parts)


def accuracy_falls(rows: Rows) -> Finding:
    """After training the training accuracy falls with p, up to p = 0.5.

    The sentence names no least size of the fall, and accuracies are means over many samples. The network before
    training is the control that can break the statement: its accuracy is that of chance at every p.
    """
    probabilities, accuracy = by_number(rows)
    final = accuracy[:, probabilities <= 0.5, -1]
    finding = trend(-final, "the training accuracy falls with p, up to p = 0.5")
    return replace(finding, measured=f"the training accuracy is {_as_p_rises(accuracy[:, :, -1])}")


def linearity_grows_slower(rows: Rows) -> Finding:
    """The mean rise of the last layer's Target Linearity over the epochs is lower at p = 1 than at p = 0.75.

    The sentence follows one on p >= 0.75, where the Target Linearity after training is printed as equal. The rise is
    that since before training, in the mean as in ``slower``, because the paper calls the two similar: a rise that comes
    late, or stays small, lowers it.
    """
    probabilities, rise = _mean_rise(rows)
    if rise.size == 0:
        return NO_GROWTH
    three_quarters, one = _places(probabilities)
    finding = positive(rise[:, three_quarters] - rise[:, one], f"{MEAN_RISE} p = 0.75 minus p = 1")
    return replace(finding, measured=f"{MEAN_RISE} is {_as_p_rises(rise)}")


def linearity_grows_slower_throughout(rows: Rows) -> Finding:
    """The mean rise of the last layer's Target Linearity falls over all p."""
    rise = _mean_rise(rows)[1]
    return trend(-rise, f"{MEAN_RISE} falls with p") if rise.size else NO_GROWTH


def _mean_rise(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities p, and the mean rise of the last layer's Target Linearity by seed and p.

    Networks before training have a single epoch and no growth, hence no numbers. They do not count as a control that
    breaks the statement.
    """
    probabilities, T = by_number(rows.where(layer=max(rows.layer)))
    return probabilities, (T[:, :, 1:] - T[:, :, :1]).mean(2) if T.shape[2] > 1 else np.empty((0, len(probabilities)))


def slower(rows: Rows) -> Finding:
    """The mean training accuracy over the epochs is lower at p = 1 than at p = 0.75."""
    probabilities, accuracy = by_number(rows)
    three_quarters, one = _places(probabilities)
    mean = accuracy.mean(2)
    return positive(
        mean[:, three_quarters] - mean[:, one], "mean training accuracy over the epochs, p = 0.75 minus p = 1"
    )


def gap_grows_midway(rows: Rows) -> Finding:
    """In the middle third of training the mean generalisation gap is larger at p = 1 than at p = 0.75."""
    probabilities = by_number(rows.where(quantity=ACCURACIES[0]))[0]
    train, test = (by_number(rows.where(quantity=name))[1] for name in ACCURACIES)
    epochs = train.shape[2]
    gap = (train - test)[:, :, epochs // 3 : 2 * epochs // 3 + 1].mean(2)
    three_quarters, one = _places(probabilities)
    statistic = "mean gap in the middle third of training, p = 1 minus p = 0.75"
    finding = positive(gap[:, one] - gap[:, three_quarters], statistic)
    measured = f"the mean gap in the middle third of training is {_as_p_rises(gap)}"
    return replace(finding, measured=measured)


def middle_layers_jump(rows: Rows) -> Finding:
    """The middle layers' Target Linearity rises late for p ≥ 0.75, and later than for smaller p.

    Late: it rises more per epoch after the first third of training than in it, in the mean over the layers between the
    first and the last. So slow early increases are followed by faster ones. Rises are compared per epoch, because the
    first third is the shorter part: a straight line rises more after it, and is no sudden increase. Networks before
    training have no epochs to compare, and do not count as a control that breaks the statement.
    """
    epochs = np.unique(rows.x)
    third = len(epochs) // 3
    if third == 0:
        return NO_GROWTH
    layers = sorted(set(rows.layer.tolist()))[1:-1]
    probabilities = by_number(rows.where(layer=layers[0]))[0]
    T = np.mean([by_number(rows.where(layer=layer))[1] for layer in layers], axis=0)
    early = (T[:, :, third] - T[:, :, 0]) / (epochs[third] - epochs[0])
    late = (T[:, :, -1] - T[:, :, third]) / (epochs[-1] - epochs[third])
    lateness = late - early
    high = probabilities >= 0.75
    finding = all_of(
        late=positive(lateness[:, high].mean(1), f"{LATENESS}, p ≥ 0.75"),
        later=positive(lateness[:, high].mean(1) - lateness[:, ~high].mean(1), f"{LATENESS}, p ≥ 0.75 minus smaller p"),
    )
    return replace(finding, measured=f"the {LATENESS}, is {_as_p_rises(lateness, '+.1e')}")


def levels_equal(rows: Rows, levels: dict[float, tuple[float, float]]) -> Finding:
    """The last layer's Target Linearity after training, or an accuracy, equals the printed number at each p."""
    probabilities, measured = _last_layer(rows)
    return all_of(**{
        f"p = {p:g}": equals(measured[:, int(np.argmin(np.abs(probabilities - p)))], printed, unit)
        for p, (printed, unit) in levels.items()
    })  # fmt: skip


def _last_layer(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities p, and the last layer's Target Linearity after training by seed and p; or an accuracy."""
    probabilities, levels = by_number(rows.where(layer=max(rows.layer)))
    return probabilities, levels[:, :, -1]


def _places(probabilities: np.ndarray) -> tuple[int, int]:
    """The places of p = 0.75 and of p = 1 among the probabilities."""
    three_quarters, one = (int(np.argmin(np.abs(probabilities - p))) for p in (0.75, 1.0))
    return three_quarters, one


def _as_p_rises(values: np.ndarray, layout: str = ".2f") -> str:
    """The means over seeds of values by seed and p, in the order of p."""
    means = ", ".join(format(mean, layout) for mean in values.mean(0))
    return f"{means} as p rises"


UNTRAINED = Control(
    text="The networks have their initial weights in place of the trained ones.",
    parts=("case", "layer"),
    parts_because="It is measured before training only.",
)
OTHER_LABELS = Control(
    text="Target Linearity is measured with labels drawn anew at random; the networks are trained on those "
    "of the claim.",
    equal_quantities=("test_accuracy", "train_accuracy"),
    equal_because="Only the labels of Target Linearity are drawn anew; networks and accuracies are the same.",
)
CONTROLS = {
    "untrained": UNTRAINED,
    "other labels": OTHER_LABELS,
    "untrained, corrected": UNTRAINED,
    "other labels, corrected": OTHER_LABELS,
}
CONVERGES = (
    "As p increases, the overall training accuracy decreases up to p = 0.5, while it converges to approximately 0.7 "
    "for p ≥ 0.75."
)
TEST_FALLS = (
    "the test accuracy decreases more rapidly, from 0.5 (p = 0.0) to 0.3 (p = 0.25) and 0.2 (p = 0.5), resulting in "
    "an increasing generalization gap."
)
TL_LEVELS = (
    "the last-layer TL drops from 0.45 (p=0.0) to 0.3 (p=0.5), while the training accuracy decreases from 0.85 to "
    "0.75. TL in other layers also decreases over this range. For p ≥ 0.75, the last-layer TL at the end of training "
    "remains around 0.25."
)
STATEMENTS = (
    Statement(
        name="TL falls",
        quote="increasing the random label probability p leads to both a larger generalization error and a decrease in "
        "last-layer TL",
        place="Appendix B.8",
        rule=linearity_falls,
        printed=f"{LEVELS[0.0][0]:g} at p = 0, {LEVELS[0.5][0]:g} at p = 0.5, around {LEVELS[0.75][0]:g} for p ≥ 0.75",
        reads=("target_linearity",),
        cases=5,
    ),
    Statement(
        name="gap grows",
        quote=TEST_FALLS,
        place="Appendix B.8",
        rule=gap_grows,
        reads=ACCURACIES,
        printed="test accuracy 0.5, 0.3, 0.2 at p = 0, 0.25, 0.5, around 0.1 for p ≥ 0.75; training accuracy 0.85 at "
        "p = 0, 0.75 at p = 0.5, around 0.7 for p ≥ 0.75",
        cases=5,
    ),
    Statement(
        name="other layers",
        quote="TL in other layers also decreases over this range.",
        place="Appendix B.8",
        rule=other_layers_fall,
        reads=("target_linearity",),
        cases=5,
    ),
    Statement(
        name="training accuracy falls",
        quote=CONVERGES,
        place="Appendix B.8",
        rule=accuracy_falls,
        reads=("train_accuracy",),
        printed="0.85 at p = 0, 0.75 at p = 0.5",
        cases=5,
    ),
    Statement(
        name="TL grows more slowly",
        quote="similar to the slower increase in training accuracy, the growth of TL also slows for higher p.",
        place="Appendix B.8",
        rule=linearity_grows_slower,
        reads=("target_linearity",),
        cases=5,
    ),
    Statement(
        name="TL grows more slowly throughout",
        quote="similar to the slower increase in training accuracy, the growth of TL also slows for higher p.",
        place="Appendix B.8",
        rule=linearity_grows_slower_throughout,
        reads=("target_linearity",),
        kind="ours",
        cases=5,
    ),
    Statement(
        name="more training time",
        quote="higher values of p require more training time to reach high training accuracy",
        place="Appendix B.8",
        rule=slower,
        reads=("train_accuracy",),
        cases=5,
    ),
    Statement(
        name="larger gap in the middle of training",
        quote="As a result, during the middle stages of training, the generalization gap is larger for higher p.",
        place="Appendix B.8",
        rule=gap_grows_midway,
        reads=ACCURACIES,
        cases=5,
    ),
    Statement(
        name="sudden increase of the middle layers",
        quote="the TL of the middle layers exhibits a sudden increase for p ≥ 0.75, unlike the cases with p ≤ 0.75. "
        "This may indicate the need for additional layers to fully memorize highly randomized labels. For p ≤ 0.75, "
        "the model can achieve sufficiently low loss using modestly processed intermediate representations "
        "exploiting the last layer, resulting in rapid early increases. However, for p ≥ 0.75, the model explores "
        "the parameter space more extensively, showing slow early increases followed by sudden changes across multiple "
        "layers.",
        place="Appendix B.8",
        rule=middle_layers_jump,
        reads=("target_linearity",),
        printed="for p ≥ 0.75, unlike smaller p",
        cases=5,
    ),
    *(
        Statement(
            name=f"printed levels of {name}",
            quote=quote,
            place="Appendix B.8",
            rule=partial(levels_equal, levels=levels),
            reads=(quantity,),
            kind="printed level",
            printed=", ".join(f"{level:g} at p = {p:g}" for p, (level, _) in levels.items()),
            cases=5,
            scales=("paper",),
        )
        for name, quantity, levels, quote in (
            ("TL", "target_linearity", LEVELS, TL_LEVELS),
            ("the training accuracy", "train_accuracy", TRAINING, CONVERGES),
            ("the test accuracy", "test_accuracy", TEST, TEST_FALLS),
        )
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each p as in the paper, and beside them both quantities after training against p."""
    rows = rows.assign(p=rows["case"].map(case_number))
    form = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    claim_rows = style.thinned(rows[rows["arm"] == form], 14)
    linearity = claim_rows[claim_rows["quantity"] == "target_linearity"]
    probabilities = sorted(linearity["p"].unique())
    figure, grid = style.panels(claim, columns=len(probabilities) // 2 + 1, rows=2, height=5.2)
    panels = list(grid.flat)
    for axes, p in zip(panels, probabilities, strict=False):
        axes.set(title=f"p = {p:g}", ylim=(0, 1.02), xlabel="epoch", ylabel="TL; accuracy")
        _draw_course(axes, claim_rows[claim_rows["p"] == p], named=axes is grid[0, -1])
    for axes in panels[len(probabilities) : -1]:
        axes.remove()
    _draw_final(panels[-1], rows, form)
    style.note(figure, style.meaning_of_lines(claim_rows))
    return figure


def _draw_course(axes: Axes, rows: pd.DataFrame, named: bool) -> None:
    """Target Linearity of every layer and both accuracies along training at one p, with the lines' names if asked."""
    linearity = rows[rows["quantity"] == "target_linearity"]
    names = sorted(linearity["layer"].unique())
    lines = [(linearity[linearity["layer"] == layer], f"TL, layer {layer}", color, "-")
             for layer, color in zip(names, style.layer_colors(len(names)), strict=True)]  # fmt: skip
    lines += [(rows[rows["quantity"] == quantity], name, style.COLORS[name], dashes) for quantity, name, dashes in
              (("train_accuracy", "training accuracy", "-."), ("test_accuracy", "test accuracy", "--"))]  # fmt: skip
    for line, label, color, dashes in lines:
        style.seeds(axes, line, "x", color, linestyle=dashes, label=label)
    if named:
        style.label_ends(axes, [(float(line.loc[line["x"] == line["x"].max(), "value"].mean()), label, color)
                                for line, label, color, _ in lines])  # fmt: skip


def _draw_final(axes: Axes, rows: pd.DataFrame, form: str) -> None:
    """The last layer's Target Linearity and the generalisation gap at the last epoch of every arm, against p."""
    rows = rows[rows["x"] == rows.groupby("arm")["x"].transform("max")]
    T = rows[(rows["quantity"] == "target_linearity") & (rows["layer"] == rows["layer"].max())]
    last = style.layer_colors(rows.loc[rows["quantity"] == "target_linearity", "layer"].nunique())[-1]
    ends: list[tuple[pd.DataFrame, str, str]] = [(T[T["arm"] == form], "TL, last layer", last)]
    style.seeds(axes, ends[0][0], "p", last, marker="o", markersize=4)
    accuracy = rows.pivot_table(index=["arm", "seed", "p"], columns="quantity", values="value", aggfunc="first")
    gap = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    controls = [arm for arm in style.controls(rows) if arm.endswith(", corrected") == (form == "corrected")]
    for arm, marker in zip(controls, "Xv", strict=False):
        name = arm.removeprefix("control: ").removesuffix(", corrected")
        of_arm = T[T["arm"] == arm]
        style.seeds(axes, of_arm, "p", style.CONTROL, linestyle=":", marker=marker, markersize=4, linewidth=1)
        ends.append((of_arm, f"✗ TL, {name}", style.CONTROL))
        if "untrained" in arm:  # the other control has the accuracies of the claim
            style.seeds(axes, gap[gap["arm"] == arm], "p", style.CONTROL, linestyle="--", marker="s", markersize=4,
                        linewidth=1)  # fmt: skip
            ends.append((gap[gap["arm"] == arm], f"✗ gap, {name}", style.CONTROL))
    style.seeds(axes, gap[gap["arm"] == form], "p", style.COLORS["accuracy gap"], marker="s", markersize=4)
    ends.append((gap[gap["arm"] == form], "accuracy gap", style.COLORS["accuracy gap"]))
    if style.are_of_paper_scale(rows):
        axes.plot([*LEVELS], [level for level, _ in LEVELS.values()], "_", color=style.PRINTED, markersize=12,
                  markeredgewidth=1.5)  # fmt: skip
        axes.annotate("printed TL", (0.5, LEVELS[0.5][0]), (0, 4), textcoords="offset points", fontsize=style.SMALL)
    axes.set(title="after training; gap = training − test", xlabel="probability p of a random label", ylabel="TL, gap")
    axes.set_ylim(min(-0.05, 1.1 * gap["value"].min()), 1)
    at_the_end = [(float(line.loc[line["p"] == line["p"].max(), "value"].mean()), name, color)
                  for line, name, color in ends]  # fmt: skip
    style.label_ends(axes, at_the_end, gap=0.1)
