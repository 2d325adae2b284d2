"""Training with the whitened gradient, which keeps only the change of the weight Gram, matches gradient descent.

The paper says how well, for each data set. We compare a network's best test accuracy over the epochs. We read “matches
or exceeds” as: at most 0.01 below. We read “reaches GD's best performance” as: the whitened update's best test accuracy
within five epochs is above gradient descent's best of all 20. The paper prints no width, learning rate, momentum or
number of Newton-Schulz steps. Our networks have the width 256 of the paper's other fully connected networks, no
momentum, and the exact U and V. The learning rate is 0.01, that of the authors' figure; statements of ours judge all
rates that were run. The authors' code has a momentum of 0.85 and ten Newton-Schulz steps. The [table of
differences](reports/papers/A.html#differences-paper) shows the effect of both. The quick scale has scikit-learn's
digits alone, at the rate 0.1. The control “only the removed part” trains on the part of the gradient that whitening
removes.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import curves, log_variance_ratio
from tasks.papers.weight_gram import EPOCHS_TO_BEST
from tasks.papers.weight_gram.claims.shared import whitening
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set

ID = "A.fig2"
KIND = "statistical"
TITLE = "The whitened update trains as well as gradient descent"
PRINTED = (
    "“matches or exceeds” on MNIST, SVHN, CIFAR-10; “reaches GD’s best performance within four to five epochs” on the "
    "last two, “lower variance” on SVHN; “a small gap” on CIFAR-100, Figure 2"
)
MATH = (
    r"W^+ = U V^\top (W - \gamma G), \quad W (W - \gamma G)^\top = U S V^\top",
    r"\max_t \text{accuracy}_t(\text{whitened}) \ge \max_t \text{accuracy}_t(\text{gradient descent})",
)
SMALL_GAP = 0.03  # of test accuracy
FASTER = ("SVHN", "CIFAR-10")
UNPRINTED = "without momentum, at the learning rate of the authors' figure; the paper prints neither"
LEAD = (
    f"the whitened update's best test accuracy within {EPOCHS_TO_BEST} epochs minus "
    "gradient descent's best of all epochs"
)


def faster(rows: Rows) -> Finding:
    """Within five epochs the whitened update reaches gradient descent's best test accuracy of all epochs."""
    leads = {name: _lead(*accuracies) for name, accuracies in whitening.at_figure_rate(rows).items()}
    return _faster(leads, f"{_leads(leads)}, {UNPRINTED}")


def faster_at_any_rate(rows: Rows) -> Finding:
    """The same at every learning rate that was run."""
    leads = {
        f"{name}, lr {rate:g}": _lead(whitened[:, index], original[:, index])
        for name, (rates, whitened, original) in whitening.test_accuracies(rows).items()
        for index, rate in enumerate(rates)
    }
    return _faster(leads, f"{_leads(leads)}, without momentum")


def _lead(whitened: np.ndarray, original: np.ndarray) -> np.ndarray:
    """The whitened update's best test accuracy within five epochs minus gradient descent's best of all, by seed."""
    return whitened[:, :EPOCHS_TO_BEST].max(1) - original.max(1)


def _faster(leads: dict[str, np.ndarray], measured: str) -> Finding:
    finding = all_of(**{name: positive(lead, LEAD) for name, lead in leads.items()})
    points = {
        f"{name}, percentage points below gradient descent's best": float(-100 * lead.mean())
        for name, lead in leads.items()
    }
    return replace(finding, numbers=finding.numbers | points, measured=measured)


def faster_with_momentum(rows: Rows) -> Finding:
    """The same, where both updates have the momentum of the authors' code."""
    leads = {name: curves(selected, "seed")[:, -1] for name, selected in by_data_set(rows).items()}
    finding = all_of(**{name: positive(lead, f"{LEAD}, with momentum") for name, lead in leads.items()})
    return replace(finding, measured=f"{_leads(leads)}, with the momentum of the authors' code")


def _leads(leads: dict[str, np.ndarray]) -> str:
    """The mean lead of each data set, or of each data set and learning rate."""
    texts = [f"{lead.mean():+.3f} ({name})" for name, lead in leads.items()]
    return f"{LEAD} is {', '.join(texts)}"


def steadier(rows: Rows) -> Finding:
    """The variance of the whitened update's test accuracy over runs, summed over epochs, is below the original's."""
    statistic = "log(gradient descent's variance over seeds / the whitened update's), jackknife"
    return all_of(
        **{
            name: positive(log_variance_ratio(original, whitened), statistic)
            for name, (whitened, original) in whitening.at_figure_rate(rows).items()
        }
    )


CONTROLS = {
    "only the removed part": Control(
        text="The networks train with the part of the gradient that whitening removes, in place of the whitened "
        "gradient.",
        has=whitening.READS,
        equal_quantities=("original/test_accuracy",),
        equal_because="The control replaces the whitened update alone; gradient descent is the same run.",
        lacks=tuple(
            f"{data_set}, lr={rate}"
            for data_set in ("MNIST", "SVHN", "CIFAR-10", "CIFAR-100")
            for rate in (0.005, 0.05, 0.1)
        ),
        parts_because="On the paper's data sets this control has the learning rate 0.01 alone.",
    ),
}
STATEMENTS = (
    Statement(
        name="no worse",
        quote="On MNIST, SVHN, and CIFAR-10, the whitened update matches or exceeds the performance of standard GD",
        place="Section 2",
        rule=whitening.no_worse,
        reads=whitening.READS,
        data_sets=("MNIST", "SVHN", "CIFAR-10", "digits"),
        cases={"quick": 1, "paper": 8},
        rows=100,
    ),
    Statement(
        name="faster",
        quote="on SVHN and CIFAR-10 specifically, it reaches GD’s best performance within four to five epochs",
        place="Section 2",
        rule=faster,
        reads=whitening.READS,
        data_sets=FASTER,
        cases=4,
        rows=100,
    ),
    Statement(
        name="lower variance",
        quote="shows lower variance across runs on SVHN",
        place="Section 2",
        rule=steadier,
        reads=whitening.READS,
        data_sets=("SVHN",),
        cases=4,
        rows=100,
    ),
    Statement(
        name="a small gap",
        quote="On CIFAR-100, it tracks standard GD with a small gap.",
        place="Section 2",
        rule=partial(whitening.no_worse, margin=SMALL_GAP),
        reads=whitening.READS,
        data_sets=("CIFAR-100",),
        cases=4,
        rows=100,
    ),
    Statement(
        name="faster, with the authors' momentum",
        quote="on SVHN and CIFAR-10 specifically, it reaches GD’s best performance within four to five epochs",
        place="Section 2",
        rule=faster_with_momentum,
        reads=("lead, momentum",),
        kind="ours",
        data_sets=FASTER,
        rows=5,
    ),
    Statement(
        name="at every learning rate",
        quote="the whitened update matches or exceeds the performance of standard GD",
        place="Section 2",
        rule=whitening.no_worse_at_any_rate,
        reads=whitening.READS,
        kind="ours",
        data_sets=("MNIST", "SVHN", "CIFAR-10"),
        cases=8,
        scales=("paper",),
        rows=100,
    ),
    Statement(
        name="faster, at every learning rate",
        quote="on SVHN and CIFAR-10 specifically, it reaches GD’s best performance within four to five epochs",
        place="Section 2",
        rule=faster_at_any_rate,
        reads=whitening.READS,
        kind="ours",
        cases=4,
        data_sets=FASTER,
        scales=("paper",),
        rows=100,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the test accuracies by data set, learning rate and epoch, and the best that the whitened update reaches."""
    return whitening.draw(rows, claim, FASTER)
