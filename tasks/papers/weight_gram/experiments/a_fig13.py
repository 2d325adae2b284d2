"""A.fig13, A.fig14: Target Linearity of every hidden layer on the training set as a network groks, by weight decay.

Three hidden layers of 256 units, learning rate 0.001, 500 epochs. The paper prints Adam with weight decay; the run uses
AdamW, as the authors' code does. In Adam's own gradient a decay of 0.25 or more shrinks the weights to zero (2 %
training accuracy after 20 epochs). Activation, betas, batch size and precision are not printed; they are those of the
authors' code, as is the share of the pairs to train on.

Quick scale: 3500 steps where modulus 61 gives 41,000, so six times the learning rate, half the width and two decays.
These do not grok in time: 3 x 64 units at modulus 23, 4800 steps of 0.004, at any decay; and the settings of this scale
with a decay of 0.5 (2800 steps: 0.77 test accuracy).
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.growth import by_layer

NO_DECAY = "control: no weight decay"


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity by case (weight decay), layer, epoch (x) and seed, and the accuracies at these epochs."""
    x = run.data.numbers(run.data.x_train, getattr(torch, run.settings.dtype))
    Y = F.one_hot(run.data.y_train, run.data.classes).double()
    arms = {member.case: "claim" if member.weight_decay else NO_DECAY for member in run.members}
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                columns = {"arm": arms[case], "case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
                for row in by_layer(run.model(epoch, seed, case), x, Y):
                    if row["quantity"] == "target_linearity":
                        yield {**columns, **row, "x": float(epoch)}
    for row in run.history:
        if row["quantity"].endswith("accuracy") and row["x"] in run.epochs:
            yield {**row, "arm": arms[row["case"]]}
