"""The report's table of what the authors' code does otherwise: planted tables; both ways against plain formulas."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch

from gramlab import tables
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.papers.weight_gram import differences
from tasks.papers.weight_gram.experiments import a_differences, a_whiten
from tasks.papers.weight_gram.experiments.shared.networks import whitening


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
    logs = np.log(8 + np.arange(5) / 10)  # the code's are of other networks: not paired
    wanted = scipy.stats.ttest_ind(np.log(np.full(3, 4.0)), logs, equal_var=False).confidence_interval(0.95)
    assert rate["effect"] == pytest.approx(tuple(np.exp((np.log(4.0) - logs.mean(), *wanted))))


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
    one = {"arm": "claim", "quantity": "target_linearity", "value": 0.0}
    tables.write(tmp_path / "a_fig1.parquet", [one])  # one seed: no row
    found = differences.measured(SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet"))
    assert [row["where"] for row in found] == ["Figures 3 and 8, width=32", "Figures 3 and 8, width=1024"]
    assert [row["means"]["printed"] for row in found] == [2.0, 3.0]
    assert [row["effect"] for row in found] == [pytest.approx((0.2,) * 3)] * 2


def test_each_case_ends_at_its_own_last_step(tmp_path):
    """Data sets differ in their number of samples, and so in their steps."""
    made = [
        {"case": f"{data}, beta={beta}", "quantity": "target_linearity", "arm": arm, "seed": seed, "step": step,
         "value": seed + beta + (0.5 if arm == "corrected" else 0) + (0 if step == last else 50)}
        for data, last in (("MNIST", 9), ("CIFAR-10", 7))
        for beta in (1, 5)
        for seed in range(3)
        for arm in ("claim", "corrected")
        for step in (0, last)
    ]  # fmt: skip
    tables.write(tmp_path / "a_fig10.parquet", made)
    found = differences.measured(SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet"))
    cases = [f"{data}, beta={beta}" for data in ("CIFAR-10", "MNIST") for beta in (1, 5)]
    assert [row["where"] for row in found] == [f"Figure 10, {case}" for case in cases]
    assert [row["means"]["printed"] for row in found] == [2.0, 6.0] * 2
    assert [row["effect"] for row in found] == [pytest.approx((0.5,) * 3)] * 4


def test_the_whitened_updates_gap_by_the_text_and_by_the_code(tmp_path):
    """Of the same seed and rate, where there is a network with momentum: 0.1 x seed, by code 2; all peak at epoch 3."""
    shares = {"original": 0.3, "whitened": 0.3, "original-momentum": 0.5, "whitened-momentum": 0.3,
              "whitened-ten-steps": 0.4}  # fmt: skip
    along = [0.99, 0.0, 0.5, 0.7, 0.1, 0.6, 0.65, 0.2]  # of 7 epochs; before training it does not count
    history = [
        {"case": f"MNIST {update},lr={rate}", "seed": seed, "step": 10 * epoch, "x": float(epoch), "quantity": quantity,
         "value": share + along[epoch] + 0.1 * seed * (update == "whitened") + (quantity == "test_loss")}
        for update, share in shares.items()
        for rate in (("0.01", "0.1") if update in ("original", "whitened") else ("0.1",))
        for seed in range(3)
        for epoch in reversed(range(8))
        for quantity in ("test_accuracy", "test_loss")
    ]  # fmt: skip
    for row in history:  # the originals reach their best in the sixth epoch, where the whitened ones do not count
        row["value"] += row["x"] == 6 and 0.25
    variants = {f"MNIST {update}": SimpleNamespace(cases=["lr=0.1"]) for update in (*shares, "complement")}
    rows = [*whitening(None, SimpleNamespace(history=history, variants=variants))]
    found = [row for row in rows if row["quantity"].startswith(("gap", "lead"))]
    assert {(row["arm"], row["case"], row["step"]) for row in found} == {("claim", "MNIST, lr=0.1", 70)}
    tables.write(tmp_path / "a_fig2.parquet", found)
    made = differences.measured(SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet"))
    assert {row["where"] for row in made} == {"Figure 2, MNIST, lr=0.1"}
    means = [(row["code"][:3], row["means"]["printed"], row["means"]["code"]) for row in made]
    peak = 0.7 - 0.9
    wanted = [("ten", 0.1, 0.1), ("mom", 0.1, -0.2), ("ten", 0.1 + peak, 0.1 + peak), ("mom", 0.1 + peak, -0.2 + peak)]
    assert means == [(name, pytest.approx(printed), pytest.approx(code)) for name, printed, code in wanted]
    assert [row["effect"][0] for row in made] == [pytest.approx(0), pytest.approx(-0.3)] * 2


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
