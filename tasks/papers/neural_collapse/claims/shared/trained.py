"""The conditions under which the paper speaks of its trained networks: they interpolate, and the NFA holds."""

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Hypothesis
from tasks.judging.statistics import curves

LEAST_ACCURACY = 0.99


def interpolates(rows: Rows) -> Finding:
    """After training, the training accuracy is at least 0.99 in every run."""
    last = np.array([group.value[np.argmax(group.step)] for group in rows.by("case", "seed").values()])
    least = float(last.min())
    rule = f"training accuracy of at least {LEAST_ACCURACY} in every run"
    return Finding(least >= LEAST_ACCURACY, least, rule, "bound", low=LEAST_ACCURACY)


def nfa_holds(rows: Rows) -> Finding:
    """The NFA holds, and training brings it about: an untrained network does not meet this condition.

    In every run the mean NFA correlation after training exceeds that of random matrices with the same spectra. In the
    mean over seeds it exceeds that of the same networks before training.
    """
    parts = {}
    for (case,), group in rows.by("case").items():
        nfa, null = (curves(group.where(quantity=name), "seed") for name in ("nfa/mean", "nfa/null"))
        gap = float((nfa[:, -1] - null[:, -1]).min())
        rule = "in every run above the 97.5 % quantile of random matrices of the same spectra"
        parts[f"{case}: not trivial"] = Finding(gap > 0, gap, rule, "bound", low=0.0)
        parts[f"{case}: rise"] = positive(nfa[:, -1] - nfa[:, 0], "rise of the mean NFA in training")
    return all_of(**parts)


INTERPOLATION = Hypothesis(
    name="interpolation",
    text="“interpolate the data” and feature learning are “necessary conditions for DNC to occur at all” (Section 5): "
    f"the training accuracy is at least {LEAST_ACCURACY} in every run. The paper trains for 300 epochs or more.",
    rule=interpolates,
    reads=("train_accuracy",),
    reason="reduced too far",
)
NFA = Hypothesis(
    name="NFA",
    text="“These results are in a regime where the NFA holds with high correlation” (Section 5): the correlation, "
    "averaged over layers, is beyond the trivial one in every run, and training raises it in the mean over seeds. "
    "Untrained networks have an AGOP of the same weights, so that theirs is beyond the trivial one too.",
    rule=nfa_holds,
    reads=("nfa/mean", "nfa/null"),
)
