"""What does a network on handwritten digits learn? A first tour of gramlab.

    python examples/digits.py            # writes to ./build/digits

This trains a small network, measures it during training, and draws the papers' figures for it. The folder then holds
the weights and the data too, so that the command line can measure the same network:

    gramlab probe examples/digits.py:network --data build/digits --checkpoint build/digits/trained.pt \
        --initial build/digits/initial.pt --weight-decay 0.01 --out build/digits
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab import plots, tables

WEIGHT_DECAY = 0.01


def network() -> nn.Module:
    """The network to measure. gramlab takes any torch.nn.Module and finds its Linear and Conv2d layers."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def main(out: Path, epochs: int = 100) -> None:
    """Train and record, draw the recorded curves, and measure the trained network."""
    torch.set_num_threads(1)  # the matrices are small: several threads would only wait for each other
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)

    model = network()
    out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), out / "initial.pt")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=WEIGHT_DECAY)

    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)

    # 1. Measure during training. The recorder follows the optimizer, so the training loop needs no change.
    (out / "run.parquet").unlink(missing_ok=True)  # a recorder replaces no table
    recorder = gramlab.Recorder(
        model,
        x,
        y,
        out / "run.parquet",
        every=200,
        at=(10, 20, 50, 100),
        loss="cross_entropy",
        weight_decay=WEIGHT_DECAY,
    )
    with recorder.attach(optimizer):
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            scheduler.step()
    plots.page(tables.read(out / "run.parquet"), out / "run.png")

    # 2. Compare the layers' matrices. At a critical point of the loss with weight decay, WᵀW equals FACT (paper C,
    #    Theorem 3.1). That it is proportional to a power of the AGOP is only a conjecture.
    m = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=WEIGHT_DECAY)
    print("layer  Pearson with WᵀW:  FACT   AGOP   √AGOP   eNFA")
    for name, layer in m.items():
        matrices = layer.fact, layer.agop, gramlab.psd_power(layer.agop, 0.5), layer.enfa
        print(f"{name:>5}                  ", *(f"{gramlab.pearson(layer.gram, M):.3f}" for M in matrices), sep="  ")

    # 3. See which pixels matter: the diagonal of the first layer's WᵀW is an image.
    pixels = m["0"].gram.diagonal().reshape(8, 8)
    print("\nPixels that the first layer uses:")
    for row in pixels / pixels.max():
        print("   ", "".join(" ░▒▓█"[int(4 * value + 0.5)] * 2 for value in row))

    torch.save(model.state_dict(), out / "trained.pt")
    np.save(out / "x.npy", x.numpy())
    np.save(out / "y.npy", y.numpy())
    print(f"\nFigures of the training run: {out / 'run.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/digits"))
