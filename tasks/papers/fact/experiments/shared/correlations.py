"""C.tab2, C.fig3, C.fig8, C.fig9, C.fig10: correlations of weight Grams with what should predict them.

Pearson correlations over all entries, of W^T W with FACT, AGOP and eNFA at a layer's input, and of W W^T with their
backward forms at its output. The control takes FACT and eNFA with the training labels in random order. After training
each is set against its null, the weight's Gram with the same spectrum in random directions: psd matrices are never
uncorrelated.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

import gramlab
from gramlab.streams import stream
from tasks.measuring.run import Run
from tasks.papers.neural_collapse.experiments.shared.collapse import nulls

ARMS = ("claim", "control: shuffled labels")
SIDES = {"": "gram", "back_": "back_gram"}


def correlations(run: Run, seed: int, epoch: int, arm: str, layers: list[str] | None = None) -> Iterator[dict]:
    """Rows pearson/NAME by layer, for the network of this seed after this epoch; after the last one null/NAME too."""
    x, y = run.data.numbers(run.data.x_train, torch.float32).flatten(1), run.labels(seed)
    if arm != ARMS[0]:
        y = y[torch.from_numpy(stream(run.key, "shuffled", seed).permutation(len(y)))]
    model = run.model(epoch, seed)
    measured = gramlab.measure(model, x, y, loss=run.settings.loss, layers=layers,
                               weight_decay=run.settings.weight_decay, batch_size=8192)  # fmt: skip
    for name, layer in measured.items():
        about = {"arm": arm, "seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "layer": name}
        for side, gram in SIDES.items():
            matrices = features(layer, side)
            found = {"pearson": {what: gramlab.pearson(one, getattr(layer, gram)) for what, one in matrices.items()}}
            if epoch == run.epochs[-1]:
                draw = stream(run.key, "null", seed, name, side)
                found["null"] = nulls(matrices, getattr(layer, gram), draw)
            for kind, values in found.items():
                for what, value in values.items():
                    yield {**about, "dtype": "float64", "quantity": f"{kind}/{side}{what}", "value": value}


def columns(run: Run) -> Iterator[dict]:
    """Rows of Table 2: the first layer after training, of every variant (its case), and the history."""
    for case, one in run.variants.items():
        for seed in one.seeds:
            for arm in ARMS:
                yield from ({**row, "case": case} for row in correlations(one, seed, one.epochs[-1], arm, ["0"]))
    yield from ({**row, "arm": "claim"} for row in run.history)


def features(layer: Any, side: str) -> dict[str, Tensor]:
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
