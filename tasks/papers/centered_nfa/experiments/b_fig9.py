"""B.fig9: the diagonals of WᵀW, of the AGOP WᵀKW and of WᵀQW in the first layer of a network trained on images.

The network is that of Appendix H: two hidden ReLU layers of width 128 without biases, Adam at 0.0001, initial scale
0.02 in the first layer. The loss and the batch size are not printed. Q is K with random eigenvectors; correlations with
WᵀQW are means over several draws of Q. The correlation is Pearson's. Only diagonals are computed, so that the memory
suffices for images of any size.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

import gramlab
from gramlab.streams import stream
from tasks.measuring.run import Run

CONTROL = "control: units exchanged, signs drawn"
DRAWS = 20  # of Q


def measure(run: Run) -> Iterator[dict]:
    """Rows: pearson/K and pearson/Q by seed and arm; seed 0's diagonals by pixel (x); accuracies.

    The control has K with its hidden units in another order and with random signs. This keeps the eigenvalues and the
    sizes of the eigenvectors' entries. Another network's K would be no control, because the top eigenvectors of all
    networks are close to one direction, that of equal entries.
    """
    last = run.epochs[-1]
    x = run.data.scaled(run.data.x_train, torch.float32).flatten(1)
    layers = [gramlab.measure(run.model(last, seed), x, layers=["0"], quantities=["ptk"])["0"] for seed in run.seeds]
    for seed, layer in zip(run.seeds, layers, strict=True):
        labels = {"seed": seed, "step": last * run.steps_per_epoch, "layer": "0", "dtype": "float64"}
        W, F = layer.weight, layer.weight.square().sum(0)
        with_Q = [
            diagonal(W, gramlab.random_eigenvectors(layer.ptk, stream("b_fig9", "Q", seed, draw)))
            for draw in range(DRAWS)
        ]
        correlation_with_Q = float(np.mean([gramlab.pearson(F, G) for G in with_Q]))
        draw_units = stream("b_fig9", "units", seed)
        order, signs = draw_units.permutation(len(W)), torch.from_numpy(draw_units.choice([-1.0, 1.0], len(W))).to(W)
        exchanged = signs[:, None] * layer.ptk[order][:, order] * signs
        for arm, K in (("claim", layer.ptk), (CONTROL, exchanged)):
            G = diagonal(W, K)
            yield {**labels, "arm": arm, "quantity": "pearson/K", "value": gramlab.pearson(F, G)}
            yield {**labels, "arm": arm, "quantity": "pearson/Q", "value": correlation_with_Q}
            if seed == 0 and arm == "claim":
                for name, values in (("NFM", F), ("AGOP", G), ("Q", with_Q[0])):
                    for pixel, value in enumerate(values.tolist()):
                        yield {**labels, "arm": arm, "quantity": f"diagonal/{name}", "x": float(pixel), "value": value}
    yield from ({**row, "arm": "claim"} for row in run.history if row["quantity"].endswith("accuracy"))


def diagonal(W: Tensor, K: Tensor) -> Tensor:
    """The diagonal of WᵀKW, (d,)."""
    return (W * (K @ W)).sum(0)
