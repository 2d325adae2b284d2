"""Time of training steps and of measure with a model and images in channels_last, relative to the usual format.

    python benchmarks/channels_last.py [--network cnn resnet18 vgg11] [--rounds 5]

The images are 32 x 32 in float32. The formats take turns on one thread, by CPU time. They differ by round-off.
"""

import argparse
import copy

import torch
from timing import gap, race, ratio
from torch import nn
from torch.nn import functional as F
from torchvision.models import resnet18, vgg11

import gramlab


def cnn() -> nn.Module:
    convolutions = [nn.Conv2d(a, b, 3, stride=s, padding=1) for a, b, s in ((3, 32, 1), (32, 64, 2), (64, 64, 2))]
    return nn.Sequential(*(part for convolution in convolutions for part in (convolution, nn.ReLU())), nn.Flatten(),
                         nn.Linear(4096, 10))  # fmt: skip


def vgg() -> nn.Module:
    model = vgg11(num_classes=10)
    model.avgpool, model.classifier = nn.Identity(), nn.Linear(512, 10)
    return model


NETWORKS = {"cnn": (cnn, 64), "resnet18": (lambda: resnet18(num_classes=10), 16), "vgg11": (vgg, 16)}


def compare(name: str, rounds: int) -> None:
    torch.manual_seed(0)
    make, n = NETWORKS[name]
    plain = make().eval()
    last = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    x, y = torch.randn(n, 3, 32, 32), torch.randint(10, (n,))
    cases = {"usual": (plain, x), "channels_last": (last, x.to(memory_format=torch.channels_last))}
    measured = {}

    def step(model, images):
        model.zero_grad()
        F.cross_entropy(model(images), y).backward()

    def measure(format):
        model, images = cases[format]
        m = gramlab.measure(model, images, y, loss="cross_entropy", weight_decay=1e-3, quantities=["enfa", "fact"])
        measured[format] = torch.cat([layer.sums["weight_gradient"].flatten() for layer in m.values()])

    steps = race({format: lambda case=case: step(*case) for format, case in cases.items()}, rounds)
    measures = race({format: lambda format=format: measure(format) for format in cases}, rounds)
    gradients = [torch.cat([p.grad.flatten() for p in model.parameters()]) for model, _ in cases.values()]
    print(f"{name}, {n} images: a step {ratio(steps, 'channels_last', 'usual')}, difference of the gradient "
          f"{gap(*gradients):.0e}; measure {ratio(measures, 'channels_last', 'usual')}, of the weight gradient "
          f"{gap(*measured.values()):.0e}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.network:
        compare(name, options.rounds)


if __name__ == "__main__":
    main()
