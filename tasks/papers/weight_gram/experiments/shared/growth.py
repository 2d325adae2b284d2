"""Surrogate and Target Linearity by layer along training: Figures 4, 9, 12, 13 and 14.

Layer l is the l-th hidden state H_l with its next weights W_l. With the one-hot labels Y the two measures are
S(G_id) = tr(Y^T H_l^T W_l^T W_l H_l Y) and T_0(H_l, Y), on the training set and without centring, as printed. The arm
``corrected`` has the normalised surrogate: that of the centred labels, divided by ||W_l H_l||_F^2. Where the authors'
momentum runs too, this arm has its networks, and the surrogate as printed as well. The networks without momentum then
have the normalised surrogate under its own name.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

import gramlab
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.measuring.invariants import check_invertible_maps, check_linearity, error_context
from tasks.measuring.run import Run

UNTRAINED = "control: random features"
NORMALISED = (
    "surrogate, normalised"  # in the corrected arm the quantity "surrogate"; of the claim's networks, beside it
)
RAW = "surrogate, raw"  # the printed surrogate in every arm; "surrogate" is the one of the arm's form
CODE = "momentum"  # last word of a variant with the momentum 0.95 of the authors' code for Figure 12
ROUND_OFF = 1e-6


@torch.no_grad()
def by_layer(model: nn.Sequential, x: Tensor, Y: Tensor) -> Iterator[dict]:
    """Rows: surrogate, normalised surrogate and target_linearity of every hidden layer; Y is (n, c).

    Raises
    ------
    Undefined
        If a layer's outputs W H are all 0. The normalised surrogate is divided by their squares.
    ArithmeticError
        If the normalised surrogate is below 0 or above the largest squared singular value of the centred labels.
    """
    centred = Y - Y.mean(0)
    largest = float(torch.linalg.matrix_norm(centred, 2) ** 2)
    h = x
    for index, module in enumerate(model):
        if isinstance(module, nn.Linear) and index:
            columns = {"layer": str(index // 2), "dtype": "float64"}
            norm = float((h.double() @ module.weight.double().T).square().sum())
            if not norm:
                raise gramlab.Undefined(f"layer {index // 2}: S/||WH||^2 is undefined: WH is zero, the layer is dead")
            normalised = gramlab.surrogate(h, module.weight, centred) / norm
            linearity = gramlab.target_linearity(h, Y)
            with error_context(layer=index // 2):
                check_linearity(linearity, Y)
            if not 0 <= normalised <= largest * (1 + ROUND_OFF):
                raise ArithmeticError(f"layer {index // 2}: S/||WH||^2 = {normalised} of at most {largest}")
            yield {**columns, "quantity": "surrogate", "value": gramlab.surrogate(h, module.weight, Y)}
            yield {**columns, "quantity": NORMALISED, "value": normalised}
            yield {**columns, "quantity": "target_linearity", "value": linearity}
        h = module(h)


def arms_of(run: Run) -> dict[str, str]:
    """The arm of each variant by name. The authors' momentum is not printed, so its networks are never the claim's."""
    return {name: "corrected" if name.endswith(CODE) else "claim" for name in run.variants}


def growth(run: Run) -> Iterator[dict]:
    """Rows: both measures by data set (case), layer, epoch (x) and seed, and the accuracies.

    The control draws a new untrained network at each epoch; its accuracies are those before training. null/... holds
    the Target Linearity of shuffled labels after training.
    """
    arms = arms_of(run)
    for name, variant in run.variants.items():
        x = variant.data.scaled(variant.data.x_train, getattr(torch, variant.settings.dtype)).flatten(1)
        Y = nn.functional.one_hot(variant.data.y_train, variant.data.classes).double()
        for epoch in variant.epochs:
            for seed in variant.seeds:
                with error_context(case=variant.settings.part, epoch=epoch, seed=seed):
                    model = variant.model(epoch, seed)
                    columns = {"case": variant.settings.part, "seed": seed, "x": float(epoch)}
                    columns["step"] = epoch * variant.steps_per_epoch
                    for row in _with_arm(by_layer(model, x, Y), arms[name], "corrected" not in arms.values()):
                        yield {**columns, **row}
                    if arms[name] == "corrected":
                        continue
                    for row in _with_arm(by_layer(_untrained(variant, seed, epoch), x, Y), UNTRAINED):
                        yield {**columns, **row}
                    if epoch == variant.epochs[-1]:
                        if seed == variant.seeds[0]:
                            _check_maps(model, x, Y, stream(run.key, seed, "invertible maps"))
                        order = torch.from_numpy(stream(run.key, seed, "shuffled labels").permutation(len(Y)))
                        for row in by_layer(model, x, Y[order]):
                            if row["quantity"] == "target_linearity":
                                yield {**columns, **row, "arm": "claim", "quantity": "null/target_linearity"}
    for row in run.history:
        if row["quantity"].endswith("accuracy"):
            arm = arms[row["case"]]
            for row_arm in (arm, UNTRAINED) if row["step"] == 0 and arm == "claim" else (arm,):
                yield {**row, "arm": row_arm, "case": run.variants[row["case"]].settings.part}


@torch.no_grad()
def _check_maps(model: nn.Sequential, x: Tensor, Y: Tensor, random: np.random.Generator) -> None:
    """Check that random invertible maps of the features of every hidden layer leave Target Linearity as it is."""
    h = x
    for index, module in enumerate(model):
        if isinstance(module, nn.Linear) and index:
            with error_context(layer=index // 2):
                check_invertible_maps(h, Y, random)
        h = module(h)


def _with_arm(rows: Iterator[dict], arm: str, both_forms: bool = True) -> Iterator[dict]:
    """The rows of a network with their arms; the normalised surrogate goes to the corrected arm.

    With ``both_forms`` False that arm has other networks, and the normalised surrogate stays with its own.
    """
    corrected = "corrected" if arm == "claim" else f"{arm}, corrected" if arm != "corrected" else arm
    for row in rows:
        if row["quantity"] == NORMALISED:
            is_form = both_forms or arm == "corrected"
            yield {**row, "arm": corrected, "quantity": "surrogate"} if is_form else {**row, "arm": arm}
            continue
        if row["quantity"] == "surrogate":
            yield {**row, "arm": arm, "quantity": RAW}
        if row["quantity"] != "surrogate" or arm != "corrected":
            yield {**row, "arm": arm}


def _untrained(variant: Run, seed: int, epoch: int) -> nn.Sequential:
    """A network of the run's shape with fresh initial weights."""
    shape = variant.settings.model
    network = mlp(variant.data.inputs, shape.hidden, variant.data.outputs, shape.activation, shape.bias)
    network.to(variant.device, getattr(torch, variant.settings.dtype))
    network.load_state_dict(initialize(network, (variant.key, "random features", seed, epoch)))
    return network
