"""Deep RFM against Algorithm 1 of paper D written out by automatic differentiation, and as an estimator."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramlab
from gramlab.kernels.solve import SingularKernel
from gramlab.streams import stream


def clusters(name="clusters", n=36, d=5, classes=3):
    draw = stream("test_deep", name)
    y = np.arange(n) % classes
    return draw.normal(size=(n, d)) + 2 * draw.normal(size=(classes, d))[y], y


def agop_by_autograd(x, codes, kernel, bandwidth):
    def k(a, b):
        r2 = ((a - b) ** 2).sum()
        return torch.exp(-r2.sqrt() / bandwidth) if kernel == "laplace" else torch.exp(-r2 / (2 * bandwidth**2))

    x, codes = torch.from_numpy(x), torch.from_numpy(codes)
    K = torch.stack([torch.stack([k(a, b) if a is not b else torch.ones((), dtype=a.dtype) for b in x]) for a in x])
    alpha = torch.linalg.solve(K, codes)
    total = 0
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]  # at its center Laplace has no gradient, and a Gaussian's is 0
        f = lambda p: sum(k(p, x[j]) * alpha[j] for j in others)  # noqa: B023, E731
        J = torch.autograd.functional.jacobian(f, x[i])
        total = total + J.T @ J
    return (total / len(x)).numpy(), alpha.numpy()


def test_tensors_with_gradients_are_taken():
    """As an RFM does."""
    X, y = clusters()
    machine = gramlab.DeepRFM(2, n_features=16).fit(torch.from_numpy(X).requires_grad_(), torch.from_numpy(y))
    again = gramlab.DeepRFM(2, n_features=16).fit(X, y)
    assert np.array_equal(machine.predict(torch.from_numpy(X).requires_grad_()), again.predict(X))
    assert np.array_equal(machine.transform(torch.from_numpy(X[:5]).requires_grad_()), again.transform(X[:5]))
    assert machine.score(torch.from_numpy(X).requires_grad_(), torch.from_numpy(y)) == (again.predict(X) == y).mean()


def test_tensors_in_bfloat16_are_taken():
    """As the same numbers in float32: numpy has no bfloat16."""
    X, y = clusters()
    short = torch.from_numpy(X).bfloat16()
    machine = gramlab.DeepRFM(1, n_features=16).fit(short, torch.from_numpy(y))
    again = gramlab.DeepRFM(1, n_features=16).fit(short.float().numpy(), y)
    assert np.array_equal(machine.transform(short), again.transform(short.float().numpy()))
    assert machine.score(short, torch.from_numpy(y).bfloat16()) == again.score(short.float().numpy(), y)


@pytest.mark.parametrize(("kernel", "features"), [("laplace", "relu"), ("gaussian", "fourier")])
def test_algorithm_1(kernel, features):
    X, y = clusters(n=15)
    model = gramlab.DeepRFM(2, kernel=kernel, bandwidth=0.7, features=features, n_features=16, scale=0.3).fit(X, y)
    codes = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    x = X
    for layer, (data, projected, mapped) in zip(model.layers_, model.stages(X), strict=True):
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        assert np.allclose(data, x, rtol=1e-12)
        M, _ = agop_by_autograd(x, codes, kernel, 0.7)
        root = layer.root.numpy()
        assert np.allclose(root, root.T)
        assert np.linalg.eigvalsh(root)[0] > -1e-12
        assert np.linalg.norm(root @ root - M) < 1e-9 * np.linalg.norm(M)
        assert np.allclose(projected, x @ root, atol=1e-12)
        z = projected @ layer.weight.numpy().T
        shift = 0 if layer.shift is None else layer.shift.numpy()
        assert np.allclose(mapped, np.maximum(z, 0) if features == "relu" else np.sqrt(2 / 16) * np.cos(z + shift))
        x = mapped
    out = x / np.linalg.norm(x, axis=1, keepdims=True)
    assert np.allclose(model.transform(X), out, atol=1e-12)
    assert np.allclose(model.dual_coef_, agop_by_autograd(out, codes, kernel, 0.7)[1], rtol=1e-6)


def test_a_layer_stores_its_collapse_and_cosines():
    X, y = clusters()
    model = gramlab.DeepRFM(2, n_features=30, gram_samples=12).fit(X, y)
    for layer, places in zip(model.layers_, model.stages(X), strict=True):
        for place, h in zip(("data", "agop", "features"), places, strict=True):
            collapse = gramlab.neural_collapse(h, y)
            assert layer.nc1[place] == pytest.approx(collapse.nc1)
            assert layer.nc2[place] == pytest.approx(collapse.nc2)
        order = np.argsort(y, kind="stable")
        h = places[1][order] - np.mean([places[1][y == c].mean(0) for c in range(3)], axis=0)
        h /= np.linalg.norm(h, axis=1, keepdims=True)
        cosines, same = h @ h.T, y[order][:, None] == y[order]
        assert np.allclose(layer.gram, cosines, atol=1e-6)
        assert layer.within == pytest.approx(cosines[same & ~np.eye(36, dtype=bool)].mean())
        assert layer.across == pytest.approx(cosines[~same].mean())


def test_the_agop_collapses_digits_and_random_features_do_not():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    deep, random = (gramlab.DeepRFM(4, n_features=128, agop=on).fit(X, y) for on in (True, False))
    assert deep.layers_[-1].nc1["agop"] < 0.2 * deep.layers_[0].nc1["data"]
    assert random.layers_[-1].nc1["agop"] >= random.layers_[0].nc1["data"]
    assert all(layer.root is None for layer in random.layers_)
    assert (deep.predict(X) == y).all()


def test_training_labels_are_those_that_predict_returns():
    """With a large ridge some of them are wrong."""
    X, y = clusters()
    model = gramlab.DeepRFM(2, n_features=30, ridge=30.0).fit(X, np.array(["a", "b", "c"])[y])
    labels = model.training_labels()
    assert labels.tolist() == model.predict(X).tolist()
    assert 0 < (labels == np.array(["a", "b", "c"])[y]).mean() < 1


def test_features_are_those_of_their_kernels():
    X, y = clusters(n=12)
    relu, fourier = (
        gramlab.DeepRFM(1, features=name, n_features=50_000, scale=0.5).fit(X, y) for name in ("relu", "fourier")
    )
    _, x, mapped = next(iter(fourier.stages(X)))
    distance = np.abs(x[:, None] - x).sum(-1)
    assert np.abs(mapped @ mapped.T - np.exp(-0.5 * distance)).max() < 0.03  # about five standard errors
    _, x, mapped = next(iter(relu.stages(X)))
    norms = np.linalg.norm(x, axis=1)
    angle = np.arccos(np.clip(x @ x.T / np.outer(norms, norms), -1, 1))
    expected = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    assert np.abs(mapped @ mapped.T / 50_000 - expected).max() < 0.04 * expected.max()


def test_equal_seeds_equal_features_and_float32():
    X, y = clusters()
    first, same, another_seed = (
        gramlab.DeepRFM(2, n_features=40, seed=seed).fit(X, y).transform(X) for seed in (1, 1, 2)
    )
    assert (first == same).all()
    assert not np.allclose(first, another_seed)
    single = gramlab.DeepRFM(2, n_features=40, seed=1, dtype="float32").fit(X, y).transform(X)
    assert single.dtype == np.float32
    assert np.abs(single - first).max() < 1e-3
    mixed = gramlab.DeepRFM(2, n_features=40, seed=1, dtype="mixed").fit(X, y).transform(X)
    assert np.abs(mixed - first).max() < 1e-9


def test_equal_seeds_of_any_type_of_number_equal_features():
    X, y = clusters()
    expected = gramlab.DeepRFM(1, n_features=40, seed=3).fit(X, y).layers_[0].weight
    drawn = stream("DeepRFM", 3, 0).normal(size=(40, 5))
    assert np.array_equal(expected.numpy(), drawn)
    for seed in (np.int64(3), np.uint8(3), 3.0, np.float32(3)):
        assert torch.equal(gramlab.DeepRFM(1, n_features=40, seed=seed).fit(X, y).layers_[0].weight, expected)


def test_singular_kernels_and_string_labels():
    X, y = clusters()
    X, names = np.vstack([X, X[:4]]), np.array(["a", "b", "c"])[np.append(y, y[:4])]
    with pytest.warns(SingularKernel):
        model = gramlab.DeepRFM(1, n_features=40).fit(X, names)
    assert model.layers_[0].ridge > 0
    assert (model.predict(X) == names).all()


def test_coinciding_class_means_stop_no_fit():
    """For exclusive or, the class means coincide until ReLU features separate them."""
    X, y = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]] * 5, float), np.array([0, 0, 1, 1] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)
        model = gramlab.DeepRFM(2, n_features=32).fit(X, y)
    assert "data" not in model.layers_[0].nc1
    collapse = gramlab.neural_collapse(next(model.stages(X))[2], y)
    assert model.layers_[0].nc1["features"] == pytest.approx(collapse.nc1)
    assert (model.predict(X) == y).all()


def test_the_score_is_the_accuracy():
    X, y = clusters(n=60)
    model = gramlab.DeepRFM(1, n_features=20)
    scores = cross_val_score(model, X, y, cv=StratifiedKFold(3))
    for score, (train, test) in zip(scores, StratifiedKFold(3).split(X, y), strict=True):
        assert score == (model.fit(X[train], y[train]).predict(X[test]) == y[test]).mean()


@parametrize_with_checks([gramlab.DeepRFM(1, n_features=16)])
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)
        check(estimator)


def test_bad_parameters_and_data_are_refused():
    X, y = clusters()
    for parameters, message in (
        ({"kernel": "quadratic"}, "kernel"), ({"features": "tanh"}, "features"), ({"n_layers": -1}, "n_layers"),
        ({"scale": 0.0}, "scale"), ({"dtype": "float16"}, "dtype"), ({"bandwidth": -1.0}, "bandwidth"),
        ({"ridge": torch.tensor(0.1)}, r"^ridge must be .*, not a tensor of shape \(\): give its number, .item\(\)$"),
        ({"agop": torch.tensor(True)}, r"^agop must be True or False, not a tensor of shape \(\)"),
        ({"seed": np.array([1, 2])}, r"^seed must be a whole number of at least 0, not an array of shape \(2,\)$"),
        *(({name: bad}, f"^{name} must be") for bad in (None, "median") for name in
          ("bandwidth", "scale", "ridge", "n_layers", "n_features", "gram_samples")),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            gramlab.DeepRFM(**parameters).fit(X, y)
    for dtype, scale, message in (("float32", 1e39, "beyond float32"), ("float32", 1e20, "length"),
                               ("mixed", 1e200, "length"), ("float64", 1e200, "length")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            gramlab.DeepRFM(1, dtype=dtype).fit(X * scale, y)
    with pytest.raises(ValueError, match=r"only one class, 0\.0$"):
        gramlab.DeepRFM().fit(X, 0.0 * y)
    with pytest.raises(ValueError, match="NaN"):
        gramlab.DeepRFM().fit(np.where(X > 2, np.nan, X), y)
    model = gramlab.DeepRFM(1, n_features=5).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.transform(X[:, :2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gramlab.DeepRFM(0).fit(X, y).transform(X).shape == X.shape
