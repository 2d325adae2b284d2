"""B.fig1, B.egop: the first layer of a network that learned the chain monomial: NFM, AGOP, and the target's EGOP.

Q is K with random eigenvectors, drawn anew several times; correlations with WᵀQW are means over the draws. The first
layer's AGOP is that of the whole network with respect to its inputs, which is what the EGOP is compared with.
"""

from collections.abc import Iterator

import numpy as np
import torch

import gramlab
from gramlab.data.polynomials import chain_monomial_egop
from gramlab.nets import initialize
from gramlab.streams import stream
from tasks.measuring.run import Run

RANK = 5
DRAWS = 20  # of Q


def measure(run: Run) -> Iterator[dict]:
    """Rows: egop/agop, egop/gram, R² by epoch, seed and arm; nfa/K and nfa/Q at the end; seed 0's matrices.

    The AGOP is also compared with the EGOP of chains one coordinate shorter and longer: the nearer of the two.
    """
    data = run.data
    x = data.x_train.float()
    egop, *others = (torch.from_numpy(chain_monomial_egop(np.eye(data.inputs), r)) for r in (RANK, RANK - 1, RANK + 1))
    for epoch in run.epochs:
        for seed in run.seeds:
            random = run.model(0, seed)
            random.load_state_dict(initialize(random, ("b_fig1", "untrained", seed, epoch), "normal", [0.01, 1, 1]))
            for arm, model in (("claim", run.model(epoch, seed)), ("control: untrained", random)):
                layer = gramlab.measure(model, x, layers=["0"], quantities=["gram", "agop"])["0"]
                about = {"arm": arm, "seed": seed, "step": epoch, "layer": "0", "dtype": "float64"}
                for name, matrix in (("agop", layer.agop), ("gram", layer.gram)):
                    yield {**about, "quantity": f"egop/{name}", "value": gramlab.cosine(matrix, egop)}
                nearest = max(gramlab.cosine(layer.agop, other) for other in others)
                yield {**about, "quantity": "egop/agop, another target", "value": nearest}
                null = gramlab.cosine_null(layer.agop, egop)[0]
                yield {**about, "quantity": "null/egop_agop", "value": null}
                for part, inputs, targets in (("train", x, data.y_train), ("test", data.x_test.float(), data.y_test)):
                    with torch.no_grad():
                        error = (model(inputs) - targets).square().mean()
                    yield {**about, "quantity": f"r2/{part}", "value": 1 - float(error / targets.var(correction=0))}
    yield from _alignment(run, x, egop)


def _alignment(run: Run, x: torch.Tensor, egop: torch.Tensor) -> Iterator[dict]:
    """The NFM's correlation with WᵀKW and with WᵀQW; in the control K is that of the next seed's network."""
    last = run.epochs[-1]
    layers = [
        gramlab.measure(run.model(last, seed), x, layers=["0"], quantities=["gram", "ptk"])["0"] for seed in run.seeds
    ]
    for seed, layer in zip(run.seeds, layers, strict=True):
        about = {"seed": seed, "step": last, "layer": "0", "dtype": "float64"}
        W, F = layer.weight, layer.gram
        values = torch.linalg.eigvalsh(layer.ptk)
        spread = float(values.std(correction=0) / values.mean())
        yield {**about, "arm": "claim", "quantity": "spread of K's eigenvalues", "value": spread}
        turned = [
            W.T @ gramlab.random_eigenvectors(layer.ptk, stream("b_fig1", "Q", seed, draw)) @ W for draw in range(DRAWS)
        ]
        random = float(np.mean([gramlab.cosine(F, G) for G in turned]))
        for arm, K in (("claim", layer.ptk), ("control: another network's K", layers[(seed + 1) % len(layers)].ptk)):
            G = W.T @ K @ W
            yield {**about, "arm": arm, "quantity": "nfa/K", "value": gramlab.cosine(F, G)}
            yield {**about, "arm": arm, "quantity": "nfa/Q", "value": random}
            if seed == 0 and arm == "claim":
                for name, matrix in (("EGOP", egop), ("NFM", F), ("AGOP", G), ("Q", turned[0])):
                    for at, value in enumerate(matrix.flatten().tolist()):
                        yield {**about, "arm": arm, "quantity": f"matrix/{name}", "x": float(at), "value": value}
