"""A.fig7: the first layer's Gram W^T W, the AGOP, and the Virtual Covariance Shift summed over all training steps.

Correlations are Pearson's, of the diagonals and of the whole matrices, with W^T W and with W^T W - W_0^T W_0. Each has
its null, the 97.5 % quantile of the correlations with matrices of the same spectrum in random directions. The
remainder of Theorem 1 is the change without the VCS. The sum of the VCS contains the square of each step's virtual
update, as Definition 1 has it, so that the remainder holds only what the theorem calls O(gamma^2).

One hidden layer of 256 GELU units, SGD 0.05. The paper prints a test accuracy of 46 %, and no number of epochs. The
papers' scale has 10 epochs, which end near this accuracy (0.45).
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch
from torch import Tensor

import gramlab
from gramlab.streams import stream
from tasks.measuring.nulls import nulls
from tasks.measuring.patches import image_rows
from tasks.measuring.run import Run

PARTS: dict[str, Callable[[Tensor, Tensor], float]] = {
    "diagonal": partial(gramlab.pearson, diagonal=True),
    "whole": gramlab.pearson,
}


def measure(run: Run) -> Iterator[dict]:
    """Rows by seed and arm: correlations, their nulls and remainders; accuracies, seed 0's diagonals and images."""
    last = run.epochs[-1]
    x = run.data.scaled(run.data.x_train, torch.float32).flatten(1)
    for seed in run.seeds:
        model = run.model(last, seed)
        layer = gramlab.measure(model, x, run.data.y_train, loss="cross_entropy", layers=["0"],
                                quantities=["gram", "agop"])["0"]  # fmt: skip
        W0 = run.model(0, seed).get_parameter("0.weight").detach().double()
        gram, change = layer.gram, layer.gram - W0.T @ W0
        columns = {"seed": seed, "layer": "0", "dtype": "float64", "step": last * run.steps_per_epoch}
        shifts = {
            "claim": run.observed(last, seed, "virtual_shift"),
            "control: shuffled labels": run.observed(last, seed, "virtual_shift/shuffled"),
        }
        matrices = {"agop": layer.agop, **{arm: -(shift + shift.T) for arm, shift in shifts.items()}}
        for (target, goal), (part, correlation) in product({"gram": gram, "change": change}.items(), PARTS.items()):
            null = nulls(matrices, goal, stream(run.key, "null", seed, target, part), correlation)
            for arm in shifts:
                for name, matrix in (("vcs", arm), ("agop", "agop")):  # the AGOP is the same in both arms
                    values = {"pearson": correlation(matrices[matrix], goal), "null": null[matrix]}
                    for kind, value in values.items():
                        yield {**columns, "arm": arm, "quantity": f"{kind}/{name}_{target}_{part}", "value": value}
        for arm in shifts:
            yield from ({**columns, "arm": arm, **row} for row in _remainders(change, matrices[arm]))
        if seed == 0:
            shown = {"gram": gram, "agop": layer.agop, "vcs": matrices["claim"], "gram_change": change}
            for name, matrix_shown in shown.items():
                for pixel, value in enumerate(matrix_shown.diagonal().tolist()):
                    yield {**columns, "arm": "claim", "quantity": f"diagonal/{name}", "x": float(pixel), "value": value}
    yield from _images(run, x)
    yield from ({**row, "arm": "claim"} for row in run.history if row["quantity"].endswith("accuracy"))


def _remainders(change: Tensor, shift: Tensor) -> Iterator[dict]:
    """The norm of the change without the accumulated shift over that of the change, of diagonals and whole matrices."""
    for part, of in (("diagonal", torch.diagonal), ("whole", torch.clone)):
        yield {"quantity": f"{part}/remainder", "value": float(of(change - shift).norm() / of(change).norm())}


def _images(run: Run, x: Tensor) -> Iterator[dict]:
    """Seed 0's Gram, AGOP and VCS between patches of the image after every kept epoch, for readers to look at."""
    for epoch in run.epochs:
        layer = gramlab.measure(run.model(epoch, 0), x, run.data.y_train, loss="cross_entropy", layers=["0"],
                                quantities=["gram", "agop"])["0"]  # fmt: skip
        matrices = {"gram": layer.gram, "agop": layer.agop}
        if epoch:  # before the first step there is no shift
            shift = run.observed(epoch, 0, "virtual_shift")
            matrices["vcs"] = -(shift + shift.T)
        columns = {"arm": "claim", "seed": 0, "layer": "0", "dtype": "float64", "step": epoch * run.steps_per_epoch}
        yield from image_rows(matrices, tuple(run.data.x_train.shape[1:]), columns)
