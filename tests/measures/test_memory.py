"""Memory: what is alive between batches does not grow with their number, and is a few matrices a layer."""

import gc

import torch
from torch import nn

import gramlab


def test_what_is_kept_does_not_grow_with_the_data():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 3))
    initial = {name: tensor / 2 for name, tensor in model.state_dict().items()}
    gc.collect()
    foreign = {id(thing) for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)}
    alive = []

    def size():
        mine = (t for t in gc.get_objects() if issubclass(type(t), torch.Tensor) and id(t) not in foreign)
        return sum(t.numel() * t.element_size() for t in mine)

    def batches():
        for _ in range(6):
            yield torch.randn(200, 40), torch.randn(200, 3)
            gc.collect()
            alive.append(size())

    gramlab.measure(model, batches(), weight_decay=0.1, initial=initial)
    assert len(set(alive[1:])) == 1, alive
    sums = 8 * sum(3 * k * k + k * d for d, k in ((40, 30), (30, 3)))  # ptk, centred ptk, loss outer, gradient
    batch = 4 * 200 * 43
    weights = 2 * 4 * sum(p.numel() for p in model.parameters())  # the copy with the initial weights, and theirs
    assert alive[-1] < sums + 2 * batch + weights + 1000
