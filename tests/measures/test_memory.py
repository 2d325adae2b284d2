"""Memory in use between batches does not grow with their number, and is a few matrices a layer."""

import gc
import weakref

import torch
from torch import nn

import gramlab


def alive(measure, targets):
    """Bytes of new tensors at each of six batches that ``measure`` reads."""
    gc.collect()
    # by reference too: a new tensor may get the id of an earlier one that is gone
    earlier = {id(item): weakref.ref(item) for item in gc.get_objects() if issubclass(type(item), torch.Tensor)}
    sizes = []

    def size():
        tensors = (item for item in gc.get_objects() if issubclass(type(item), torch.Tensor))
        new = (t for t in tensors if id(t) not in earlier or earlier[id(t)]() is not t)
        return sum(t.numel() * t.element_size() for t in new)

    def batches():
        for _ in range(6):
            yield torch.randn(200, 40), targets()
            gc.collect()
            sizes.append(size())

    measure(batches())
    return sizes


def test_memory_does_not_grow_with_the_data():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 3))
    initial = {name: tensor / 2 for name, tensor in model.state_dict().items()}
    sizes = alive(lambda x: gramlab.measure(model, x, weight_decay=0.1, initial=initial), lambda: torch.randn(200, 3))
    assert len(set(sizes[1:])) == 1, sizes
    sums = 8 * sum(3 * k * k + k * d for d, k in ((40, 30), (30, 3)))  # ptk, centred ptk, loss outer, gradient
    batch = 4 * 200 * 43
    weights = 2 * 4 * sum(p.numel() for p in model.parameters())  # the copy with the initial weights, and theirs
    assert sizes[-1] < sums + 2 * batch + weights + 1000


def test_neural_collapse_keeps_no_features():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 3))
    sizes = alive(lambda x: gramlab.denoising(model, x), lambda: torch.arange(200) % 4)
    assert len(set(sizes[1:])) == 1, sizes
    means = 8 * (4 + 2) * 2 * (40 + 30 + 20)  # class means, those of projections, what they are about
    batch = 2 * (4 * 200 * 40 + 8 * 200)  # the one before is alive until the next is made
    assert sizes[-1] < means + batch + 8 * (30 * 40 + 20 * 30) + 4000  # which a float64 row of each sample exceeds


def test_features_of_a_layer_are_joined_one_layer_at_a_time(monkeypatch):
    """Of the layers that are joined the batches are not kept."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 40))
    cat, parts, alive_parts = torch.cat, [], []

    def counted(tensors, *arguments):
        gc.collect()
        alive_parts.append(sum(part() is not None for part in parts))
        parts.extend(map(weakref.ref, tensors))
        return cat(tensors, *arguments)

    monkeypatch.setattr(torch, "cat", counted)
    features = gramlab.features(model, torch.randn(30, 40), batch_size=10)
    assert [tuple(H.shape) for H in features.values()] == [(30, 40)] * 3
    # of each joined layer at most the last batch, which is also that of its last call
    assert all(alive <= joined for joined, alive in enumerate(alive_parts)), alive_parts
