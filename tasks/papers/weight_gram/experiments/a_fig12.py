"""A.fig12: Target Linearity of every hidden layer, with the labels that a network is trained on, at each p.

As printed p is the probability of a random label in the training set; the test set keeps its labels. (The authors' code
draws test labels anew as well.) One control measures the same networks with labels that are drawn anew at every p: it
breaks the claim on Target Linearity and leaves the accuracies. The other leaves the networks untrained: it breaks that
on the generalisation gap, and leaves a linearity that falls with p, as that of random features does.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from gramlab.data import random_labels
from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.networks import layers

OTHER = "control: other labels"
UNTRAINED = "control: untrained"


def measure(run: Run) -> Iterator[dict]:
    """Rows: surrogate and target_linearity by case (p), layer, epoch (x) and seed, and the accuracies."""
    x = run.data.numbers(run.data.x_train, torch.float32).flatten(1)
    classes = run.data.classes
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                other = random_labels(run.data.y_train, classes, 1.0, run.key, seed, "other labels", case)
                arms = {"claim": run.labels(seed, case), OTHER: other}
                if epoch == 0:
                    arms[UNTRAINED] = run.labels(seed, case)
                model = run.model(epoch, seed, case)
                for arm, y in arms.items():
                    about = {"arm": arm, "case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
                    for row in layers(model, x, F.one_hot(y, classes).double()):
                        yield {**about, **row, "x": float(epoch)}
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            for arm in ("claim", OTHER, *([UNTRAINED] if row["step"] == 0 else [])):
                yield {**row, "arm": arm}
