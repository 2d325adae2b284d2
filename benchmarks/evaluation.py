"""Measure the evaluation of ``fit``: its share of an epoch, and its time relative to bare forward passes.

    python benchmarks/evaluation.py [--seeds 1 5] [--rounds 7]

A.fig4's network (3072 inputs, 4 x 256 GELU, batch 64) on 2,560 training and 512 test samples, a twentieth of CIFAR-10.
Training, evaluation and the bare passes take turns on one thread, by CPU time.
"""

import torch
from timing import arguments, epoch, race, ratio
from torch.nn import functional as F

from gramlab.data import DataSet
from gramlab.nets import TrainingConfig, mlp
from gramlab.nets.ensemble import Ensemble

BLOCK = 2**19 // 3072  # rows that the evaluation takes at once


def main() -> None:
    options = arguments(__doc__, seeds=[1, 5], rounds=7)
    parts = [(torch.randn(n, 3072), torch.randint(10, (n,))) for n in (2560, 512)]
    data = DataSet("benchmark", *parts[0], *parts[1], classes=10)
    model = mlp(3072, [256] * 4, 10)
    settings = TrainingConfig(lr=0.005, batch=64, epochs=1, snapshots=(1,), name=("b",))
    for seeds in options.seeds:
        ensemble = Ensemble(model, data, settings, seeds, "cpu")

        @torch.no_grad()
        def bare(seeds=seeds):
            for _ in range(seeds):
                for x, y in parts:
                    for rows in torch.arange(len(x)).split(BLOCK):
                        outputs = model(x[rows])
                        F.cross_entropy(outputs, y[rows])
                        (outputs.argmax(1) == y[rows]).sum()

        candidates = {
            "training": lambda e=ensemble: epoch(e),
            "evaluation": lambda e=ensemble: e.evaluate(1),
            "bare": bare,
        }
        seconds = race(candidates, options.rounds)
        seconds["both"] = [a + b for a, b in zip(seconds["training"], seconds["evaluation"], strict=True)]
        print(f"{seeds} seeds: evaluation / (training + evaluation) {ratio(seconds, 'evaluation', 'both')}; "
              f"evaluation / bare forward passes {ratio(seconds, 'evaluation', 'bare')}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
