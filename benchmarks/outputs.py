"""Time correlations by k x k products, and the AGOP of many outputs, against the plain ways, after they agree.

    python benchmarks/outputs.py [--rounds 3] [--images 8]

The candidates take turns on one thread, by CPU time. The convolutional network is torchvision's ResNet-18 with random
weights, on images of 32 x 32; the network with many outputs is an MLP 256-256-256-1000.
"""

from dataclasses import replace

import torch
from timing import arguments, gap, race, show
from torch import nn
from torchvision.models import resnet18

import gramlab
from gramlab.measures.summary import CORRELATIONS
from gramlab.measures.undefined import Undefined

PAIRS = [("gram", "agop"), ("gram", "enfa"), ("gram", "fact")]


def correlations(images: int, rounds: int) -> None:
    torch.manual_seed(0)
    model, x, y = resnet18(num_classes=10), torch.randn(images, 3, 32, 32), torch.arange(images) % 10

    def fresh():  # without the matrices that an earlier call has computed
        return {name: replace(layer) for name, layer in m.items()}

    def by_matrices():
        return [
            f(getattr(layer, a), getattr(layer, b))
            for layer in fresh().values()
            for f in (gramlab.cosine, gramlab.pearson)
            for a, b in PAIRS
        ]

    def by_products():
        return [f(a, b) for layer in fresh().values() for f in (layer.cosine, layer.pearson) for a, b in PAIRS]

    def recorded():
        for layer in fresh().values():
            for compute in CORRELATIONS.values():
                try:
                    compute(layer)
                except Undefined:
                    continue

    m = gramlab.measure(model, x, y, weight_decay=1e-3)
    difference = max(abs(a - b) for a, b in zip(by_matrices(), by_products(), strict=True))
    print(f"cosine and Pearson of Gram with AGOP, eNFA, FACT, ResNet-18: largest difference {difference:.1e}")
    seconds = race({"d x d matrices": by_matrices, "k x k products": by_products, "all of a recorder's": recorded},
                   rounds)  # fmt: skip
    show("the correlations of all layers", seconds, [("d x d matrices", "k x k products")])


def many_outputs(rounds: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1000))
    x = torch.randn(64, 256)

    def measured(outputs):
        return gramlab.measure(model, x, quantities=["ptk", "agop"], outputs=outputs)

    exact = measured("exact")
    for outputs in ("readout", 4, 16, 64):
        m = measured(outputs)
        print(f"outputs={outputs!r}: largest difference {max(gap(m[name].agop, exact[name].agop) for name in m):.1e}")
    ways = {f"outputs={outputs!r}": lambda outputs=outputs: measured(outputs) for outputs in ("exact", "readout", 16)}
    show("ptk of every layer, 1000 outputs", race(ways, rounds),
         [("outputs='readout'", "outputs='exact'"), ("outputs=16", "outputs='exact'")])  # fmt: skip


def main():
    options = arguments(__doc__, rounds=3, images=8)
    many_outputs(options.rounds)
    correlations(options.images, options.rounds)


if __name__ == "__main__":
    main()
