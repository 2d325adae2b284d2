"""C.tab2, C.fig3, C.fig8, C.fig9, C.fig10: correlations of weight Grams with FACT, AGOP and eNFA.

Pearson correlations over all entries: of W^T W with FACT, AGOP and eNFA at a layer's input, and of W W^T with their
backward forms at its output. The control computes FACT and eNFA from the training labels in random order. After
training each correlation has its null: that with the Gram's spectrum in random directions.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

import gramlab
from gramlab.measures.results import LayerMeasures
from gramlab.streams import stream
from tasks.measuring.nulls import nulls
from tasks.measuring.run import Run

ARMS = ("claim", "control: shuffled labels")
SIDES = {"": "gram", "back_": "back_gram"}


def first_layer(run: Run) -> Iterator[dict]:
    """Rows of Table 2: pearson/NAME of the first layer after training by column (case), seed and arm; the history."""
    for case, variant in run.variants.items():
        for seed in variant.seeds:
            for arm in ARMS:
                for row in correlations(variant, seed, variant.epochs[-1], arm, ["0"]):
                    yield {**row, "case": case}
    yield from ({**row, "arm": "claim"} for row in run.history)


def correlations(run: Run, seed: int, epoch: int, arm: str, layers: list[str] | None = None) -> Iterator[dict]:
    """Rows pearson/NAME by layer of this seed's network after this epoch; null/NAME too after the last epoch."""
    x, y = run.data.numbers(run.data.x_train, torch.float32).flatten(1), run.labels(seed)
    if arm != ARMS[0]:
        y = y[torch.from_numpy(stream(run.key, "shuffled", seed).permutation(len(y)))]
    measured = gramlab.measure(run.model(epoch, seed), x, y, loss=run.settings.loss, layers=layers,
                               weight_decay=run.settings.weight_decay, batch_size=8192)  # fmt: skip
    for name, layer in measured.items():
        labels = {"arm": arm, "seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "layer": name}
        for side, gram_name in SIDES.items():
            gram, matrices = getattr(layer, gram_name), features(layer, side)
            values = {"pearson": {feature: gramlab.pearson(matrix, gram) for feature, matrix in matrices.items()}}
            if epoch == run.epochs[-1]:
                values["null"] = nulls(matrices, gram, stream(run.key, "null", seed, name, side))
            for kind, by_feature in values.items():
                for feature, value in by_feature.items():
                    yield {**labels, "dtype": "float64", "quantity": f"{kind}/{side}{feature}", "value": value}


def features(layer: LayerMeasures, side: str) -> dict[str, Tensor]:
    """The matrices that Table 2 and Figures 3 and 9 compare with the weight's Gram."""
    fact, agop, enfa = (getattr(layer, side + name) for name in ("fact", "agop", "enfa"))
    return {
        "fact": fact,
        "symmetric fact": gramlab.psd_power(fact @ fact.T, 0.5),
        "agop": agop,
        "root agop": gramlab.psd_power(agop, 0.5),
        "enfa": enfa,
        "root enfa": gramlab.psd_power(enfa, 0.5),
    }
