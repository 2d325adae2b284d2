"""The conditions under which the paper speaks of its trained networks: they interpolate, and the NFA holds."""

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Hypothesis
from tasks.judging.statistics import curves

LEAST_ACCURACY = 0.99


def interpolates(rows: Rows) -> Finding:
    """After training, the training accuracy is at least 0.99 in every run."""
    last = np.array([group.value[np.argmax(group.step)] for group in rows.by("case", "seed").values()])
    least = float(last.min())
    rule = f"training accuracy of at least {LEAST_ACCURACY} in every run"
    return Finding(least >= LEAST_ACCURACY, least, rule, "bound", low=LEAST_ACCURACY)


def beyond_the_trivial(rows: Rows) -> Finding:
    """After training, the mean NFA correlation of every run exceeds that of random matrices with the same spectra."""
    gaps = []
    for group in rows.by("case").values():
        nfa, null = (curves(group.where(quantity=name), "seed")[..., -1] for name in ("nfa/mean", "nfa/null"))
        gaps.append(float((nfa - null).min()))
    rule = "in every run the mean NFA correlation is above the 97.5 % quantile of random matrices of the same spectra"
    return Finding(min(gaps) > 0, min(gaps), rule, "bound", low=0.0)


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
    "averaged over layers, is beyond the trivial one in every run.",
    rule=beyond_the_trivial,
    reads=("nfa/mean", "nfa/null"),
)
