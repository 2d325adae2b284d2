"""The laws and what they read, against autograd, gramlab.measure, torch.optim and closed forms."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab.data import DataSet
from tasks.atlas.cells import Cell, Group
from tasks.atlas.judging.contest import FAMILIES, badge_against, same_matrix
from tasks.atlas.laws import LAWS, badge
from tasks.atlas.measuring.measure import layers_of
from tasks.atlas.measuring.networks import network
from tasks.atlas.measuring.scores import Rotations, haar, scores
from tasks.atlas.measuring.training import MOMENTUM, Follower, Muon, train

torch.set_num_threads(1)
LAW = {law.name: law for law in LAWS}
MODELS = {
    "mlp": ((6,), {"kind": "mlp", "hidden": [7, 7], "activation": "gelu", "bias": False}),
    "cnn": ((1, 6, 6), {"kind": "cnn", "channels": 3, "kernel": 2, "activation": "gelu"}),
    "resnet": ((1, 8, 8), {"kind": "resnet", "channels": 3, "blocks": 1}),
    "transformer": ((10,), {"kind": "transformer", "width": 6, "heads": 2, "hidden": 5}),
}


def small(model="mlp", optimizer="sgd", lr=0.05, weight_decay=0.1, steps=5, n=12):
    shape, options = MODELS[model]
    random = np.random.default_rng(3)
    x, y = torch.from_numpy(random.normal(size=(n, *shape))), torch.from_numpy(random.integers(3, size=n))
    data = DataSet("random", x, y, x[:4], y[:4], classes=3)
    group = Group(architecture=model, task="random", data={"source": "random"}, model=options, loss="cross_entropy",
                  steps=steps)  # fmt: skip
    cell = Cell(name="test", shared=group, group="test", optimizer=optimizer, lr=lr, weight_decay=weight_decay)
    return cell, network(shape=shape, outputs=3, **options), data


@pytest.mark.parametrize("kind", MODELS)
def test_what_laws_read_is_what_measure_finds(kind):
    """W, W0, rows and K of every layer, and the laws made of them, against gramlab.measure on the trained network."""
    cell, model, data = small(kind)
    snapshots, _ = train(cell, model, data, 2)
    first, trained = (snapshot.network(model, 1) for snapshot in (snapshots[0], snapshots[-1]))
    layers = layers_of(cell, snapshots[-1], model, first, data, 1)
    x = data.x_train if kind in ("cnn", "resnet") else data.x_train.flatten(1)
    measured = gramlab.measure(trained, x, data.y_train, loss="cross_entropy", weight_decay=0.1, initial=first)
    assert {name for name, _ in layers} == set(measured)
    for name, of in measured.items():
        ahead, back = layers[name, "forward"], layers[name, "backward"]
        pairs = [
            (ahead.gram, of.gram), (back.gram, of.back_gram), (ahead.initial_gram, of.initial_gram),
            (ahead.agop, of.agop), (back.agop, of.back_agop), (ahead.enfa, of.enfa), (back.enfa, of.back_enfa),
            (ahead.weight_gradient, of.weight_gradient),
            (LAW["FACT"].matrix(ahead), of.fact), (LAW["FACT"].matrix(back), of.back_fact),
            (LAW["centered NFA"].matrix(ahead), of.centered_agop),
            (LAW["AGOP^1/3"].matrix(ahead), gramlab.psd_power(of.agop, 1 / 3)),
            (LAW["eNFA^1/2"].matrix(ahead), gramlab.psd_power(of.enfa, 0.5)),
            (LAW["symmetric FACT"].matrix(ahead), gramlab.psd_power(of.fact @ of.fact.T, 0.5)),
        ]  # fmt: skip
        for got, expected in pairs:
            torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-9 * float(expected.norm()))
        assert (
            float((LAW["input covariance"].matrix(ahead) - ahead.activations.T @ ahead.activations / 12).norm()) < 1e-12
        )


@pytest.mark.parametrize("kind", MODELS)
def test_a_sample_that_is_three_times_as_probable_is_there_three_times(kind):
    """A weighted population against the same samples, repeated as often as their probabilities say."""
    cell, model, data = small(kind, n=4)
    snapshots, _ = train(cell, model, data, 1)
    x, y, times = data.x_train, data.y_train, torch.tensor([3, 1, 2, 2])
    weighted = DataSet("population", x, y, x[:0], y[:0], classes=3, weight_train=times.double() / 8)
    repeated = DataSet("repeated", x.repeat_interleave(times, 0), y.repeat_interleave(times), x[:0], y[:0], classes=3)
    ours, theirs = (
        layers_of(cell, snapshots[-1], model, snapshots[0].network(model, 0), of, 0) for of in (weighted, repeated)
    )
    for key, layer in theirs.items():
        for name in ("agop", "ptk", "enfa", "weight_gradient", "pull"):
            expected = getattr(layer, name)
            scale = float(expected.norm())
            torch.testing.assert_close(getattr(ours[key], name), expected, rtol=1e-6, atol=1e-9 * scale)
        if layer.is_forward:
            covariances = (LAW["input covariance"].matrix(of[key]) for of in (ours, theirs))
            torch.testing.assert_close(*covariances)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adamw"])
def test_what_is_accumulated_is_what_the_library_accumulates(optimizer):
    """Against gramlab.AccumulatedFact on torch's own optimizer, which follows .grad and knows each optimizer's rule."""
    steps, lr, decay = 5, 1e-3, 0.1
    cell, model, data = small(optimizer=optimizer, lr=lr, weight_decay=decay, steps=steps)
    snapshots, _ = train(cell, model, data, 2)
    net = snapshots[0].network(model, 1)
    kinds = {
        "sgd": lambda p: torch.optim.SGD(p, lr, weight_decay=decay),
        "momentum": lambda p: torch.optim.SGD(p, lr, momentum=MOMENTUM, weight_decay=decay),
        "adam": lambda p: torch.optim.Adam(p, lr, weight_decay=decay),
        "adamw": lambda p: torch.optim.AdamW(p, lr, weight_decay=decay),
    }
    theirs = kinds[optimizer](net.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, steps)
    exact, sgd = gramlab.AccumulatedFact(net, theirs), gramlab.AccumulatedFact(net, theirs, form="sgd")
    for _ in range(steps):
        theirs.zero_grad()
        F.cross_entropy(net(data.x_train), data.y_train).backward()
        theirs.step()
        schedule.step()
    for name in exact:
        sums = snapshots[-1].sums[name]
        torch.testing.assert_close(snapshots[-1].weights[f"{name}.weight"][1], net.get_submodule(name).weight.detach())
        start = snapshots[0].sums[name]["forward", "steps"][1]
        moved = float((exact[name] - start).norm())
        assert float((sums["forward", "steps"][1] - exact[name]).norm()) < 1e-3 * moved  # the decay's second order
        assert float((sums["forward", "accumulated"][1] - sgd[name]).norm()) < 1e-9 * moved


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", ["momentum", "adam", "muon"])
def test_without_decay_accumulated_fact_less_its_start_is_the_virtual_shifts(optimizer, decay):
    """The contest lets one of the two names compete exactly where training makes one matrix of them."""
    cell, model, data = small(optimizer=optimizer, weight_decay=decay)
    snapshots, _ = train(cell, model, data, 1)
    layers = layers_of(cell, snapshots[-1], model, snapshots[0].network(model, 0), data, 0)
    for layer in layers.values():
        shifts = LAW["virtual shifts"].matrix(layer)
        remainder = LAW["accumulated FACT"].matrix(layer) - layer.initial_gram - shifts
        equal = float(remainder.norm()) < 1e-10 * float(shifts.norm())
        assert equal == bool(same_matrix("accumulated FACT", "change", decay))
    assert not same_matrix("accumulated FACT", "gram", decay)


@pytest.mark.parametrize(("optimizer", "first_order"), [("momentum", True), ("adam", False)])
def test_virtual_shifts_repeat_the_steps_of_momentum_and_not_of_adam(optimizer, first_order):
    """At an eighth of the rate, over the same time, what a multiple of the shifts leaves out is an eighth."""
    rests = []
    for parts in (1, 8):
        cell, model, data = small(optimizer=optimizer, lr=0.02 / parts, weight_decay=0.0, steps=40 * parts)
        snapshots, _ = train(cell, model, data, 1)
        layers = layers_of(cell, snapshots[-1], model, snapshots[0].network(model, 0), data, 0)
        layer = layers["0", "forward"]
        shifts = LAW["virtual shifts"].matrix(layer)
        factor = (shifts * layer.change).sum() / shifts.square().sum()
        rests.append(float((layer.change - factor * shifts).norm() / layer.change.norm()))
    assert (rests[1] < rests[0] / 4) == first_order
    assert badge_against("change", "virtual shifts", "", optimizer, 0.0) == ("identity" if first_order else "")


def test_own_steps_leave_the_square_of_each_step():
    """WᵀW − P = Σ UᵀU exactly, on both sides, with Muon's steps."""
    torch.manual_seed(0)
    W = torch.randn(2, 5, 4).double()
    group = _Group(W.clone())
    follower = Follower(Muon(["a.weight"], 0.1, 0.3), ["a.weight"], ["a"], {"a.weight": W}, 0.1, 0.3)
    ahead, back = torch.zeros(2, 4, 4).double(), torch.zeros(2, 5, 5).double()
    for step in range(4):
        before = group.parameters[0].clone()
        follower.step(group, step, 1.0, [torch.randn(2, 5, 4).double()])
        U = group.parameters[0] - before
        ahead, back = ahead + U.mT @ U, back + U @ U.mT
    now = group.parameters[0]
    torch.testing.assert_close(now.mT @ now - follower.sums["a"]["forward", "steps"], ahead)
    torch.testing.assert_close(now @ now.mT - follower.sums["a"]["backward", "steps"], back)


class _Group:
    """As much of a group of networks as an optimizer uses."""

    def __init__(self, *parameters):
        self.parameters, self.members, self.is_single = list(parameters), slice(0, len(parameters[0])), False


def test_muon_takes_the_orthogonal_factor_of_nesterovs_momentum():
    """Against a singular value decomposition, in each of two networks; the ten-step iteration is exact to a few %."""
    torch.manual_seed(1)
    W = torch.randn(2, 6, 3).double()
    group, optimizer = _Group(W.clone()), Muon(["a.weight"], 0.1, 0.5)
    buffer, expected = torch.zeros_like(W), W.clone()
    for step in range(3):
        G = torch.randn(2, 6, 3).double()
        optimizer.step(group, step, 1.0, [G])
        buffer = MOMENTUM * buffer + G
        U, _, V = torch.linalg.svd(G + MOMENTUM * buffer, full_matrices=False)
        expected = (1 - 0.1 * 0.5) * expected - 0.1 * 2**0.5 * U @ V
        torch.testing.assert_close(group.parameters[0], expected, rtol=0, atol=0.02)


@pytest.mark.parametrize("depth", [2, 3])
def test_in_a_balanced_deep_linear_network_the_gram_is_the_agop_to_one_over_the_depth(depth):
    """WᵀW = AGOP^(1/L) in the first layer: a closed form, with W_l+1ᵀW_l+1 = W_l W_lᵀ by construction."""
    random = np.random.default_rng(0)
    Q = [haar(5, random) for _ in range(depth + 1)]
    S = torch.from_numpy(random.uniform(0.5, 2, 5))
    model = nn.Sequential(*(nn.Linear(5, 5, bias=False, dtype=torch.float64) for _ in range(depth)))
    for layer, (out, into) in zip(model, zip(Q[1:], Q[:-1], strict=True), strict=True):
        layer.weight.data = (out * S) @ into.T
    layer = gramlab.measure(model, torch.randn(3, 5).double(), layers=["0"], quantities=["gram", "agop"])["0"]
    powers = [law for law in LAWS if law.name.startswith("AGOP^1/")]
    cosines = {law.name: gramlab.cosine(law.matrix(_Agop(layer.agop)), layer.gram) for law in powers}
    assert cosines[f"AGOP^1/{depth}"] > 1 - 1e-10
    assert all(value < 0.999 for name, value in cosines.items() if name != f"AGOP^1/{depth}")


class _Agop:
    """As much of a layer as a power of the AGOP reads."""

    def __init__(self, agop):
        from tasks.atlas.layer import Layer

        eye = torch.eye(len(agop)).double()
        self.agop_power = Layer(eye, eye, eye, eye, agop, 1).agop_power


@pytest.mark.parametrize("symmetric", [True, False])
def test_scores_are_the_librarys_correlations(symmetric):
    random = torch.Generator().manual_seed(0)
    A, B, C = torch.randn(3, 6, 6, generator=random).double()
    if symmetric:
        A, B, C = (M @ M.T for M in (A, B, C))
    turned = Rotations(6, np.random.default_rng(0))
    cosines = scores({"A": A, "B": B}, C, turned.rotated(C))
    for name, M in (("A", A), ("B", B)):
        expected = {"cosine": gramlab.cosine(M, C), "pearson": gramlab.pearson(M, C),
                    "diagonal": gramlab.pearson(M, C, diagonal=True)}  # fmt: skip
        nulls = [gramlab.pearson(M, null) for null in turned.rotated(C)]
        for score, value in expected.items():
            assert cosines[name][score] == pytest.approx(value, abs=1e-12)
        assert cosines[name]["null_pearson"] == pytest.approx(np.quantile(nulls, 0.975), abs=1e-12)
    values = torch.linalg.eigvals(turned.random_entrant(C)).abs().sort().values
    torch.testing.assert_close(values, torch.linalg.eigvals(C).abs().sort().values)


def test_a_scrambled_layer_keeps_its_weights_and_its_spectra():
    cell, model, data = small()
    snapshots, _ = train(cell, model, data, 1)
    layer = layers_of(cell, snapshots[-1], model, snapshots[0].network(model, 0), data, 0)["2", "forward"]
    turned = layer.scrambled(haar(7, np.random.default_rng(0)))
    torch.testing.assert_close(turned.gram, layer.gram)
    torch.testing.assert_close(torch.linalg.eigvalsh(turned.ptk), torch.linalg.eigvalsh(layer.ptk))
    torch.testing.assert_close(
        torch.linalg.svdvals(turned.weight_gradient), torch.linalg.svdvals(layer.weight_gradient)
    )
    assert gramlab.cosine(turned.agop, layer.agop) < 0.99


def test_badges_and_names():
    assert len(LAW) == len(LAWS)
    assert {"random matrix", "another layer's AGOP^1/2", "input covariance"} == {
        law.name for law in LAWS if law.control
    }
    assert {name for name in FAMILIES if "AGOP^" not in name} <= set(LAW)
    accumulated, shifts, agop = (LAW[name] for name in ("accumulated FACT", "virtual shifts", "AGOP^1/2"))
    assert [badge(accumulated, name, 0.1, 9) for name in ("sgd", "whitened", "adam")] == ["identity", "identity", ""]
    assert [badge(accumulated, "adam", 0.1, step) for step in (0, 9)] == ["identity", ""]
    assert [badge(shifts, "sgd", decay, 9) for decay in (0.0, 0.1)] == ["identity", ""]
    assert badge(agop, "sgd", 0.0, 0) == ""
