"""B.fig1, B.egop: the first layer of a network that learned the chain monomial: NFM, AGOP, and the target's EGOP.

The network is that of Appendix H: two hidden ReLU layers of width 128 without biases, initial scale 0.01 in the first
layer. The learning rate and the number of steps are printed for Figures 2, 4, 5, 7 and 8 only. Q is K with random
eigenvectors; correlations with WᵀQW are means over several draws of Q. The AGOP of the first layer is the whole
network's with respect to its inputs, and is compared with the EGOP.

The rank of the EGOP itself needs no network. It is measured for chains of 1 to 12 coordinates whose inputs have the
covariance of drawn samples. Every invertible covariance gives the same rank. The control's chain is open: its sum lacks
the product of the last and the first coordinate.
"""

from collections.abc import Iterator

import numpy as np
import torch

import gramlab
from gramlab.data.polynomials import chain_monomial_egop
from gramlab.nets import initialize
from gramlab.streams import stream
from tasks.measuring.run import Run
from tasks.papers.centered_nfa.experiments.shared.eigenvectors import with_eigenvalues_of

RANK = 5
DRAWS = 20  # of Q
CHAINS = range(1, 13)  # numbers of coordinates r of the chains whose EGOP's rank is measured
FORMULAS = {  # the rank of the EGOP of a chain of r coordinates
    "claim": lambda r: r,
    "corrected": lambda r: r - 2 if r % 4 == 0 else r,
}
OPEN_CHAIN = {"claim": "control: open chain", "corrected": "control: open chain, corrected"}


def measure(run: Run) -> Iterator[dict]:
    """Rows: egop/agop, egop/gram, R² by epoch, seed and arm; nfa/K and nfa/Q at the end; seed 0's matrices.

    "another target" is the AGOP's larger cosine with two EGOPs: of a chain one coordinate shorter, and one longer.
    """
    data = run.data
    x = data.x_train.float()
    egop, *others = (torch.from_numpy(chain_monomial_egop(np.eye(data.inputs), r)) for r in (RANK, RANK - 1, RANK + 1))
    for epoch in run.epochs:
        for seed in run.seeds:
            untrained = run.model(0, seed)
            name = ("b_fig1", "untrained", seed, epoch)
            untrained.load_state_dict(initialize(untrained, name, "normal", run.settings.init_scale))
            for arm, model in (("claim", run.model(epoch, seed)), ("control: untrained", untrained)):
                layer = gramlab.measure(model, x, layers=["0"], quantities=["gram", "agop"])["0"]
                values = {
                    "egop/agop": gramlab.cosine(layer.agop, egop),
                    "egop/gram": gramlab.cosine(layer.gram, egop),
                    "egop/agop, another target": max(gramlab.cosine(layer.agop, other) for other in others),
                    "null/egop_agop": gramlab.cosine_null(layer.agop, egop)[0],
                    "null/egop_gram": gramlab.cosine_null(layer.gram, egop)[0],
                }
                for part, inputs, targets in (("train", x, data.y_train), ("test", data.x_test.float(), data.y_test)):
                    with torch.no_grad():
                        error = (model(inputs) - targets).square().mean()
                    values[f"r2/{part}"] = 1 - float(error / targets.var(correction=0))
                for quantity, value in values.items():
                    yield {"arm": arm, "seed": seed, "step": epoch, "layer": "0", "dtype": "float64",
                           "quantity": quantity, "value": value}  # fmt: skip
    yield from _alignment(run, x, egop)
    for seed in run.seeds:
        yield from _ranks(seed)


def _ranks(seed: int) -> Iterator[dict]:
    """Rows of the rank of the EGOP minus that of each form's formula; x is the number of coordinates in the chain."""
    samples = stream("b_fig1", "samples of the rank", seed).normal(size=(8 * CHAINS[-1], CHAINS[-1]))
    covariance = samples.T @ samples / len(samples)
    for r in CHAINS:
        chain = chain_monomial_egop(covariance, r)
        neighbours = np.eye(len(covariance), k=1)
        neighbours[r - 1 :] = 0  # the last coordinate has no neighbour, the first is not its one
        neighbours += neighbours.T
        open_chain = neighbours @ covariance @ neighbours
        for form, formula in FORMULAS.items():
            for arm, matrix in ((form, chain), (OPEN_CHAIN[form], open_chain)):
                rank = int(np.linalg.matrix_rank(matrix, hermitian=True))
                yield {"arm": arm, "seed": seed, "quantity": "rank/egop", "x": float(r), "value": rank - formula(r)}


def _alignment(run: Run, x: torch.Tensor, egop: torch.Tensor) -> Iterator[dict]:
    """Rows of the NFM's correlation with WᵀKW and with WᵀQW; the control has the eigenvectors of the next seed's K."""
    last = run.epochs[-1]
    layers = [
        gramlab.measure(run.model(last, seed), x, layers=["0"], quantities=["gram", "ptk"])["0"] for seed in run.seeds
    ]
    for seed, layer in zip(run.seeds, layers, strict=True):
        labels = {"seed": seed, "step": last, "layer": "0", "dtype": "float64"}
        W, F = layer.weight, layer.gram
        eigenvalues = torch.linalg.eigvalsh(layer.ptk)
        spread = float(eigenvalues.std(correction=0) / eigenvalues.mean())
        yield {**labels, "arm": "claim", "quantity": "spread of K's eigenvalues", "value": spread}
        with_Q = [
            W.T @ gramlab.random_eigenvectors(layer.ptk, stream("b_fig1", "Q", seed, draw)) @ W for draw in range(DRAWS)
        ]
        correlation_with_Q = float(np.mean([gramlab.cosine(F, G) for G in with_Q]))
        others = with_eigenvalues_of(layer.ptk, layers[(seed + 1) % len(layers)].ptk)
        for arm, K in (("claim", layer.ptk), ("control: another network's eigenvectors", others)):
            G = W.T @ K @ W
            yield {**labels, "arm": arm, "quantity": "nfa/K", "value": gramlab.cosine(F, G)}
            yield {**labels, "arm": arm, "quantity": "nfa/Q", "value": correlation_with_Q}
            if seed == 0 and arm == "claim":
                for name, matrix in (("EGOP", egop), ("NFM", F), ("AGOP", G), ("Q", with_Q[0])):
                    for entry, value in enumerate(matrix.flatten().tolist()):
                        yield {**labels, "arm": arm, "quantity": f"matrix/{name}", "x": float(entry), "value": value}
