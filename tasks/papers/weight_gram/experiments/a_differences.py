"""What it changes that the authors' code does otherwise than the paper's text, on networks of Figure 4.

The run has the code's learning rate and momentum (``a_fig4`` has the text's). On its trained networks every quantity is
computed both ways: arm "printed" as the text has it, "code" as the code does. tasks/differences.py puts them together.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gramlab
from gramlab.data import random_labels
from tasks.measuring.run import Run

KEPT = 4  # PCA keeps one in so many dimensions: the code keeps 256 of more than 1000
NOISE = 0.25  # share of random labels, one of Figure 12's


def measure(run: Run) -> Iterator[dict]:
    """Rows: both arms of each difference (case) by seed, at the last hidden layer and, for PCA, at the one before."""
    last = run.epochs[-1]
    x, x_test = (run.data.numbers(one, torch.float32).flatten(1) for one in (run.data.x_train, run.data.x_test))
    Y = F.one_hot(run.data.y_train, run.data.classes).double()
    for seed in run.seeds:
        about = {"seed": seed, "step": last * run.steps_per_epoch, "dtype": "float64"}
        model = run.model(last, seed)
        for case, quantity, printed, code in both_ways(model, x, Y, x_test, run.data.y_test, seed):
            for arm, value in (("printed", printed), ("code", code)):
                yield {**about, "arm": arm, "case": case, "quantity": quantity, "value": value}
            if case == "labels":  # what Figure 4 plots, for the comparison with the run at the text's rate
                yield {**about, "arm": "code", "case": "rate", "quantity": quantity, "value": printed}
    for row in run.history:
        if row["quantity"].endswith("accuracy") and row["step"] == last * run.steps_per_epoch:
            yield {**row, "arm": "code", "case": "rate"}


@torch.no_grad()
def both_ways(
    model: nn.Sequential, x: Tensor, Y: Tensor, x_test: Tensor, y_test: Tensor, seed: int
) -> Iterator[tuple[str, str, float, float]]:
    """Difference, quantity, its value by the text and by the code."""
    H, W = model[:-1](x).double(), model.get_parameter(f"{len(model) - 1}.weight").double()
    centred = Y - Y.mean(0)
    surrogate, linearity = gramlab.surrogate(H, W, Y), gramlab.target_linearity(H, Y)
    yield "labels", "surrogate", surrogate, gramlab.surrogate(H, W, centred)
    yield "labels", "target_linearity", linearity, gramlab.target_linearity(H, centred)
    yield "classes", "surrogate", surrogate, float((Y.T @ (H @ W.T)).square().sum(1).mean())
    before = model[:-3](x).double()
    Z = before @ model.get_parameter(f"{len(model) - 3}.weight").double().T
    reduced = [one @ principal(one, one.shape[1] // KEPT) for one in (Z, H)]
    eye = torch.eye(Z.shape[1], dtype=Z.dtype, device=Z.device)
    fewer = eye[:, : len(eye) // KEPT]
    yield "pca", "surrogate", gramlab.surrogate(Z, eye, Y), gramlab.surrogate(reduced[0], fewer, Y)
    yield "pca", "target_linearity", linearity, gramlab.target_linearity(reduced[1], Y)
    h, y = H.float(), Y.float()
    fitted = h @ (torch.linalg.inv_ex(h.T @ h).inverse @ (h.T @ y))
    left = float((y - fitted).square().sum() / (y - y.mean(1, keepdim=True)).square().sum())
    yield "inverse", "target_linearity", linearity, 1 - left
    losses = F.cross_entropy(model(x_test), y_test, reduction="none").double()
    yield "test loss", "test_loss", float(losses.mean()), float((losses + losses).mean())
    right = model(x_test).argmax(1)
    noisy = random_labels(y_test, Y.shape[1], NOISE, "a_differences", seed, "test labels")
    clean, redrawn = (float((right == labels).double().mean()) for labels in (y_test, noisy))
    yield "test labels", "test_accuracy", clean, redrawn


def principal(rows: Tensor, kept: int) -> Tensor:
    """The first principal directions (d, kept), of the centred rows; the code applies them to the rows as they are."""
    return torch.linalg.eigh((rows - rows.mean(0)).T @ (rows - rows.mean(0))).eigenvectors[:, -kept:]
