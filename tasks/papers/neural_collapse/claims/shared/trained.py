"""The conditions under which the paper speaks of its trained networks: they interpolate, and the NFA holds."""

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Hypothesis
from tasks.judging.statistics import curves

LEAST_ACCURACY = 0.99


def interpolates(rows: Rows) -> Finding:
    """After training, the training accuracy of nine of ten runs on each data set is at least 0.99.

    The least of all runs would be lower with more seeds, and a single network that training leaves at a saddle would
    decide for all. With fewer than ten runs it is the least.
    """
    reached, least, fitted, runs = [], [], 0, 0
    for of_case in rows.by("case").values():
        last = sorted(float(run.value[np.argmax(run.step)]) for run in of_case.by("seed").values())
        reached.append(last[len(last) // 10])
        least.append(last[0])
        fitted, runs = fitted + sum(accuracy >= LEAST_ACCURACY for accuracy in last), runs + len(last)
    rule, reach = "training accuracy that nine of ten runs reach", "reaches" if fitted == 1 else "reach"
    return Finding(
        min(reached) >= LEAST_ACCURACY, min(reached), rule, "bound", low=LEAST_ACCURACY,
        numbers={"least training accuracy": min(least)},
        measured=f"{fitted} of {runs} runs {reach} {LEAST_ACCURACY}, and the worst run has {min(least):.3f}",
    )  # fmt: skip


def beyond_the_trivial(rows: Rows) -> Finding:
    """After training, the mean NFA correlation of every run exceeds that of random matrices with the same spectra."""
    gaps = []
    for group in rows.by("case").values():
        nfa, null = (curves(group.where(quantity=name), "seed")[..., -1] for name in ("nfa/mean", "nfa/null"))
        gaps.append(float((nfa - null).min()))
    rule = "least lead of a run's mean NFA correlation over the 97.5 % quantile of random matrices of the same spectra"
    return Finding(min(gaps) > 0, min(gaps), rule, "bound", low=0.0)


INTERPOLATION = Hypothesis(
    name="interpolation",
    text="“interpolate the data” and feature learning are “necessary conditions for DNC to occur at all” (Section 5): "
    f"the training accuracy is at least {LEAST_ACCURACY} in nine of ten runs. The paper trains for 300 epochs or more.",
    rule=interpolates,
    reads=("train_accuracy",),
    reason="reduced too far",
)
NFA = Hypothesis(
    name="NFA",
    text="“These results are in a regime where the NFA holds with high correlation” (Section 5): the correlation, "
    "averaged over layers, is above that of random matrices in every run.",
    rule=beyond_the_trivial,
    reads=("nfa/mean", "nfa/null"),
)
