"""The result as a table: its numbers against the d × d matrices, and what its repr says."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab.measures.results import LayerMeasures
from gramlab.measures.summary import CORRELATIONS

torch.set_num_threads(1)
DECAY = 0.05
PAIRS = (
    ("gram", "agop"), ("gram", "enfa"), ("gram", "fact"), ("agop", "enfa"), ("fact", "enfa"),
    ("centered_gram", "centered_agop"), ("centered_gram", "double_centered_agop"),
    ("initial_gram", "ptk_centered_agop"), ("back_gram", "ptk"), ("back_gram", "back_fact"),
)  # fmt: skip


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(4, 6, 3, groups=2), nn.Tanh(), nn.Conv2d(6, 5, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(20, 12), nn.Tanh(), nn.Linear(12, 30), nn.Tanh(), nn.Linear(30, 3),
    ).double()  # fmt: skip


@pytest.fixture(scope="module")
def measurement():
    model = network()
    initial = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    x, y = torch.randn(40, 4, 6, 6, dtype=torch.float64), torch.arange(40) % 3
    return gramlab.measure(model, x, y, weight_decay=DECAY, initial=initial)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_correlations_through_small_products_are_those_of_the_matrices(measurement, first, second):
    for layer in list(measurement.values())[:-1]:  # the readout's kernel is the identity, whatever its weights
        A, B = (getattr(layer, name).numpy().ravel() for name in (first, second))
        assert layer.cosine(first, second) == pytest.approx(A @ B / np.sqrt(A @ A * (B @ B)), abs=1e-13)
        assert layer.pearson(first, second) == pytest.approx(np.corrcoef(A, B)[0, 1], abs=1e-12)
        diagonals = [np.diagonal(getattr(layer, name), axis1=-2, axis2=-1).ravel() for name in (first, second)]
        assert layer.pearson(first, second, diagonal=True) == pytest.approx(np.corrcoef(diagonals)[0, 1], abs=1e-12)


@pytest.mark.parametrize("scale", [1e-45, 1e50])
@pytest.mark.parametrize("outputs", ["exact", 4])
def test_the_null_in_any_unit(scale, outputs):
    """‖WᵀW‖² ‖AGOP‖² leaves float64's range, and neither of the norms does."""
    torch.manual_seed(0)
    network, x = nn.Linear(16, 4).double(), torch.randn(10, 16, dtype=torch.float64)
    expected = gramlab.measure(network, x, outputs=outputs)[""].cosine_null("gram", "agop")
    network.weight.data *= scale
    layer = gramlab.measure(network, x, outputs=outputs)[""]
    assert layer.cosine_null("gram", "agop") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("compare", ["cosine", "pearson", "cosine_null"])
def test_a_comparison_where_the_norms_leave_float64s_range(compare):
    torch.manual_seed(0)
    network, x = nn.Linear(16, 4).double(), torch.randn(10, 16, dtype=torch.float64)
    expected = getattr(gramlab.measure(network, x)[""], compare)("gram", "agop")
    network.weight.data *= 1e80
    assert getattr(gramlab.measure(network, x)[""], compare)("gram", "agop") == pytest.approx(expected, rel=1e-9)
    with pytest.raises(gramlab.Undefined, match="exceed float64's range"):
        getattr(gramlab.measure(network, x, outputs=4)[""], compare)("gram", "agop")


@pytest.mark.parametrize("second", ["agop", "enfa", "fact"])
def test_the_null_is_that_of_random_eigenvectors(measurement, second):
    random = np.random.default_rng(0)
    for name in ("5", "7", "9"):
        layer = measurement[name]
        A, B = layer.gram, getattr(layer, second)
        cosines = [gramlab.cosine(gramlab.random_eigenvectors(A, random), B) for _ in range(1500)]
        mean, deviation = layer.cosine_null("gram", second)
        assert mean == pytest.approx(np.mean(cosines), abs=5 * np.std(cosines) / 1500**0.5)
        assert deviation == pytest.approx(np.std(cosines), rel=0.1)
        if second != "fact":
            assert (mean, deviation) == pytest.approx(gramlab.cosine_null(A, B), rel=1e-10)


@pytest.mark.parametrize("width", [2, 3])
def test_an_antisymmetric_fact_has_the_cosine_0_with_every_symmetric_matrix(width):
    """A square layer and one whose matrices have factors; the gradients are chosen so that FACT is antisymmetric."""
    model = nn.Linear(width, 2, bias=False).double()
    model.weight.data = torch.eye(2, width, dtype=torch.float64)
    x, slopes = torch.eye(2, width, dtype=torch.float64), torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double()
    layer = gramlab.measure(model, x, slopes, loss=lambda f, y: (f * y).sum(1), weight_decay=0.5)[""]
    assert layer.fact.equal(-layer.fact.mT)
    assert bool(layer.fact.any())
    assert layer.cosine_null("gram", "fact") == (0, 0)


@pytest.mark.parametrize("seed", range(12))
def test_a_fact_that_is_antisymmetric_up_to_rounding_has_the_null_0(seed):
    """The squared norm of its symmetric part is a difference of equal numbers, and may come out below 0."""
    torch.manual_seed(seed)
    model = nn.Linear(5, 3, bias=False).double()
    A = torch.randn(3, 3, dtype=torch.float64)
    G = (A - A.mT) @ model.weight.detach()  # the gradient, so that WᵀG is antisymmetric
    x, slopes = torch.eye(5, dtype=torch.float64), 5 * G.mT
    layer = gramlab.measure(model, x, slopes, loss=lambda f, y: (f * y).sum(1), weight_decay=0.5)[""]
    assert float((layer.fact + layer.fact.mT).norm()) < 1e-14 * float(layer.fact.norm())
    assert layer.cosine_null("gram", "fact") == pytest.approx((0, 0), abs=1e-7)


@pytest.mark.parametrize(("k", "d"), [(4, 9), (9, 4), (4, 4)])
@pytest.mark.parametrize(("first", "second"), [("fact", "gram"), ("agop", "fact"), ("back_fact", "ptk")])
def test_the_null_is_the_same_in_both_orders(k, d, first, second):
    """Narrow, wide and square layers, with FACT in either place."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(d, k), nn.Tanh(), nn.Linear(k, 3)).double()
    layer = gramlab.measure(model, torch.randn(40, d), torch.randn(40, 3), weight_decay=DECAY)["0"]
    A, B = (getattr(layer, name).numpy() for name in (first, second))
    Q, R = np.linalg.qr(np.random.default_rng(0).normal(size=(4000, len(A), len(A))))
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None]  # uniform over orthogonal matrices
    cosines = np.einsum("nij,ij->n", Q @ A @ Q.transpose(0, 2, 1), B) / np.linalg.norm(A) / np.linalg.norm(B)
    mean, deviation = layer.cosine_null(first, second)
    assert mean == pytest.approx(cosines.mean(), abs=5 * cosines.std() / 4000**0.5)
    assert deviation == pytest.approx(cosines.std(), rel=0.1)
    assert layer.cosine_null(second, first) == (mean, deviation)


@pytest.mark.parametrize("outputs", ["exact", 4])
@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("fact", "fact"), "neither fact nor fact is symmetric"),
        (("gram", "weight_gradient"), "two square matrices of one shape, not of gram and weight_gradient"),
        (("weight_gradient", "gram"), "two square matrices of one shape, not of weight_gradient and gram"),
        (("gram", "ptk"), "two square matrices of one shape, not of gram and ptk"),
        (("fact", "back_fact"), "two square matrices of one shape, not of fact and back_fact"),
    ],
)
@pytest.mark.parametrize(("k", "d"), [(4, 9), (9, 4)])
def test_the_null_refuses_matrices_that_have_none(k, d, pair, reason, outputs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(d, k), nn.Tanh(), nn.Linear(k, 3)).double()
    x, y = torch.randn(40, d), torch.randn(40, 3)
    layer = gramlab.measure(model, x, y, weight_decay=DECAY, outputs=outputs)["0"]
    with pytest.raises(ValueError, match=reason):
        layer.cosine_null(*pair)


def test_a_sum_that_almost_cancels_the_weight_costs_no_more_digits_than_in_the_matrices():
    """‖KW‖ is far below ‖K‖ ‖W‖: of K (W Wᵀ) K rounding would be all that is left."""
    torch.manual_seed(0)
    W = torch.ones(4, 60, dtype=torch.float64) + 1e-5 * torch.randn(4, 60, dtype=torch.float64)
    K = torch.eye(4, dtype=torch.float64) - 0.25  # of the differences between rows
    layer = LayerMeasures("", 9, W, {"loss_outer": K}, kind="Linear")
    A, B = layer.gram.numpy(), layer.enfa.numpy()
    assert layer.cosine("gram", "enfa") == pytest.approx(
        (A * B).sum() / np.linalg.norm(A) / np.linalg.norm(B), rel=1e-12
    )
    assert layer.pearson("gram", "enfa") == pytest.approx(np.corrcoef(A.ravel(), B.ravel())[0, 1], rel=1e-9)
    assert layer.cosine_null("gram", "enfa") == pytest.approx(gramlab.cosine_null(A, B), rel=1e-9)


def test_a_constant_offset_that_hides_the_spread_does_not_cost_digits():
    """Pearson's correlation of matrices far from zero for their spread."""
    torch.manual_seed(0)
    model = nn.Linear(60, 4, bias=False).double()
    with torch.no_grad():
        model.weight.mul_(1e-5).add_(1.0)
    layer = gramlab.measure(model, torch.randn(9, 60), torch.randn(9, 4), weight_decay=DECAY)[""]
    A, B = layer.gram.numpy().ravel(), layer.enfa.numpy().ravel()
    assert layer.pearson("gram", "enfa") == pytest.approx(np.corrcoef(A, B)[0, 1], abs=1e-9)


def test_stationarity_and_effective_rank():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.randn(20, 6, dtype=torch.float64), torch.arange(20) % 3
    measurement = gramlab.measure(model, x, y, weight_decay=DECAY)
    (F.cross_entropy(model(x), y) + DECAY / 2 * sum(model[i].weight.square().sum() for i in (0, 2))).backward()
    for name, layer in measurement.items():
        weight = model[int(name)].weight
        expected = float(weight.grad.norm() / (DECAY * weight.detach().norm()))
        assert layer.stationarity == pytest.approx(expected, rel=1e-10)
        shares = np.linalg.svd(weight.detach().numpy(), compute_uv=False)
        shares = shares / shares.sum()
        assert layer.effective_rank == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-6)
    equal = gramlab.measure(torch.nn.utils.parametrizations.orthogonal(nn.Linear(7, 4)), torch.randn(3, 7))
    assert next(iter(equal.values())).effective_rank == pytest.approx(4, rel=1e-5)


def test_the_summary_has_a_row_for_each_layer(measurement):
    frame = measurement.summary()
    assert list(frame.index) == list(measurement)
    assert list(frame["shape"]) == [tuple(layer.weight.shape) for layer in measurement.values()]
    assert set(frame["n"]) == {40}
    for name, layer in measurement.items():
        assert frame.loc[name, "cosine_agop"] == pytest.approx(gramlab.cosine(layer.gram, layer.agop))
        assert frame.loc[name, "stationarity"] == pytest.approx(layer.stationarity)
    # a grouped convolution has no null of two single matrices, and says so
    assert np.isnan(frame.loc["0", "null_agop"])
    assert "grouped convolution" in frame.attrs["undefined"]["0 null_agop"]
    assert frame.attrs["settings"]["loss"] == "cross_entropy"


def test_the_repr_is_a_table(measurement):
    lines = repr(measurement).splitlines()
    assert lines[0] == f"Measurement of 5 layers: n = 40, 3 outputs, cross_entropy {measurement.loss:.4g}"
    assert {"cosine_agop", "null_agop", "stationarity", "effective_rank"} <= set(lines[1].split())
    assert "5 × 54" in lines[4]
    assert len(lines) == 3 + 5
    without_targets = gramlab.measure(nn.Linear(3, 2), torch.randn(4, 3))
    assert "stationarity" not in repr(without_targets)
    assert without_targets.summary()["stationarity"].isna().all()


@pytest.mark.parametrize(
    ("y", "loss", "named"),
    [
        (torch.arange(6) % 3, F.cross_entropy, "cross_entropy"),
        (torch.randn(6, 3), F.mse_loss, "mse"),
    ],
)
def test_the_default_loss_follows_the_targets_and_is_named(y, loss, named):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 3), torch.randn(6, 4)
    measurement = gramlab.measure(model, x, y)
    assert measurement.settings["loss"] == named
    assert measurement.loss == pytest.approx(float(loss(model(x), y).detach()), rel=1e-6)


@pytest.mark.parametrize(
    ("outputs", "y", "named"),
    [
        (3, torch.eye(3, dtype=torch.long).repeat(2, 1), "int64 and the shape (6, 3)"),
        (3, torch.eye(3, dtype=torch.bool).repeat(2, 1), "bool and the shape (6, 3)"),
        (1, torch.arange(6)[:, None] % 2 == 1, "bool and the shape (6, 1)"),
    ],
)
def test_the_loss_of_booleans_and_one_hot_integers_must_be_named(outputs, y, named):
    model, x = nn.Linear(4, outputs), torch.randn(6, 4)
    with pytest.raises(ValueError, match="name the loss: ") as error:
        gramlab.measure(model, x, y)
    assert named in str(error.value)
    assert gramlab.measure(model, x, y.float()).settings["loss"] == "mse"


def test_a_root_that_takes_too_long_costs_no_gram_matrix():
    torch.manual_seed(0)
    layer = gramlab.measure(nn.Linear(1100, 2), torch.randn(5, 1100), torch.randn(5, 2))[""]
    with pytest.raises(gramlab.Undefined, match="takes too long"):
        CORRELATIONS["pearson_agop_root"](layer)
    assert "gram" not in vars(layer)  # of 1100 x 1100 numbers
