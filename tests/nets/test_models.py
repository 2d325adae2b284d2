"""Every kind of network against its formula; initial weights against their distributions."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gramlab.nets import ACTIVATIONS, VAE, NetError, build, cnn, initialize, mlp
from gramlab.nets.activations import ELEMENTWISE
from tasks.settings import Model

FORMULAS = {
    "gelu": lambda t: t * (1 + torch.erf(t / math.sqrt(2))) / 2,
    "relu": lambda t: t.clamp(min=0),
    "leaky_relu": lambda t: torch.where(t > 0, t, 0.01 * t),
    "tanh": lambda t: (torch.exp(2 * t) - 1) / (torch.exp(2 * t) + 1),
    "sigmoid": lambda t: 1 / (1 + torch.exp(-t)),
    "softplus": lambda t: torch.log1p(torch.exp(t)),
    "linear": lambda t: t,
    "relu^2": lambda t: t.clamp(min=0) * t.clamp(min=0),
    "relu^3": lambda t: t.clamp(min=0) * t * t,
    "quadratic": lambda t: t * t,
    "cosine": lambda t: torch.sin(t + math.pi / 2),
}


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    t = normal(50)
    torch.testing.assert_close(ACTIVATIONS[name]()(t), FORMULAS[name](t), rtol=1e-12, atol=1e-12)
    assert isinstance(ACTIVATIONS[name](), ELEMENTWISE)


def test_settings_accept_every_activation_and_name_wrong_options():
    for name in ACTIVATIONS:
        Model(hidden=[2], activation=name)
    with pytest.raises(ValueError, match="hidden must be given for a model of kind vae"):
        Model(kind="vae")
    with pytest.raises(ValueError, match="bias must be left out for a model of kind cnn"):
        Model(kind="cnn", bias=False)


def test_quadratic_network_and_deep_linear_network():
    """Paper C: f(x) = a^T (W x)^2 of width 10; f(x) = W_3 W_2 W_1 x."""
    x = normal(6, 4)
    quadratic = build("mlp", (4,), 1, hidden=[10], activation="quadratic", bias=False).double()
    W, a = (parameter.detach() for parameter in quadratic.parameters())
    torch.testing.assert_close(quadratic(x), ((x @ W.T) ** 2) @ a.T)
    linear = build("deep_linear", (4,), 3, hidden=[7, 7]).double()
    W1, W2, W3 = (parameter.detach() for parameter in linear.parameters())
    torch.testing.assert_close(linear(x), x @ (W3 @ W2 @ W1).T)


def test_cnn_of_figure_6():
    model = build("cnn", (3, 32, 32), 10).double()
    convolutions = [module for module in model if isinstance(module, nn.Conv2d)]
    assert [tuple(conv.weight.shape) for conv in convolutions] == [(16, 3, 2, 2), (16, 16, 2, 2), (16, 16, 2, 2)]
    assert sum(isinstance(module, nn.MaxPool2d) for module in model) == 2
    x = normal(2, 3, 32, 32)
    h = F.max_pool2d(F.conv2d(x, *convolutions[0].parameters(), padding=1).relu(), 2)
    h = F.conv2d(h, *convolutions[1].parameters(), padding=1).relu()
    h = F.max_pool2d(F.conv2d(h, *convolutions[2].parameters(), padding=1).relu(), 2)
    torch.testing.assert_close(model(x), F.linear(h.flatten(1), *model[-1].parameters()))


def test_vae_latent_variables_are_mean_plus_noise_times_deviation():
    model = build("vae", (1, 4, 4), 10, hidden=[9, 8], latent=3).double()
    x, noise = normal(5, 16), normal(5, 3, seed=1)
    h = F.gelu(F.linear(F.gelu(F.linear(x, *model.encoder[0].parameters())), *model.encoder[2].parameters()))
    mean, log_variance = F.linear(h, *model.mean.parameters()), F.linear(h, *model.log_variance.parameters())
    for arguments, z in (((), mean), ((noise,), mean + noise * torch.exp(log_variance).sqrt())):
        logits, *moments = model(x, *arguments)
        torch.testing.assert_close(logits, model.decoder(z))
        torch.testing.assert_close(moments, [mean, log_variance])
    assert [tuple(p.shape) for p in model.decoder.parameters() if p.ndim > 1] == [(8, 3), (9, 8), (16, 9)]


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_paper_d_networks(shape):
    """The parameters of torchvision's layers, counted by hand, and of five bias-free layers of 512 and a readout."""
    x = normal(2, *shape).float()
    channels, positions = shape[0], (shape[1] // 16) ** 2
    resnet, vgg = build("resnet18", shape, 10), build("vgg11", shape, 10)
    head = 4 * 512 * 512 + 512 * 10
    body = 11689512 - 513000 - 64 * 49 * (3 - channels)  # torchvision's 11,689,512 without its readout
    assert count(resnet) == body + 512 * 512 + head
    features = 9220480 - 64 * 9 * (3 - channels)
    assert count(vgg) == features + 512 * positions * 512 + head
    for model, classifier in ((resnet, resnet.fc), (vgg, vgg.head)):
        assert model(x).shape == (2, 10)
        layers = [module for module in classifier if isinstance(module, nn.Linear)]
        assert all(layer.bias is None for layer in layers)
        assert [layer.out_features for layer in layers] == [512] * 5 + [10]
    assert isinstance(vgg.features[-1], nn.ReLU)
    assert sum(isinstance(module, nn.MaxPool2d) for module in vgg.features) == 4


def test_narrow_networks_of_paper_d_keep_their_ratios():
    """Convolutions and normalisations have an eighth of the channels, and the same kernels, strides and paddings."""
    for kind, shape in (("resnet18", (1, 8, 8)), ("vgg11", (1, 16, 16))):
        wide, narrow = build(kind, shape, 10), build(kind, shape, 10, channels=8, width=20)
        assert narrow(normal(3, *shape).float()).shape == (3, 10)
        pairs = zip(wide.modules(), narrow.modules(), strict=True)
        for large, small in ((a, b) for a, b in pairs if isinstance(a, nn.Conv2d | nn.BatchNorm2d)):
            if isinstance(large, nn.BatchNorm2d):
                assert small.num_features * 8 == large.num_features
            else:
                assert small.out_channels * 8 == large.out_channels
                assert small.in_channels * 8 == large.in_channels or small.in_channels == large.in_channels == 1
                for option in ("kernel_size", "stride", "padding"):
                    assert getattr(small, option) == getattr(large, option)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("transformer", (3, 8, 8)), "kind must be one of .*, not 'transformer'"),
        (("mlp", (4,)), "^mlp needs hidden=, the widths of its hidden layers$"),
        (("deep_linear", (4,)), "^deep_linear needs hidden=, the widths of its hidden layers$"),
        (("vae", (4,)), "^vae needs hidden=, the widths of its hidden layers$"),
        (("cnn", (4,)), r"a cnn needs images .* not samples of shape \(4,\)"),
        (("vgg11", (1, 8, 8)), "too small for vgg11"),
    ],
)
def test_wrong_networks_are_named(arguments, says):
    with pytest.raises(NetError, match=says):
        build(*arguments, outputs=2)
    with pytest.raises(NetError, match="images of 2 x 2 are too small for a cnn with 4 x 4 kernels"):
        build("cnn", (1, 2, 2), 2, kernel=4)
    with pytest.raises(NetError, match=r"activation must be .*, not 'gleu'; did you mean 'gelu'"):
        build("mlp", (4,), 2, hidden=[3], activation="gleu")
    with pytest.raises(NetError, match=r"mlp does not take these settings: .*'depth'"):
        build("mlp", (4,), 2, hidden=[3], depth=2)


@pytest.mark.parametrize(
    "make", [lambda name: mlp(4, [8], 3, name), lambda name: mlp(4, [], 3, name),
             lambda name: cnn((1, 8, 8), 10, activation=name), lambda name: VAE(6, (5, 4), activation=name)],
    ids=["mlp", "without hidden layers", "cnn", "VAE"],
)  # fmt: skip
def test_an_unknown_activation_is_named(make):
    with pytest.raises(NetError, match=r"activation must be one of gelu, relu, .* not 'foo'"):
        make("foo")


def test_initial_weights_have_the_right_standard_deviations():
    """For large layers they are s/sqrt(3k), sqrt(s/k), sqrt(2s/fan-out)."""
    model = nn.Sequential(nn.Linear(400, 300), nn.Conv2d(20, 60, 5), nn.BatchNorm2d(60))
    deviations = {
        "uniform": (2 / math.sqrt(3 * 400), 2 / math.sqrt(3 * 500), 2 / math.sqrt(3 * 400)),
        "normal": (math.sqrt(2 / 400), math.sqrt(2 / 500), 0),
        "torchvision": (2 / math.sqrt(3 * 400), math.sqrt(4 / (60 * 25)), 2 / math.sqrt(3 * 400)),
    }
    for kind, (dense, conv, bias) in deviations.items():
        drawn = initialize(model, ("spread",), kind, 2.0)
        assert float(drawn["0.weight"].std()) == pytest.approx(dense, rel=0.02)
        assert float(drawn["1.weight"].std()) == pytest.approx(conv, rel=0.02)
        assert float(drawn["0.bias"].std()) == pytest.approx(bias, rel=0.1)
        assert (drawn["2.weight"] == 1).all()
        assert (drawn["2.bias"] == 0).all()
    Q = initialize(mlp(8, [5, 5], 5, bias=False), ("q",), "orthogonal", 4.0)
    for weight in Q.values():
        torch.testing.assert_close(weight @ weight.T, 4 * torch.eye(5).double())
    torch.testing.assert_close(Q["2.weight"].T @ Q["2.weight"], Q["0.weight"] @ Q["0.weight"].T)
    # uniform over orthogonal matrices: each diagonal entry has either sign with probability 1/2
    drawn = [initialize(mlp(5, [5], 5, bias=False), ("q", seed), "orthogonal")["0.weight"] for seed in range(64)]
    positive = (torch.stack([weight.diagonal() for weight in drawn]) > 0).sum(0)
    assert positive.min() >= 12  # of 64: five standard deviations below 32
    assert positive.max() <= 52


def test_a_layer_with_a_single_output_is_scaled_by_its_fan_in():
    model = nn.Sequential(nn.Conv2d(40, 1, 10), nn.Flatten(), nn.Linear(4000, 1))
    for kind, deviation in (("uniform", 1 / math.sqrt(3 * 4000)), ("normal", 1 / math.sqrt(4000))):
        drawn = initialize(model, ("single",), kind)
        for name in ("0.weight", "2.weight"):
            assert float(drawn[name].std()) == pytest.approx(deviation, rel=0.06)  # 5 standard errors
    assert float(initialize(model, ("single",), "orthogonal")["2.weight"].norm()) == pytest.approx(1.0)


def test_each_layer_can_have_its_own_scale():
    model = build("mlp", (6,), 2, hidden=[5, 4], activation="relu")
    plain = initialize(model, ("s",), "normal")
    for scale, factors in (([4.0, 9.0, 1.0], (2, 3, 1)), ({"0": 4.0, "4": 16.0}, (2, 1, 4))):
        drawn = initialize(model, ("s",), "normal", scale)
        for layer, factor in zip(("0", "2", "4"), factors, strict=True):
            torch.testing.assert_close(drawn[f"{layer}.weight"], factor * plain[f"{layer}.weight"])
    nested = build("vgg11", (1, 16, 16), 2)
    drawn, plain = (initialize(nested, ("n",), "uniform", s) for s in ({"head": 0.5, "head.10": 1.0}, 1.0))
    torch.testing.assert_close(drawn["head.0.weight"], 0.5 * plain["head.0.weight"])
    torch.testing.assert_close(drawn["head.10.weight"], plain["head.10.weight"])
    torch.testing.assert_close(drawn["features.0.weight"], plain["features.0.weight"])
    for scale, says in (([1.0], "1 numbers for 3 layers: 0, 2, 4"), ({"7": 1.0}, "must be among 0, 2, 4, not '7'")):
        with pytest.raises(NetError, match=says):
            initialize(model, ("s",), "normal", scale)
    with pytest.raises(NetError, match=r"init must be one of .*, not 'he'"):
        initialize(model, ("s",), "he")


def test_outputs_are_scaled():
    plain, scaled = (build("mlp", (4,), 2, hidden=[3], activation="tanh", output_scale=scale) for scale in (1.0, 0.25))
    scaled.load_state_dict(plain.state_dict())
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    torch.testing.assert_close(scaled(x), plain(x) / 4, rtol=0, atol=0)
