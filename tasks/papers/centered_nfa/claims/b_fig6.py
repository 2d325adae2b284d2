"""With two hidden layers, the first-order term predicts the correlation of the centered NFA's derivatives ẆᵀẆ and ẆᵀKẆ.

The first-order term replaces the kernel K by its expectation over initial weights. Over the data decays α, the
predicted correlation follows the observed one. With the quadratic activation the prediction is closer in the wider
network; with ReLU it is less close. Both correlations dip at intermediate α. The paper defines the term in words alone,
“K is replaced by its expectation”. It also says that for ReLU the prediction lacks terms of the nonlinear part of φ′.
The whole expectation has these terms, so our prediction has the linear part of φ′ alone. Statements of ours judge the
whole expectation.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import interval

ID = "B.fig6"
KIND = "statistical"
TITLE = "The first-order term predicts the centered NFA of two-hidden-layer networks"
PRINTED = (
    "“qualitatively captures” the quadratic and, “to a lesser extent”, ReLU; closer at width 1024 than at 128; "
    "Appendix C and Figure 6"
)
MATH = (
    r"\rho_{\text{first order}} \approx \rho\left( \dot W^\top \dot W,\; \dot W^\top K \dot W \right) "
    r"\quad\text{for } \lambda_k(\Sigma) = \frac{1}{1 + k^\alpha}, \text{ over } \alpha"
)
CASES = ("quadratic, low rank", "quadratic, high rank", "relu, low rank", "relu, high rank")
# limits of our sharper statement: root mean square error over decays and targets, and R², as the curves vary little
ERROR, R_SQUARED = 0.1, 0.8
NAMES = {"relu": "ReLU", "quadratic": "the quadratic activation"}
OWN, WHOLE = "fig6/predicted, linear", "fig6/predicted"  # the paper's prediction, and the one with all terms of φ′
TERMS = {OWN: "", WHOLE: " with all terms of φ′"}


def follows(rows: Rows, activation: str, prediction: str) -> Finding:
    """Predicted and observed correlations over the decays correlate positively, in the wider network."""
    agreement = _agreement(rows, activation, _widths(rows)[-1], prediction)
    finding = positive(agreement, f"Pearson's correlation of prediction and observation for {NAMES[activation]}")
    errors = " and ".join(
        f"{_errors(rows, activation, width, prediction).mean():.3f} at width {width}" for width in _widths(rows)
    )
    words = f"for {NAMES[activation]} prediction{TERMS[prediction]} and observation have Pearson's correlation"
    correlation = f"{agreement.mean():.2f} at width {_widths(rows)[-1]}"
    return replace(finding, measured=f"{words} {correlation}, and the root mean square error is {errors}")


def closer_when_wider(rows: Rows) -> Finding:
    """The quadratic's root mean square error is smaller in the wider network."""
    narrow, wide = _widths(rows)
    differences = _errors(rows, "quadratic", narrow, OWN) - _errors(rows, "quadratic", wide, OWN)
    return positive(differences, f"the root mean square error at width {narrow} minus that at width {wide}")


def dips(rows: Rows) -> Finding:
    """At the deepest intermediate decay both curves are below both ends; a mean over activations and targets."""
    depths = {side: _dips(rows, side) for side in (OWN, "fig6/observed")}
    finding = all_of(
        **{
            _side(side): positive(depth.mean(0), f"the smaller end of the {_side(side)} curve minus the dip")
            for side, depth in depths.items()
        }
    )
    means = {f"{_side(side)} dip, {case}": float(np.mean(of_case)) for side, depth in depths.items()
             for case, of_case in zip(_cases(rows), depth, strict=True)}  # fmt: skip
    return replace(finding, numbers={**finding.numbers, **means})


def dips_in_every_panel(rows: Rows) -> Finding:
    """The observed curve dips for each activation and target."""
    depths = zip(_cases(rows), _dips(rows, "fig6/observed"), strict=True)
    return all_of(
        **{case: positive(depth, "the smaller end of the observed curve minus the dip") for case, depth in depths}
    )


def small_error(rows: Rows) -> Finding:
    """The quadratic's root mean square error and R² in the wider network, against limits that we chose."""
    wide = _widths(rows)[-1]
    errors, r_squared = (measure(rows, "quadratic", wide, OWN) for measure in (_errors, _r_squared))
    parts = {
        "error": positive(ERROR - errors, f"{ERROR} minus the root mean square error for the quadratic activation"),
        "R²": positive(r_squared - R_SQUARED, f"R² for the quadratic activation minus {R_SQUARED}"),
    }
    return all_of(**parts)


def rougher_for_relu(rows: Rows, prediction: str) -> Finding:
    """ReLU's root mean square error is above the quadratic's, in the wider network."""
    wide = _widths(rows)[-1]
    quadratic, relu = (_errors(rows, activation, wide, prediction) for activation in ("quadratic", "relu"))
    finding = positive(relu - quadratic, "the root mean square error for ReLU minus that for the quadratic activation")
    errors = [f"{interval(error)[0]:.3f} for {name}"
              for name, error in ((NAMES["relu"], relu), (NAMES["quadratic"], quadratic))]  # fmt: skip
    words = f"at width {wide} the prediction{TERMS[prediction]} has the root mean square error"
    return replace(finding, measured=f"{words} {' and '.join(errors)}")


def more_terms_are_closer(rows: Rows) -> Finding:
    """For ReLU the prediction with all terms of φ′ has a smaller root mean square error, in the wider network."""
    linear, all_terms = (_errors(rows, "relu", _widths(rows)[-1], prediction) for prediction in (OWN, WHOLE))
    label = "the root mean square error with the linear part of φ′ minus that with all terms"
    finding = positive(linear - all_terms, label)
    errors = f"{linear.mean():.3f} with the linear part of φ′ and {all_terms.mean():.3f} with all terms"
    return replace(finding, measured=f"for ReLU the prediction has the root mean square error {errors}")


READS = (OWN, "fig6/observed")
CONTROLS = {
    "prediction for isotropic inputs": Control(
        text="The prediction is that for isotropic inputs; the observed correlation is that on the data.",
        equal_quantities=("fig6/observed",),
        equal_because="The control replaces the prediction. What is observed does not depend on it.",
    ),
    "prediction with all terms of φ′": Control(
        text="The prediction has all terms of φ′ in place of the linear part alone.",
        has=READS,
        equal_quantities=("fig6/observed",),
        equal_because="The control replaces the paper's prediction. What is observed does not depend on it.",
    ),
}
STATEMENTS = (
    Statement(
        name="quadratic",
        quote="We demonstrate that this term qualitatively captures the behavior of the C-NFA for 2 hidden layer "
        "architectures with quadratic",
        place="Appendix C",
        rule=partial(follows, activation="quadratic", prediction=OWN),
        reads=READS,
        printed="“qualitatively captures”",
        cases=4,
        rows=100,
    ),
    Statement(
        name="ReLU",
        quote="and, to a lesser extent, ReLU activation functions in Figure 6",
        place="Appendix C",
        rule=partial(follows, activation="relu", prediction=OWN),
        reads=READS,
        cases=4,
        rows=100,
    ),
    Statement(
        name="less closely for ReLU",
        quote="and, to a lesser extent, ReLU activation functions in Figure 6",
        place="Appendix C",
        rule=partial(rougher_for_relu, prediction=OWN),
        reads=READS,
        printed="“to a lesser extent”",
        cases=4,
        rows=100,
    ),
    Statement(
        name="more terms are closer",
        quote="Additional terms corresponding to the nonlinear part of ϕ′ in ReLU networks, the derivative of the "
        "activation function, are required to capture the correlation more accurately in this case.",
        place="Appendix C",
        rule=more_terms_are_closer,
        reads=(*READS, WHOLE),
        cases=4,
        rows=100,
    ),
    Statement(
        name="closer when wider",
        quote="For the quadratic case, as the network approaches infinite width, the prediction more closely matches "
        "the observed values.",
        place="Appendix C",
        rule=closer_when_wider,
        reads=READS,
        stands_in="Wide networks scatter less about any prediction, also about that for isotropic inputs. Tests show "
        "that the rule refutes planted networks that are farther from the prediction when wider.",
        cases=4,
        rows=100,
    ),
    Statement(
        name="dip",
        quote="for intermediate values of α, both the observed and the predicted derivatives of the C-NFA decreases in "
        "value",
        place="Appendix C",
        rule=dips,
        reads=READS,
        cases=4,
        rows=100,
    ),
    Statement(
        name="dip in every panel",
        quote="Drawing: four panels, each with a dip at intermediate decays",
        place="Figure 6",
        rule=dips_in_every_panel,
        reads=("fig6/observed",),
        kind="ours",
        cases=4,
        rows=100,
    ),
    Statement(
        name="small error",
        quote="the prediction more closely matches the observed values",
        place="Appendix C",
        rule=small_error,
        reads=READS,
        kind="ours",
        cases=4,
        rows=100,
    ),
    # with all terms of φ′, which the paper's prediction lacks
    Statement(
        name="ReLU, all terms",
        quote="and, to a lesser extent, ReLU activation functions in Figure 6",
        place="Appendix C",
        rule=partial(follows, activation="relu", prediction=WHOLE),
        reads=(WHOLE, "fig6/observed"),
        kind="ours",
        cases=4,
        rows=100,
    ),
    Statement(
        name="less closely for ReLU, all terms",
        quote="and, to a lesser extent, ReLU activation functions in Figure 6",
        place="Appendix C",
        rule=partial(rougher_for_relu, prediction=WHOLE),
        reads=(WHOLE, "fig6/observed"),
        kind="ours",
        cases=4,
        rows=100,
    ),
)


def _widths(rows: Rows) -> tuple[str, str]:
    """The narrow and the wide network; the layer column holds the width, and 0 for the prediction."""
    widths = sorted({int(layer) for layer in rows.where(quantity="fig6/observed").layer})
    return str(widths[0]), str(widths[-1])


def _cases(rows: Rows) -> list[str]:
    return sorted(set(rows.case.tolist()))


def _curves(rows: Rows, quantity: str, width: str) -> np.ndarray:
    """The correlations by rising decay, (cases, seeds, decays)."""
    values = rows.where(quantity=quantity, layer=width).frame.set_index(["case", "seed", "x"])["value"].sort_index()
    return values.to_numpy().reshape(*map(len, values.index.levels))


def _side(quantity: str) -> str:
    return "predicted" if quantity == OWN else "observed"


def _dips(rows: Rows, side: str) -> np.ndarray:
    """How deep each curve of a quantity dips, (cases, seeds)."""
    width = "0" if side == OWN else _widths(rows)[-1]
    return np.array([_depths(curves) for curves in _curves(rows, side, width)])


def _depths(curves: np.ndarray) -> np.ndarray:
    """Smaller end of each curve (seeds, decays) minus its value at the inner decay where the other seeds are lowest.

    A curve's own minimum would lie below its ends by noise alone.
    """
    inner = curves[:, 1:-1]
    lowest = [int(np.delete(inner, seed, 0).mean(0).argmin()) for seed in range(len(curves))]
    return np.minimum(curves[:, 0], curves[:, -1]) - inner[np.arange(len(curves)), lowest]


def _pair(rows: Rows, activation: str, width: str, prediction: str) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and observed correlations of both targets, each (seeds, targets and decays)."""
    of_activation = [case.startswith(activation) for case in _cases(rows)]
    curves = (_curves(rows, prediction, "0"), _curves(rows, "fig6/observed", width))
    predicted, observed = (np.concatenate(of_side[of_activation], axis=1) for of_side in curves)
    return predicted, observed


def _errors(rows: Rows, activation: str, width: str, prediction: str) -> np.ndarray:
    """Root mean square errors by seed."""
    predicted, observed = _pair(rows, activation, width, prediction)
    return np.sqrt(((predicted - observed) ** 2).mean(1))


def _r_squared(rows: Rows, activation: str, width: str, prediction: str) -> np.ndarray:
    """R² about the observed mean, by seed."""
    predicted, observed = _pair(rows, activation, width, prediction)
    variation = ((observed - observed.mean(1, keepdims=True)) ** 2).sum(1)
    return 1 - ((observed - predicted) ** 2).sum(1) / np.maximum(variation, 1e-12)


def _agreement(rows: Rows, activation: str, width: str, prediction: str) -> np.ndarray:
    """Pearson's correlation of predicted and observed values, by seed."""
    pair = _pair(rows, activation, width, prediction)
    return np.array([np.corrcoef(*of_seed)[0, 1] for of_seed in zip(*pair, strict=True)])


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlations of the wide network by activation and target as in the paper, and the predictions' errors.

    The predictions follow the observed curve so closely that only their differences show which is closer.
    """
    figure, grid = style.panels(claim, columns=4, rows=2, height=4.6, sharex=True, sharey="row")
    control = style.controls(rows)[0]  # the other one is drawn as the prediction with all terms
    colors = style.COLORS
    for (axes, below), case in zip(grid.T, CASES, strict=True):
        groups = dict(list(rows[rows["case"] == case].groupby(["arm", "quantity"])))
        observed = groups["claim", "fig6/observed"]
        narrow, wide = (observed[observed["layer"] == width] for width in sorted(observed["layer"].unique(), key=int))
        style.seeds(axes, wide, "x", colors["observed"])
        style.seeds(axes, groups["claim", OWN], "x", colors["predicted"])
        style.seeds(axes, groups[control, OWN], "x", style.CONTROL, linestyle=":")
        below.axhline(0, color=style.GUIDE, linewidth=0.8)
        style.seeds(below, _differences(groups["claim", OWN], narrow), "x", colors["predicted"], linestyle="--")
        style.seeds(below, _differences(groups["claim", OWN], wide), "x", colors["predicted"])
        if case.startswith("relu"):  # for the quadratic the linear part of φ′ is all of it
            style.seeds(below, _differences(groups["claim", WHOLE], wide), "x", style.OTHER, linestyle=":")
        axes.set_title(case.replace("relu", "ReLU"))
        below.set_xlabel("data decay α")
    grid[0, 0].set_ylabel("correlation ρ(ẆᵀẆ, ẆᵀKẆ)")
    grid[1, 0].set_ylabel("predicted minus observed")
    widths = sorted(rows.loc[rows["quantity"] == "fig6/observed", "layer"].unique(), key=int)
    style.name_lines(grid[0, 0], [(f"observed, width {widths[-1]}", colors["observed"]),
                                  ("predicted", colors["predicted"]),
                                  ("dotted, control: predicted\nfor isotropic inputs", style.CONTROL)])  # fmt: skip
    style.name_lines(grid[1, 1], [(f"dashed: width {widths[0]}", colors["predicted"]),
                                  (f"solid: width {widths[-1]}", colors["predicted"])])  # fmt: skip
    style.name_lines(grid[1, 3], [("linear part of φ′,\nas in the paper", colors["predicted"]),
                                  ("dotted: all of φ′", style.OTHER)])  # fmt: skip
    grid[0, 0].set_xticks([0, 2, 4, 6, 8])
    chance = rows[rows["quantity"] == "null/fig6/observed"].groupby(["case", "layer", "x"])["value"].mean()
    others = f"; ρ with random K: at most {chance.max():.2f}" if len(chance) else ""
    style.note(figure, style.meaning_of_lines(rows) + others)
    return figure


def _differences(predicted: pd.DataFrame, observed: pd.DataFrame) -> pd.DataFrame:
    """The prediction less the observed correlation of each seed and decay."""
    values = [rows.set_index(["seed", "x"])["value"] for rows in (predicted, observed)]
    return (values[0] - values[1]).dropna().reset_index()
