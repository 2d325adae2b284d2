"""Where the optimizers of the atlas come to rest, against their own steps: torch.optim, gramlab.WhitenedSGD, Muon."""

import math

import pytest
import torch
from torch.nn import functional as F

import gramlab
from tasks.atlas.measuring.measure import measure
from tasks.atlas.measuring.standstill import distance_from_rest
from tasks.atlas.measuring.training import LAST, MOMENTUM, Muon, train
from tests.atlas.test_laws import _Group, small

DECAY = 0.5


def matrices(k, d):
    random = torch.Generator().manual_seed(k)
    return torch.randn(2, k, d, generator=random, dtype=torch.float64)


def after(optimizer, W, G, steps):
    """The weight after steps with a gradient that stays G."""
    W = W.clone()
    if optimizer == "muon":
        group, muon = _Group(W[None]), Muon(["a.weight"], 0.02, DECAY)
        for step in range(steps):
            muon.step(group, step, 1.0, [G[None]])
        return group.parameters[0][0]
    theirs = {"adamw": torch.optim.AdamW, "whitened": gramlab.WhitenedSGD}[optimizer]([W], 0.02, weight_decay=DECAY)
    for _ in range(steps):
        W.grad = G
        theirs.step()
    return W


@pytest.mark.parametrize(("optimizer", "k", "d"), [("adamw", 4, 3), ("muon", 4, 3), ("muon", 3, 4)])
def test_decoupled_decay_comes_to_rest_at_distance_zero(optimizer, k, d):
    """From anywhere, under a constant gradient; the point is no critical point of the loss with decay."""
    W, G = matrices(k, d)
    assert distance_from_rest(optimizer, W, G, DECAY) > 0.5
    rest = after(optimizer, W, G, 2000)
    exact = 1e-6 if optimizer == "adamw" else 0.02  # Muon's ten-step iteration is exact to a few %
    assert distance_from_rest(optimizer, rest, G, DECAY) < exact
    torch.testing.assert_close(after(optimizer, rest, G, 1), rest, rtol=0.01, atol=0.02 * 0.02)
    assert (G + DECAY * rest).norm() > 0.1 * (DECAY * rest).norm()


def test_whitened_sgd_comes_to_rest_where_only_a_rotation_is_left():
    """W(G + λW)ᵀ antisymmetric by construction: the step leaves W as it is, though the gradient with decay is large."""
    W, A = matrices(4, 4)
    G = (A - A.T) @ W - DECAY * W
    assert distance_from_rest("whitened", W, G, DECAY) < 1e-12
    assert (G + DECAY * W).norm() > (DECAY * W).norm()
    start = torch.nn.Parameter(W.clone())
    plain, whitened = (theirs([start], 1e-4, weight_decay=DECAY) for theirs in (torch.optim.SGD, gramlab.WhitenedSGD))
    moved = []
    for optimizer in (plain, whitened):
        start.data, start.grad = W.clone(), G
        optimizer.step()
        moved.append(float((start.detach() - W).norm()))
    assert moved[1] < 1e-2 * moved[0]


@pytest.mark.parametrize(("k", "d"), [(4, 3), (3, 4)])
def test_whitened_sgds_distance_is_the_rate_at_which_the_gram_matrix_moves(k, d):
    W, G = matrices(k, d)
    rate = 1e-5
    moved = W.clone()
    optimizer = gramlab.WhitenedSGD([moved], rate, weight_decay=DECAY, method="svd")
    moved.grad = G
    optimizer.step()
    change = (moved.T @ moved - W.T @ W).norm() / (2 * rate * DECAY * (W.T @ W).norm())
    assert distance_from_rest("whitened", W, G, DECAY) == pytest.approx(float(change), rel=1e-3)


def test_an_optimizer_that_rests_at_critical_points_is_refused():
    W, G = matrices(4, 3)
    with pytest.raises(ValueError, match="sgd rests at critical points"):
        distance_from_rest("sgd", W, G, DECAY)


@pytest.mark.parametrize("steps", [5, LAST + 5])
def test_the_averaged_gradient_is_that_of_the_last_steps(steps):
    """Against torch's own SGD with momentum."""
    lr, decay = 1e-3, 0.1
    cell, model, data = small(optimizer="momentum", lr=lr, weight_decay=decay, steps=steps)
    snapshots, history = train(cell, model, data, 2)
    network = snapshots[0].network(model, 1)
    optimizer = torch.optim.SGD(network.parameters(), lr, momentum=MOMENTUM, weight_decay=decay)
    pulls = {name: torch.zeros_like(p) for name, p in network.named_parameters()}
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.zero_grad()
        F.cross_entropy(network(data.x_train), data.y_train).backward()
        if step >= steps - LAST:
            for name, p in network.named_parameters():
                pulls[name] += (p.grad + decay * p.detach()) / min(steps, LAST)
        optimizer.step()
    rows = {row["layer"]: row for row in history if row["quantity"] == "averaged_stationarity" and row["seed"] == 1}
    assert len(rows) == 3
    for name, p in network.named_parameters():
        expected = float(pulls[name].norm() / (decay * p.detach().norm()))
        row = rows[name.removesuffix(".weight")]
        assert (row["step"], row["value"]) == (steps, pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(("optimizer", "decay", "expected"), [
    ("sgd", 0.0, set()), ("adam", 0.1, {"stationarity", "averaged_stationarity"}),
    ("muon", 0.1, {"stationarity", "averaged_stationarity", "distance_from_rest"}),
])  # fmt: skip
def test_facts_of_rest_belong_to_cells_with_decay(monkeypatch, optimizer, decay, expected):
    """A cell without decay has the rows that it had."""
    cell, model, data = small(optimizer=optimizer, weight_decay=decay)
    monkeypatch.setattr("tasks.atlas.measuring.measure.problem", lambda cell: (data, model))
    _, facts = measure(cell)
    quantities = {row["quantity"] for row in facts}
    assert quantities & {"stationarity", "averaged_stationarity", "distance_from_rest"} == expected


def test_a_cell_may_have_steps_of_its_own():
    cell, model, data = small(steps=20)
    longer = cell.model_copy(update={"steps": 30})
    assert (cell.last_step, longer.last_step, longer.snapshots[-1]) == (20, 30, 30)
    assert train(longer, model, data, 1)[0][-1].step == 30
