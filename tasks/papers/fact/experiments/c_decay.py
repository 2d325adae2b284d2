"""FACT and the root of the AGOP against the weight Gram along training, for several weight decays. No claim uses it.

The rows are of the first layer of networks with two hidden layers, which learn images. They hold Pearson's correlations
over all entries for every seed, and for seed 0 the matrices' means between patches of the image, for readers to see.
"""

from collections.abc import Iterator

import torch

import gramlab
from gramlab.streams import stream
from tasks.measuring.patches import image_rows
from tasks.measuring.run import Run

LAYER = "0"


def measure(run: Run) -> Iterator[dict]:
    """Rows pearson/fact and pearson/root agop by decay (case), seed and step, and seed 0's images; the history.

    The control's FACT comes from the training labels in random order.
    """
    x, shape = run.data.scaled(run.data.x_train, torch.float32).flatten(1), tuple(run.data.x_train.shape[1:])
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                shuffled = torch.from_numpy(stream(run.key, "shuffled", seed).permutation(len(x)))
                for arm, y in (("claim", run.data.y_train), ("control: shuffled labels", run.data.y_train[shuffled])):
                    layer = gramlab.measure(
                        run.model(epoch, seed, case), x, y, loss=run.settings.loss, layers=[LAYER],
                        weight_decay=run.members[run.member_index(seed, case)].weight_decay, batch_size=8192,
                    )[LAYER]  # fmt: skip
                    matrices = {"fact": layer.fact, "root agop": gramlab.psd_power(layer.agop, 0.5)}
                    labels = {"arm": arm, "case": case, "seed": seed, "layer": LAYER, "dtype": "float64",
                              "step": epoch * run.steps_per_epoch}  # fmt: skip
                    for name, matrix in matrices.items():
                        value = gramlab.pearson(matrix, layer.gram)
                        yield {**labels, "quantity": f"pearson/{name}", "x": float(epoch), "value": value}
                    if seed == 0 and arm == "claim":
                        yield from image_rows({"gram": layer.gram, **matrices}, shape, labels)
    yield from ({**row, "arm": "claim"} for row in run.history)
