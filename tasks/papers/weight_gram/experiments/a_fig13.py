"""A.fig13, A.fig14: Target Linearity of every hidden layer on the training set as a network groks, by weight decay."""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from tasks.measuring.run import Run
from tasks.papers.weight_gram.experiments.shared.networks import layers

CONTROL = "control: no weight decay"


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity by case (weight decay), layer, epoch (x) and seed, and the accuracies at these epochs."""
    x = run.data.numbers(run.data.x_train, getattr(torch, run.settings.dtype))
    Y = F.one_hot(run.data.y_train, run.data.classes).double()
    arms = {one.case: "claim" if one.weight_decay else CONTROL for one in run.members}
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                about = {"arm": arms[case], "case": case, "seed": seed, "step": epoch * run.steps_per_epoch}
                for row in layers(run.model(epoch, seed, case), x, Y):
                    if row["quantity"] == "target_linearity":
                        yield {**about, **row, "x": float(epoch)}
    for row in run.history:
        if row["quantity"].endswith("accuracy") and row["x"] in run.epochs:
            yield {**row, "arm": arms[row["case"]]}
