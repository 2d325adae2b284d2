"""Effects of differences between the paper's text and the authors' code, on networks of Figure 4.

This run uses the code's learning rate 0.0005 and momentum 0.8; ``a_fig4`` uses those of the text. Each quantity of the
trained networks is computed both ways: arm "printed" as in the text, arm "code" as in the code. From these rows
tasks/papers/weight_gram/differences.py makes a table. Quick scale: as for a_fig4.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gramlab
from gramlab.data import random_labels
from tasks.measuring.run import Run

PCA_FACTOR = 4  # PCA keeps a quarter of the dimensions; the code keeps 256 of more than 1000
NOISE = 0.25  # a share of random labels of Figure 12


def measure(run: Run) -> Iterator[dict]:
    """Rows: both arms of each difference (case) by seed, in the last hidden layer; for PCA also in the layer before."""
    last = run.epochs[-1]
    x, x_test = (run.data.scaled(images, torch.float32).flatten(1) for images in (run.data.x_train, run.data.x_test))
    Y = F.one_hot(run.data.y_train, run.data.classes).double()
    for seed in run.seeds:
        columns = {"seed": seed, "step": last * run.steps_per_epoch, "dtype": "float64"}
        model = run.model(last, seed)
        for case, quantity, printed, code in both_ways(model, x, Y, x_test, run.data.y_test, seed):
            for arm, value in (("printed", printed), ("code", code)):
                yield {**columns, "arm": arm, "case": case, "quantity": quantity, "value": value}
            if case == "labels":  # what Figure 4 plots, for the comparison with the run at the text's rate
                yield {**columns, "arm": "code", "case": "rate", "quantity": quantity, "value": printed}
    for row in run.history:
        if row["quantity"].endswith("accuracy") and row["step"] == last * run.steps_per_epoch:
            yield {**row, "arm": "code", "case": "rate"}


@torch.no_grad()
def both_ways(
    model: nn.Sequential, x: Tensor, Y: Tensor, x_test: Tensor, y_test: Tensor, seed: int
) -> Iterator[tuple[str, str, float, float]]:
    """The difference, the quantity, and its values by the text and by the code."""
    H, W = model[:-1](x).double(), model.get_parameter(f"{len(model) - 1}.weight").double()
    centred = Y - Y.mean(0)
    surrogate, linearity = gramlab.surrogate(H, W, Y), gramlab.target_linearity(H, Y)
    yield "labels", "surrogate", surrogate, gramlab.surrogate(H, W, centred)
    yield "labels", "target_linearity", linearity, gramlab.target_linearity(H, centred)
    yield "classes", "surrogate", surrogate, float((Y.T @ (H @ W.T)).square().sum(1).mean())
    previous = model[:-3](x).double()
    Z = previous @ model.get_parameter(f"{len(model) - 3}.weight").double().T
    reduced_Z, reduced_H = (rows @ principal(rows, rows.shape[1] // PCA_FACTOR) for rows in (Z, H))
    eye = torch.eye(Z.shape[1], dtype=Z.dtype, device=Z.device)
    reduced_eye = eye[:, : len(eye) // PCA_FACTOR]
    yield "pca", "surrogate", gramlab.surrogate(Z, eye, Y), gramlab.surrogate(reduced_Z, reduced_eye, Y)
    yield "pca", "target_linearity", linearity, gramlab.target_linearity(reduced_H, Y)
    h, y = H.float(), Y.float()
    fitted = h @ (torch.linalg.inv_ex(h.T @ h).inverse @ (h.T @ y))
    unexplained = float((y - fitted).square().sum() / (y - y.mean(1, keepdim=True)).square().sum())
    yield "inverse", "target_linearity", linearity, 1 - unexplained
    losses = F.cross_entropy(model(x_test), y_test, reduction="none").double()
    yield "test loss", "test_loss", float(losses.mean()), float((losses + losses).mean())
    predicted = model(x_test).argmax(1)
    noisy = random_labels(y_test, Y.shape[1], NOISE, "a_differences", seed, "test labels")
    accuracy, noisy_accuracy = (float((predicted == labels).double().mean()) for labels in (y_test, noisy))
    yield "test labels", "test_accuracy", accuracy, noisy_accuracy


def principal(rows: Tensor, dimensions: int) -> Tensor:
    """The first principal directions (d, dimensions) of the centred rows; the code applies them to uncentred rows."""
    return torch.linalg.eigh((rows - rows.mean(0)).T @ (rows - rows.mean(0))).eigenvectors[:, -dimensions:]
