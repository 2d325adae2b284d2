"""A.fig12: Target Linearity of every hidden layer for the training labels, by the share of random labels.

As printed, p is the probability that a training label is random; the test set keeps its labels (the authors' code also
redraws test labels). One control measures the same networks with labels that are drawn again at every p. It breaks the
claim on Target Linearity and not that on the accuracies. The other control measures the networks before training. It
breaks the claim on the generalisation gap; its linearity still falls with p, as that of random features does.

Three hidden layers of 256 GELU units, SGD 0.005, 200 epochs; the batch size is that of the authors' code, which trains
with a momentum of 0.95.

The claim is about memorised labels, and with the printed settings the networks do not memorise: on CIFAR-10 the
training accuracy ends at 0.71 (p = 0) to 0.13 (p = 1), where the paper has 0.85 to 0.7. So the arm ``corrected`` has
the authors' momentum (the variant "momentum"). Quick scale: 400 digits and a quarter of the width. There too the
networks memorise with the momentum and not without it (0.93 at p = 0 to 0.13 at p = 1).
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch.nn import functional as F

from gramlab.data import random_labels
from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.growth import NORMALISED, arms_of, by_layer

OTHER_LABELS = "control: other labels"
UNTRAINED = "control: untrained"


def measure(run: Run) -> Iterator[dict]:
    """Rows: surrogate and target_linearity by case (p), layer, epoch (x) and seed, and the accuracies."""
    arms = arms_of(run)
    for name, variant in run.variants.items():
        yield from _linearity(variant, arms[name])
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            variant, _, case = row["case"].partition(",")
            for arm in _with_controls(arms[variant], row["step"] == 0):
                yield {**row, "arm": arm, "case": case}


def _linearity(run: Run, form: str) -> Iterator[dict]:
    """The rows of both measures on a variant's networks, for the labels of each arm."""
    for epoch in run.epochs:
        for case in run.cases:
            yield from run.part(epoch, case, measure=partial(_rows_of_case, run, form, epoch, case))


def _rows_of_case(run: Run, form: str, epoch: int, case: str) -> Iterator[dict]:
    x = run.data.scaled(run.data.x_train, getattr(torch, run.settings.dtype)).flatten(1)
    classes = run.data.classes
    for seed in run.seeds:
        redrawn = random_labels(run.data.y_train, classes, 1.0, run.key, seed, "other labels", case)
        model = run.model(epoch, seed, case)
        columns = {"case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
        for arm in _with_controls(form, epoch == 0):
            y = redrawn if arm.startswith(OTHER_LABELS) else run.labels(seed, case)
            for row in by_layer(model, x, F.one_hot(y, classes).double()):
                if row["quantity"] != NORMALISED:
                    yield {**columns, **row, "arm": arm, "x": float(epoch)}


def _with_controls(form: str, untrained: bool) -> list[str]:
    """The arm of a form, and the arms of its controls at a step."""
    names = [OTHER_LABELS, *([UNTRAINED] if untrained else [])]
    return [form, *(f"{name}, corrected" if form == "corrected" else name for name in names)]
