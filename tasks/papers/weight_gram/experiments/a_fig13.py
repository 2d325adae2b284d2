"""A.fig13, A.fig14: Target Linearity of every hidden layer on the training set as a network groks, by weight decay.

Three hidden layers of 256 units, learning rate 0.001, 500 epochs. The paper prints Adam with weight decay; the run uses
AdamW, as the authors' code does. In Adam's own gradient a decay of 0.25 or more shrinks the weights to zero (2 %
training accuracy after 20 epochs). Activation, betas, batch size and precision are not printed; they are those of the
authors' code, as is the share of the pairs to train on.

The first control has no weight decay. The second measures the claim's networks with shuffled labels: it shows how much
the linearity rises for any labels. Quick scale: 3500 steps instead of modulus 61's 41,000, with six times the learning
rate, half the width, and two decays.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from gramlab.streams import stream
from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.growth import by_layer

NO_DECAY = "control: no weight decay"
OTHER_LABELS = "control: shuffled labels"


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity by case (weight decay), layer, epoch (x) and seed, and the accuracies at these epochs."""
    x = run.data.scaled(run.data.x_train, getattr(torch, run.settings.dtype))
    Y = F.one_hot(run.data.y_train, run.data.classes).double()
    arms = {member.case: ("claim", OTHER_LABELS) if member.weight_decay else (NO_DECAY,) for member in run.members}
    orders = [torch.from_numpy(stream(run.key, seed, "shuffled labels").permutation(len(Y))) for seed in run.seeds]
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                columns = {"case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
                model = run.model(epoch, seed, case)
                for arm in arms[case]:
                    for row in by_layer(model, x, Y[orders[seed]] if arm == OTHER_LABELS else Y):
                        if row["quantity"] == "target_linearity":
                            yield {**columns, **row, "arm": arm, "x": float(epoch)}
    for row in run.history:
        if row["quantity"].endswith("accuracy") and row["x"] in run.epochs:
            for arm in arms[row["case"]]:
                yield {**row, "arm": arm}
