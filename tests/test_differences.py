"""The report's table of what the authors' code does otherwise: planted tables; both ways against plain formulas."""

from types import SimpleNamespace

import pytest
import torch

from gramlab import tables
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks import differences
from tasks.experiments import a_differences, a_whiten


def test_effects_are_paired_by_network_and_factors_where_they_scale(tmp_path):
    stage = SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet")
    assert differences.measured(stage) == []
    made = [
        {"case": case, "quantity": quantity, "arm": arm, "seed": seed, "value": (1 + seed) * factor}
        for seed in range(3)
        for case, quantity, times in (("classes", "surrogate", 0.1), ("test loss", "test_loss", 2.0))
        for arm, factor in (("printed", 1.0), ("code", times))
    ]
    made += [{"case": "rate", "quantity": "surrogate", "arm": "code", "seed": seed, "value": 4.0} for seed in range(3)]
    tables.write(tmp_path / "a_differences.parquet", made)
    effects = {row["quantity"]: row["effect"] for row in differences.measured(stage)}  # no a_fig4: no rate
    assert effects == {"surrogate": pytest.approx((0.1,) * 3), "test loss": pytest.approx((2.0,) * 3)}
    figure = [
        {"arm": "claim", "case": "CIFAR-10", "layer": layer, "quantity": "surrogate", "step": step, "seed": seed,
         "value": value + seed / 10}
        for seed in range(5)
        for layer, step, value in (("4", 9, 8.0), ("3", 9, 100.0), ("4", 0, 100.0))
    ]  # fmt: skip
    tables.write(tmp_path / "a_fig4.parquet", figure)
    rate = differences.measured(stage)[0]
    assert rate["means"] == {"printed": pytest.approx(8.2), "code": 4.0}
    assert rate["effect"][1] < 4 / 8.2 < rate["effect"][2]


def test_what_figures_measure_both_ways_is_read_from_their_tables(tmp_path):
    """After training, at the ends of each grid, paired by seed: code less text is 0.2 there."""
    made = [
        {"case": case, "quantity": "target/distance", "arm": arm, "seed": seed, "step": step,
         "value": seed + number + 0.2 * (arm == "corrected") + 50 * (step < 9)}
        for seed in range(3)
        for case, number in (("width=32", 1), ("width=1024", 2), ("width=128", 7))
        for arm in ("claim", "corrected")
        for step in (0, 9)
    ]  # fmt: skip
    tables.write(tmp_path / "a_fig8.parquet", made)
    tables.write(tmp_path / "a_fig1.parquet", [{"arm": "claim", "quantity": "target_linearity"}])  # one seed: no row
    found = differences.measured(SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet"))
    assert [row["where"] for row in found] == ["Figures 3 and 8, width=32", "Figures 3 and 8, width=1024"]
    assert [row["means"]["printed"] for row in found] == [2.0, 3.0]
    assert [row["effect"] for row in found] == [pytest.approx((0.2,) * 3)] * 2


def test_ten_steps_of_newton_schulz_by_singular_values():
    """The iteration acts on each singular value by itself; the layer and its data as the experiment draws them."""
    net = mlp(64, [256, 256], 10).double()
    net.load_state_dict(initialize(net, ("a_whiten", "step", 1)))
    draw = stream("a_whiten", "step", "data", 1)
    x, y = torch.from_numpy(draw.normal(size=(64, 64))), torch.from_numpy(draw.integers(0, 10, size=64))
    torch.nn.functional.cross_entropy(net(x), y).backward()
    W = net[2].weight.detach()
    T = W - 0.01 * net[2].weight.grad
    U, S, Vh = torch.linalg.svd(W @ T.mT)
    reached = S / S.square().sum().sqrt()
    for _ in range(10):
        reached = reached * (15 - 10 * reached**2 + 3 * reached**4) / 8
    moved = U @ torch.diag(reached) @ Vh @ T
    error = torch.linalg.norm(moved.mT @ moved - T.mT @ T) / torch.linalg.norm(W.mT @ W - T.mT @ T)
    found = a_whiten.gram_error(1)
    assert found["ten steps"] == pytest.approx(float(error), rel=1e-6)
    assert found["ten steps"] > 1
    assert found["whole"] < 1e-9


def test_both_ways_on_a_network():
    draw = stream("test_differences")
    x, labels = torch.from_numpy(draw.normal(size=(60, 5))).float(), torch.arange(60) % 3
    model = mlp(5, [16, 12], 3)
    model.load_state_dict(initialize(model, ("test_differences",)))
    Y = torch.nn.functional.one_hot(labels).double()
    found = {(case, quantity): (printed, code) for case, quantity, printed, code in
             a_differences.both_ways(model, x, Y, x, labels, seed=0)}  # fmt: skip
    printed, code = found["classes", "surrogate"]
    assert code == pytest.approx(printed / 3)
    H = model[:-1](x).double().detach().numpy()
    G = H @ (model[-1].weight.T @ model[-1].weight).double().detach().numpy() @ H.T
    centred = (Y - Y.mean(0)).numpy()
    assert found["labels", "surrogate"] == pytest.approx(
        ((Y.numpy().T @ G @ Y.numpy()).trace(), (centred.T @ G @ centred).trace())
    )
    assert found["inverse", "target_linearity"][0] == pytest.approx(found["inverse", "target_linearity"][1], abs=1e-3)
    assert found["test loss", "test_loss"][1] == pytest.approx(2 * found["test loss", "test_loss"][0])
    assert all(code <= printed for (case, _), (printed, code) in found.items() if case == "pca")
