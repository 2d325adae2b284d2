"""torchvision's ResNet-18 and VGG-11, and the precisions that networks come in."""

import copy

import pytest
import torch
import torchvision
from helpers import quantity_of
from oracle import quantities
from test_exact import LR, WEIGHT_DECAY, error
from torch import nn
from torch.nn import functional as F

import gramlab


def resnet():
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=2)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):  # statistics of a trained network, not 0 and 1
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model.double()


def vgg():
    torch.manual_seed(0)
    # its convolutions alone: the head's 120 million weights would only be random
    body = torchvision.models.vgg.make_layers(torchvision.models.vgg.cfgs["A"], batch_norm=False)
    return nn.Sequential(body, nn.Flatten(), nn.Linear(512, 2)).double()


def loss_of(f, y):
    return F.cross_entropy(f, y, reduction="none")


@pytest.mark.parametrize(
    ("model", "checked"),
    [(resnet, ["layer4.0.downsample.0", "fc"]), (vgg, ["0.3", "2"])],
    ids=["ResNet-18", "VGG-11"],
)
def test_networks_of_torchvision(model, checked):
    model = model()
    x, y = torch.randn(2, 3, 32, 32, dtype=torch.float64), torch.tensor([0, 1])
    measurement = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=WEIGHT_DECAY, batch_size=1)
    model.eval()
    F.cross_entropy(model(x), y).backward()
    for name, layer in measurement.items():  # every layer's weight gradient against torch's own
        W = model.get_submodule(name).weight
        assert error(layer.weight_gradient, W.grad.flatten(1)) < 1e-10
    for name in checked:
        for quantity, expected in quantities(model, name, x, y, loss_of, WEIGHT_DECAY, LR).items():
            assert error(quantity_of(measurement[name], quantity, LR), expected) < 1e-10, (name, quantity)


def small():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1, groups=2),
        nn.GELU(),
        nn.Conv2d(8, 8, 3, stride=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(32, 16),
        nn.SiLU(),
        nn.Linear(16, 3),
    )


# how far a measurement in a precision may be from the same weights and data measured in double, normwise; what is
# seen is in docs/performance/errors.md
BOUNDS = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 1e-2}


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_every_precision(dtype):
    model = small().to(dtype)
    torch.manual_seed(1)
    x, y = torch.randn(64, 2, 6, 6).to(dtype), torch.randint(0, 3, (64,))
    measurement = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=WEIGHT_DECAY, batch_size=20)
    exact = gramlab.measure(
        copy.deepcopy(model).double(), x.double(), y, loss="cross_entropy", weight_decay=WEIGHT_DECAY
    )
    for name, layer in exact.items():
        for quantity in ("gram", "agop", "ptk", "enfa", "back_enfa", "fact", "back_fact", "virtual_shift"):
            matrix = quantity_of(measurement[name], quantity, LR)
            assert matrix.dtype == torch.float64
            assert error(matrix, quantity_of(layer, quantity, LR)) < BOUNDS[dtype], (name, quantity)


def test_matrices_are_exactly_symmetric():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 270), nn.ReLU(), nn.Linear(270, 2))
    measurement = gramlab.measure(
        model, torch.randn(40, 300), torch.randn(40, 2), weight_decay=0.1, initial=copy.deepcopy(model)
    )
    for layer in measurement.values():
        for quantity in ("gram", "back_gram", "agop", "ptk", "enfa", "back_enfa", "centered_agop", "ptk_centered_agop"):
            matrix = getattr(layer, quantity)
            assert torch.equal(matrix, matrix.T), quantity


def test_wide_layers_take_the_blocked_product():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(600, 530), nn.Tanh(), nn.Linear(530, 1)).double()
    x = torch.randn(7, 600, dtype=torch.float64)
    J = torch.func.vmap(torch.func.jacrev(lambda h: model(h).squeeze(-1)))(x)
    assert error(gramlab.measure(model, x)["0"].agop, J.T @ J / 7) < 1e-12
    W = model[0].weight.detach()
    assert error(gramlab.measure(model, x)["0"].gram, W.T @ W) < 1e-14
