"""C.fig11: deep linear networks after training: powers of AGOP, FACT, and the balance of the layers."""

from collections.abc import Iterator

import torch

import gramlab
from gramlab.streams import stream
from tasks.measuring.nulls import nulls
from tasks.measuring.run import Run
from tasks.papers.fact.experiments.shared.correlations import stationarity

POWERS = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5)


def measure(run: Run) -> Iterator[dict]:
    """Rows by depth L (the case), seed and arm: cosines with W_1^T W_1, their nulls, and balance; the history.

    cosine/agop is that of AGOP^x. ``balance`` is the largest difference of a singular value between two layers, over
    the largest singular value, among the first c of each layer: at depth L the network's rank is at most c. Without
    weight decay FACT is computed at lambda = 1, since a cosine does not depend on FACT's scale. With weight decay,
    ``stationarity`` is ||grad_W L_lambda|| / (lambda ||W||) of each weight matrix (layer 1 to L).
    """
    for depth, variant in run.variants.items():
        x = variant.data.scaled(variant.data.x_train, torch.float64)
        for case in variant.cases:
            arm = "claim" if case == variant.cases[0] else "control: no weight decay"
            for seed in variant.seeds:
                weight_decay = variant.members[variant.member_index(seed, case)].weight_decay
                model = variant.model(variant.epochs[-1], seed, case).double()
                first = gramlab.measure(model, x, variant.data.y_train, loss=variant.settings.loss, layers=["0"],
                                        weight_decay=weight_decay or 1.0)["0"]  # fmt: skip
                labels = {"arm": arm, "case": depth, "seed": seed, "dtype": "float64"}
                for power in POWERS:
                    value = gramlab.cosine(gramlab.psd_power(first.agop, power), first.gram)
                    yield {**labels, "quantity": "cosine/agop", "x": power, "value": value}
                yield {**labels, "quantity": "cosine/fact", "value": gramlab.cosine(first.fact, first.gram)}
                agop_root = gramlab.psd_power(first.agop, 1 / int(depth.removeprefix("L")))
                random = stream(run.key, "null", depth, seed)
                null = nulls({"fact": first.fact, "agop": agop_root}, first.gram, random, gramlab.cosine)
                for name, value in null.items():
                    yield {**labels, "quantity": f"null/{name}", "value": value}
                if weight_decay:
                    relative = stationarity(model, x, variant.data.y_train, variant.settings.loss, weight_decay)
                    for number, value in enumerate(relative.values(), 1):
                        yield {**labels, "layer": str(number), "quantity": "stationarity", "value": value}
                weights = [parameter.detach() for parameter in model.parameters()]
                spectra = torch.stack([torch.linalg.svdvals(W)[: variant.data.outputs] for W in weights])
                spread = (spectra.amax(0) - spectra.amin(0)).max() / spectra.max()
                yield {**labels, "quantity": "balance", "value": float(spread)}
    yield from ({**row, "arm": "claim"} for row in run.history)
