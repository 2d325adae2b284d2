"""Surrogate and Target Linearity by layer along training: Figures 4, 9, 12, 13 and 14.

Layer l is the l-th hidden state H_l with the weights W_l that read it: S(G_id) = tr(Y^T H_l^T W_l^T W_l H_l Y), Y the
one-hot labels, and T_0(H_l, Y), both on the training set and without centring, as printed.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import gramlab
from gramlab.nets import initialize, mlp
from tasks.measuring.run import Run

UNTRAINED = "control: random features"


@torch.no_grad()
def by_layer(model: nn.Sequential, x: Tensor, Y: Tensor) -> Iterator[dict]:
    """Rows: surrogate and target_linearity of each hidden layer for the samples x (n, d) and targets Y (n, c)."""
    h = x
    for index, module in enumerate(model):
        if isinstance(module, nn.Linear) and index:
            columns = {"layer": str(index // 2), "dtype": "float64"}
            yield {**columns, "quantity": "surrogate", "value": gramlab.surrogate(h, module.weight, Y)}
            yield {**columns, "quantity": "target_linearity", "value": gramlab.target_linearity(h, Y)}
        h = module(h)


def growth(run: Run) -> Iterator[dict]:
    """Rows: both measures by data set (case), layer, epoch (x) and seed, and the accuracies.

    The control draws a new untrained network at each epoch; its accuracies are those before training.
    """
    for data_set, variant in run.variants.items():
        x = variant.data.numbers(variant.data.x_train, torch.float32).flatten(1)
        Y = nn.functional.one_hot(variant.data.y_train, variant.data.classes).double()
        shape = variant.settings.model
        for epoch in variant.epochs:
            for seed in variant.seeds:
                untrained = mlp(variant.data.inputs, shape.hidden, variant.data.outputs, shape.activation, shape.bias)
                untrained.load_state_dict(initialize(untrained, (variant.key, "random features", seed, epoch)))
                untrained.to(variant.device)
                for arm, model in (("claim", variant.model(epoch, seed)), (UNTRAINED, untrained)):
                    columns = {"arm": arm, "case": data_set, "seed": seed, "step": epoch * variant.steps_per_epoch}
                    for row in by_layer(model, x, Y):
                        yield {**columns, "x": float(epoch), **row}
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            for arm in ("claim", UNTRAINED) if row["step"] == 0 else ("claim",):
                yield {**row, "arm": arm}
