"""A.fig12: Target Linearity of every hidden layer, for the labels a network is trained on, by share of random labels.

As printed, p is the probability that a training label is random; the test set keeps its labels (the authors' code also
redraws test labels). One control measures the same networks with labels that are drawn anew at every p: it breaks the
claim on Target Linearity and leaves the accuracies. The other measures the networks before training: it breaks the
claim on the generalisation gap and leaves a linearity that falls with p, as that of random features does.

Three hidden layers of 256 GELU units, SGD 0.005, 200 epochs; the batch size is that of the authors' code, which trains
with a momentum of 0.95.

Quick scale: 400 digits, a quarter of the width and the authors' momentum. The claim is about memorised labels: with
more digits, or without momentum, the networks at p = 1 end at 13 and 19 % training accuracy.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from gramlab.data import random_labels
from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.growth import by_layer

OTHER_LABELS = "control: other labels"
UNTRAINED = "control: untrained"


def measure(run: Run) -> Iterator[dict]:
    """Rows: surrogate and target_linearity by case (p), layer, epoch (x) and seed, and the accuracies."""
    x = run.data.numbers(run.data.x_train, torch.float32).flatten(1)
    classes = run.data.classes
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                redrawn = random_labels(run.data.y_train, classes, 1.0, run.key, seed, "other labels", case)
                arms = {"claim": run.labels(seed, case), OTHER_LABELS: redrawn}
                if epoch == 0:
                    arms[UNTRAINED] = run.labels(seed, case)
                model = run.model(epoch, seed, case)
                for arm, y in arms.items():
                    columns = {"arm": arm, "case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
                    for row in by_layer(model, x, F.one_hot(y, classes).double()):
                        yield {**columns, **row, "x": float(epoch)}
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            for arm in ("claim", OTHER_LABELS, *([UNTRAINED] if row["step"] == 0 else [])):
                yield {**row, "arm": arm}
