"""C.fig11: deep linear networks after training: powers of AGOP and FACT against W_1^T W_1, and the layers' balance."""

from collections.abc import Iterator

import torch

import gramlab
from gramlab.streams import stream
from tasks.measuring.run import Run
from tasks.papers.neural_collapse.experiments.shared.collapse import nulls

POWERS = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5)


def measure(run: Run) -> Iterator[dict]:
    """Rows by depth L (the case), seed and arm: cosine/agop at power x, cosine/fact, null/NAME, and balance.

    ``balance`` is the largest difference of a singular value between two layers, over the largest of all, among the
    first c of each layer; at depth L the network's rank is at most c. Without weight decay FACT is taken at lambda = 1:
    a cosine does not see its scale.
    """
    for depth, one in run.variants.items():
        x = one.data.numbers(one.data.x_train, torch.float64)
        for case in one.cases:
            arm = "claim" if case == one.cases[0] else "control: no weight decay"
            for seed in one.seeds:
                member = one.members[one.member(seed, case)]
                model = one.model(one.epochs[-1], seed, case).double()
                first = gramlab.measure(model, x, one.data.y_train, loss=one.settings.loss, layers=["0"],
                                        weight_decay=member.weight_decay or 1.0)["0"]  # fmt: skip
                about = {"arm": arm, "case": depth, "seed": seed, "dtype": "float64"}
                for power in POWERS:
                    value = gramlab.cosine(gramlab.psd_power(first.agop, power), first.gram)
                    yield {**about, "quantity": "cosine/agop", "x": power, "value": value}
                yield {**about, "quantity": "cosine/fact", "value": gramlab.cosine(first.fact, first.gram)}
                own = {"fact": first.fact, "agop": gramlab.psd_power(first.agop, 1 / int(depth.removeprefix("L")))}
                draw = stream(run.key, "null", depth, seed)
                for name, value in nulls(own, first.gram, draw, gramlab.cosine).items():
                    yield {**about, "quantity": f"null/{name}", "value": value}
                weights = [p.detach() for p in model.parameters()]
                values = torch.stack([torch.linalg.svdvals(W)[: one.data.outputs] for W in weights])
                spread = (values.amax(0) - values.amin(0)).max() / values.max()
                yield {**about, "quantity": "balance", "value": float(spread)}
    yield from ({**row, "arm": "claim"} for row in run.history)
