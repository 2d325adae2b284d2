"""B.fig9: the diagonals of WᵀW, of the AGOP WᵀKW and of WᵀQW in the first layer of a network trained on images.

Q is K with random eigenvectors, drawn anew several times; correlations with WᵀQW are means over the draws. Only
diagonals are formed, so that images of any size fit. The correlation is Pearson's.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

import gramlab
from gramlab.streams import stream
from tasks.measuring.run import Run

DRAWS = 20


def measure(run: Run) -> Iterator[dict]:
    """Rows: pearson/K and pearson/Q by seed and arm, and seed 0's diagonals by pixel (x).

    In the control K is that of the next seed's network.
    """
    last = run.epochs[-1]
    x = run.data.numbers(run.data.x_train, torch.float32).flatten(1)
    layers = [
        gramlab.measure(run.model(last, seed), x, layers=["0"], quantities=["ptk"])["0"] for seed in run.seeds
    ]  # fmt: skip
    for seed, layer in zip(run.seeds, layers, strict=True):
        about = {"seed": seed, "step": last * run.steps_per_epoch, "layer": "0", "dtype": "float64"}
        W, F = layer.weight, layer.weight.square().sum(0)
        turned = [
            through(W, gramlab.random_eigenvectors(layer.ptk, stream("b_fig9", "Q", seed, draw)))
            for draw in range(DRAWS)
        ]
        random = float(np.mean([gramlab.pearson(F, G) for G in turned]))
        for arm, K in (("claim", layer.ptk), ("control: another network's K", layers[(seed + 1) % len(layers)].ptk)):
            G = through(W, K)
            yield {**about, "arm": arm, "quantity": "pearson/K", "value": gramlab.pearson(F, G)}
            yield {**about, "arm": arm, "quantity": "pearson/Q", "value": random}
            if seed == 0 and arm == "claim":
                for name, diagonal in (("NFM", F), ("AGOP", G), ("Q", turned[0])):
                    for pixel, value in enumerate(diagonal.tolist()):
                        yield {**about, "arm": arm, "quantity": f"diagonal/{name}", "x": float(pixel), "value": value}
    yield from ({**row, "arm": "claim"} for row in run.history if row["quantity"].endswith("accuracy"))


def through(W: Tensor, K: Tensor) -> Tensor:
    """The diagonal of WᵀKW, (d,)."""
    return (W * (K @ W)).sum(0)
