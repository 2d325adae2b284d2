"""Networks with convolutions that compute all members at once, against torch's own modules, autograd and optimizers."""

import copy

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from gramlab.data import prepare
from gramlab.nets import TrainingConfig, build, fit, initialize
from gramlab.nets.ensemble import Ensemble
from gramlab.nets.joint import JointConv2d, has_joint_images
from gramlab.nets.stacked import StackedParameters

NARROW = {"width": 8, "channels": 8}
SEEDS = 3


@pytest.fixture(scope="module", params=[1, 2], ids=["8 x 8", "16 x 16"])
def digits(request, tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=60, test=20, enlarge=request.param)


def trained_alone(model, data, config, seed, batches):
    """A copy of a network after the steps of an ordinary loop, in float64, with its test losses."""
    network = copy.deepcopy(model).double()
    network.load_state_dict(initialize(model, (*config.name, seed), config.init, config.init_scale), strict=False)
    optimizer = torch.optim.SGD(network.parameters(), config.lr, config.momentum, weight_decay=config.weight_decay)
    x = data.scaled(data.x_train, torch.float64)
    for epoch in range(config.epochs):
        for rows in batches.epoch(epoch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(x[rows[seed]]), data.y_train[rows[seed]])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        outputs = network.eval()(data.scaled(data.x_test, torch.float64))
        return network.state_dict(), float(nn.functional.cross_entropy(outputs, data.y_test))


# vgg11 halves an image four times before its last pool, so that 8 x 8 is too small
@pytest.mark.parametrize(
    ("digits", "kind"), [(1, "cnn"), (1, "resnet18"), (2, "cnn"), (2, "resnet18"), (2, "vgg11")], indirect=["digits"]
)
def test_members_train_as_torch_trains_each_alone(digits, tmp_path, kind):
    """Weights, statistics of batch normalisation and test losses agree over ten steps, with a smaller last batch."""
    model = build(kind, digits.x_train.shape[1:], 10, **({"channels": 4} if kind == "cnn" else NARROW))
    config = TrainingConfig(lr=0.05, momentum=0.9, weight_decay=0.01, batch=14, epochs=2, snapshots=(2,),
                            name=("joint",), dtype="float64")  # fmt: skip
    joint = Ensemble(model, digits, config, SEEDS, "cpu")
    assert [group.is_single for group in joint.stacked.groups] == [False]
    files, history = fit(model, digits, config, SEEDS, tmp_path)
    weights = load_file(files[2])
    # batch normalisation amplifies round-off
    tolerance = {"rtol": 1e-7, "atol": 1e-9} if kind == "resnet18" else {"rtol": 1e-9, "atol": 1e-11}
    for seed in range(SEEDS):
        expected, loss = trained_alone(model, digits, config, seed, joint.batches)
        assert set(weights) == set(expected)
        for name, value in expected.items():
            torch.testing.assert_close(weights[name][seed], value, **tolerance)
        ours = [row["value"] for row in history
                if (row["seed"], row["x"], row["quantity"]) == (seed, 2.0, "test_loss")]  # fmt: skip
        assert ours == pytest.approx([loss], rel=1e-7)


@pytest.mark.parametrize("outputs", [3, 20])  # below and above MAX_CHANNELS_LAST
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"),
    [
        ((7, 5), (3, 2), (2, 1), (1, 0)),
        ((1, 1), 3, 1, 1),
        ((2, 2), 3, 2, 1),
        ((2, 2), 1, 2, 0),
        ((3, 2), (3, 4), 1, (0, 1)),
        ((1, 4), 3, (1, 9), 1),
        ((2, 3), (5, 7), 4, (2, 2)),
        ((1, 2), 3, 1, 1),  # one row, and two columns of outputs
    ],
)
def test_joint_convolutions_are_those_of_each_member(shape, kernel, stride, padding, bias, outputs):
    """Outputs and gradients, also where the kernel has one position and part of it meets the padding alone."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, outputs, kernel, stride, padding, bias=bias).double() for _ in range(SEEDS)]
    x = torch.randn(4, SEEDS * 2, *shape, dtype=torch.float64, requires_grad=True)
    weight = torch.stack([layer.weight.detach() for layer in layers])
    biases = torch.stack([layer.bias.detach() for layer in layers]) if bias else None
    joint = JointConv2d(layers[0], weight, biases)
    y, expected = joint(x), torch.cat([layer(part) for layer, part in zip(layers, x.chunk(SEEDS, 1), strict=True)], 1)
    torch.testing.assert_close(y, expected)
    gradient = torch.randn_like(expected)
    ours = torch.autograd.grad(y, [x, *joint.parameters()], gradient)
    theirs = torch.autograd.grad(expected, [x, *(p for layer in layers for p in layer.parameters())], gradient)
    torch.testing.assert_close(ours[0], theirs[0])
    per_layer = 2 if bias else 1
    for role in range(per_layer):
        torch.testing.assert_close(ours[1 + role], torch.stack(theirs[1 + role :: per_layer]))


def test_an_interrupted_joint_training_ends_in_the_same_bytes(digits, tmp_path):
    """Batch normalisation, products at one position and convolutions, in single precision."""
    model = build("resnet18", digits.x_train.shape[1:], 10, **NARROW)
    config = TrainingConfig(lr=0.05, momentum=0.9, batch=15, epochs=3, snapshots=(2, 3), name=("stopped",))

    def stop(step, *_):
        if step >= 7:
            raise KeyboardInterrupt

    whole, history = fit(model, digits, config, SEEDS, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gramlab.nets.training.PROGRESS_EVERY", 1)
        with pytest.raises(KeyboardInterrupt):
            fit(model, digits, config, SEEDS, tmp_path / "stopped", checkpoint_seconds=0, progress=stop)
    resumed, resumed_history = fit(model, digits, config, SEEDS, tmp_path / "stopped")
    assert resumed_history == history
    for epoch in (2, 3):
        assert resumed[epoch].read_bytes() == whole[epoch].read_bytes()


class Mirrored(nn.Module):
    def forward(self, x):
        return x.flip(1)


class Shifted(nn.Conv2d):
    def forward(self, x):
        return super().forward(x) + 1


def small(*layers, flat=True):
    return nn.Sequential(*layers, *([nn.Flatten(), nn.Linear(4 * 6 * 6, 2)] if flat else []))


TWICE = nn.Conv2d(4, 4, 1)
OTHER_NETWORKS = {
    "unknown layer": small(nn.Conv2d(1, 4, 3), Mirrored()),
    "own convolution": small(Shifted(1, 4, 3)),
    "grouped": small(nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 1, groups=2)),
    "dilated": small(nn.Conv2d(1, 4, 2, dilation=2)),
    "reflected": small(nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"), nn.MaxPool2d(2, 1), nn.MaxPool2d(2, 1)),
    "padding by name": small(nn.Conv2d(1, 4, 3, padding="valid")),
    "no affine map": small(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, affine=False)),
    "a layer twice": small(nn.Conv2d(1, 4, 3), TWICE, TWICE),
    "other flattening": nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(2), nn.Flatten(), nn.Linear(144, 2)),
    "rows through a linear layer": nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(6, 6), nn.Flatten(), nn.Linear(144, 2)),
    "images to the end": nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1)),
}


@pytest.mark.parametrize("name", OTHER_NETWORKS)
def test_other_networks_with_convolutions_are_left_to_vmap(name):
    model = OTHER_NETWORKS[name]
    initial = [{key: value.detach() for key, value in model.named_parameters()}] * 2
    stacked = StackedParameters(model, initial, 1, torch.float32, "cpu", torch.zeros(1, 1, 8, 8))
    assert not has_joint_images(model)
    assert not has_joint_images(small(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, momentum=None)))
    assert [group.is_single for group in stacked.groups] == [False]
    x = torch.rand(2, 5, 1, 8, 8)
    expected = torch.stack([copy.deepcopy(model)(part) for part in x])
    stacked.train(True)
    torch.testing.assert_close(stacked.groups[0].run(x), expected, rtol=1e-5, atol=1e-5)
