"""A.fig7: the first layer's Gram W^T W, the AGOP, and the Virtual Covariance Shift summed over all training steps.

Correlations are Pearson's, of the diagonals and of the whole matrices, with W^T W and with W^T W - W_0^T W_0. The null
rotates W's right singular vectors at random: a Gram matrix of the same spectrum that has learned nothing.

One hidden layer of 256 GELU units, SGD 0.05, trained to the 46 % test accuracy that the paper prints.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

import gramlab
from gramlab.streams import stream
from tasks.measuring.patches import image_rows
from tasks.measuring.run import Run

NULLS = 100  # random Gram matrices of the same spectrum


def measure(run: Run) -> Iterator[dict]:
    """Rows: pearson/A_B_diagonal and _whole by seed and arm, the null's, accuracies, seed 0's diagonals and images."""
    last = run.epochs[-1]
    x = run.data.scaled(run.data.x_train, torch.float32).flatten(1)
    for seed in run.seeds:
        model = run.model(last, seed)
        layer = gramlab.measure(model, x, run.data.y_train, loss="cross_entropy", layers=["0"],
                                quantities=["gram", "agop"])["0"]  # fmt: skip
        W0 = run.model(0, seed).get_parameter("0.weight").detach().double()
        gram, change = layer.gram, layer.gram - W0.T @ W0
        null_diagonals = list(_null_diagonals(model.get_parameter("0.weight").detach().double(), seed))
        columns = {"seed": seed, "layer": "0", "dtype": "float64", "step": last * run.steps_per_epoch}
        shifts = {
            "claim": run.observed(last, seed, "virtual_shift"),
            "control: shuffled labels": run.observed(last, seed, "virtual_shift/shuffled"),
        }
        for arm, shift in shifts.items():
            vcs = -(shift + shift.T)
            pairs = {"vcs_gram": (vcs, gram), "agop_gram": (layer.agop, gram),
                     "vcs_change": (vcs, change), "agop_change": (layer.agop, change)}  # fmt: skip
            for name, (a, b) in pairs.items():
                for part in ("diagonal", "whole"):
                    value = gramlab.pearson(a, b, diagonal=part == "diagonal")
                    yield {**columns, "arm": arm, "quantity": f"pearson/{name}_{part}", "value": value}
            for name, matrix in (("vcs", vcs), ("agop", layer.agop)):
                for index, null_diagonal in enumerate(null_diagonals):
                    value = gramlab.pearson(matrix.diagonal(), null_diagonal)
                    quantity = f"null/{name}_gram_diagonal"
                    yield {**columns, "arm": arm, "quantity": quantity, "x": float(index), "value": value}
            if seed == 0 and arm == "claim":
                matrices = {"gram": gram, "agop": layer.agop, "vcs": vcs, "gram_change": change}
                for name, matrix in matrices.items():
                    for pixel, value in enumerate(matrix.diagonal().tolist()):
                        yield {**columns, "arm": arm, "quantity": f"diagonal/{name}", "x": float(pixel), "value": value}
    yield from _images(run, x)
    yield from ({**row, "arm": "claim"} for row in run.history if row["quantity"].endswith("accuracy"))


def _images(run: Run, x: Tensor) -> Iterator[dict]:
    """Seed 0's Gram, AGOP and VCS between patches of the image after every kept epoch, to look at."""
    for epoch in run.epochs:
        layer = gramlab.measure(run.model(epoch, 0), x, run.data.y_train, loss="cross_entropy", layers=["0"],
                                quantities=["gram", "agop"])["0"]  # fmt: skip
        matrices = {"gram": layer.gram, "agop": layer.agop}
        if epoch:  # before the first step there is no shift
            shift = run.observed(epoch, 0, "virtual_shift")
            matrices["vcs"] = -(shift + shift.T)
        columns = {"arm": "claim", "seed": 0, "layer": "0", "dtype": "float64", "step": epoch * run.steps_per_epoch}
        yield from image_rows(matrices, tuple(run.data.x_train.shape[1:]), columns)


def _null_diagonals(W: Tensor, seed: int) -> Iterator[Tensor]:
    """Diagonals of Q Lambda Q^T with the Gram's nonzero eigenvalues and random orthonormal columns Q."""
    eigenvalues = torch.linalg.svdvals(W).square()
    for draw in range(NULLS):
        normal = torch.from_numpy(stream("a_fig7", "null", seed, draw).normal(size=(W.shape[1], len(eigenvalues))))
        yield torch.linalg.qr(normal.to(W.device)).Q.square() @ eigenvalues
