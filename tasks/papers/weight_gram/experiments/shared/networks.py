"""What several experiments of paper A measure: surrogate and Target Linearity by layer, whitened against plain steps.

Layer l is the l-th hidden state H_l with the weights W_l that read it: S(G_id) = tr(Y^T H_l^T W_l^T W_l H_l Y), Y the
one-hot labels, and T_0(H_l, Y), both on the training set and uncentred, as printed.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import gramlab
from gramlab.nets import initialize, mlp
from tasks.measuring.run import Run

# by what the authors' code does otherwise, the variants of A.fig2 that are compared
WAYS = {
    "": ("original", "whitened"),
    ", momentum": ("original-momentum", "whitened-momentum"),
    ", ten steps": ("original", "whitened-ten-steps"),
}
EPOCHS = 5  # within which the text has the whitened update where gradient descent ends, on SVHN and CIFAR-10


@torch.no_grad()
def layers(model: nn.Sequential, x: Tensor, Y: Tensor) -> Iterator[dict]:
    """Rows: surrogate and target_linearity of each hidden layer for the samples x (n, d) and targets Y (n, c)."""
    h = x
    for index, module in enumerate(model):
        if isinstance(module, nn.Linear) and index:
            layer = {"layer": str(index // 2), "dtype": "float64"}
            yield {**layer, "quantity": "surrogate", "value": gramlab.surrogate(h, module.weight, Y)}
            yield {**layer, "quantity": "target_linearity", "value": gramlab.target_linearity(h, Y)}
        h = module(h)


def growth(run: Run) -> Iterator[dict]:
    """Rows: both by data set (case), layer, epoch (x) and seed, and the accuracies.

    The control's nets are drawn anew at each epoch, and its accuracies are those before training.
    """
    for data, own in run.variants.items():
        x = own.data.numbers(own.data.x_train, torch.float32).flatten(1)
        Y = nn.functional.one_hot(own.data.y_train, own.data.classes).double()
        shape = own.settings.model
        for epoch in own.epochs:
            for seed in own.seeds:
                random = mlp(own.data.inputs, shape.hidden, own.data.outputs, shape.activation, shape.bias)
                random.load_state_dict(initialize(random, (own.key, "random features", seed, epoch)))
                random.to(own.device)
                for arm, model in (("claim", own.model(epoch, seed)), ("control: random features", random)):
                    about = {"arm": arm, "case": data, "seed": seed, "step": epoch * own.steps_per_epoch}
                    for row in layers(model, x, Y):
                        yield {**about, "x": float(epoch), **row}
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            for arm in ("claim", *(["control: random features"] if row["step"] == 0 else [])):
                yield {**row, "arm": arm}


def whitening(run: Run) -> Iterator[dict]:
    """Rows: original/… and whitened/… losses and accuracies by case (data set, learning rate), epoch (x) and seed.

    In the control the part of the gradient that whitening takes away stands in the place of what it keeps.
    It may be trained at some of the learning rates only: one at which it is rejected is enough for the rule.

    Compared with the text's in the report are the authors' code's momentum and its ten steps, at the rates that all of
    them have: gap, the final test accuracies' difference, whitened less original; lead, the best that the whitened
    update has within five epochs less the best that the original has in all.
    """
    arms = {"claim": ("original", "whitened"), "control: only the removed part": ("original", "complement")}
    for row in run.history:
        variant, _, rate = row["case"].partition(",")
        data, _, update = variant.rpartition(" ")
        name = f"{'original' if update == 'original' else 'whitened'}/{row['quantity']}"
        for arm, updates in arms.items():
            if update in updates and rate in run.variants[f"{data} {updates[1]}"].cases:
                yield {**row, "arm": arm, "case": f"{data}, {rate}", "quantity": name}
    curves: dict[tuple[str, int], list[dict]] = {}
    for row in sorted(run.history, key=lambda row: row["step"]):
        if row["quantity"] == "test_accuracy":
            curves.setdefault((row["case"], row["seed"]), []).append(row)
    for way, (original, whitened) in WAYS.items():
        for (case, seed), rows in curves.items():
            variant, _, rate = case.partition(",")
            data, _, update = variant.rpartition(" ")
            if update == whitened and (f"{data} whitened-momentum,{rate}", seed) in curves:
                other = curves[f"{data} {original},{rate}", seed]
                found = {
                    "gap": rows[-1]["value"] - other[-1]["value"],
                    "lead": max(row["value"] for row in rows if 0 < row["x"] <= EPOCHS)
                    - max(row["value"] for row in other if row["x"] > 0),
                }
                for name, value in found.items():
                    yield {
                        **rows[-1],
                        "arm": "claim",
                        "case": f"{data}, {rate}",
                        "quantity": name + way,
                        "value": value,
                    }
