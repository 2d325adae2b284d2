"""gramlab.RFM from outside: scikit-learn's contract, other packages' answers, learned features, bad input."""

import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramlab import RFM
from gramlab.files import BadInput
from gramlab.kernels.functions import Kernel, fact, times
from gramlab.kernels.solve import SingularKernel
from gramlab.kernels.updates import UPDATES, next_features
from gramlab.streams import stream


def multi_index(n=300, d=12, seed=0):
    draw = stream("test_rfm", seed)
    x = draw.normal(size=(n, d))
    return x, x[:, 0] * x[:, 1]


@parametrize_with_checks([RFM("classification", n_iters=2), RFM("regression", n_iters=2)])
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)
        check(estimator)


@pytest.mark.parametrize(
    ("kernel", "sklearn_kernel"),
    [("laplace", None), ("gaussian", "rbf"), ("polynomial", "polynomial"), ("quadratic", "polynomial")],
)
def test_without_an_update_it_is_kernel_ridge(kernel, sklearn_kernel):
    x, y = multi_index(80, 5)
    gamma, degree, offset = {"rbf": 1 / (2 * 2.0**2)}.get(sklearn_kernel, 1 / 2.0**2), 3, 1.0
    if kernel == "quadratic":
        degree, offset = 2, 0.0
    sklearn_kernel = sklearn_kernel or (lambda a, b: np.exp(-np.linalg.norm(a - b) / 2.0))
    kernel_ridge = KernelRidge(alpha=0.1, kernel=sklearn_kernel, gamma=gamma, degree=degree, coef0=offset).fit(x, y)
    machine = RFM(kernel=kernel, bandwidth=2.0, update=None, ridge=0.1, dtype="float64").fit(x, y)
    assert np.allclose(machine.predict(x + 0.1), kernel_ridge.predict(x + 0.1), rtol=1e-8, atol=1e-9)
    assert np.array_equal(machine.features_, np.eye(5))


def parity(n, d, seed=0):
    """The parity of the first two of d signs, 0 or 1, paper C's Section 4.3."""
    signs = 1.0 - 2 * stream("test_rfm", "parity", seed).integers(2, size=(n, d))
    return signs / d**0.5, (signs[:, 0] * signs[:, 1] > 0).astype(float)


@pytest.mark.parametrize(("update", "ridge"), [("agop", 1e-6), ("fact-geometric", 1e-3)])
def test_it_finds_the_two_coordinates_that_matter(update, ridge):
    x, y = parity(700, 30)
    machine = RFM(kernel="gaussian", bandwidth=5.0, update=update, n_iters=8, ridge=ridge).fit(x[:400], y[:400])
    plain = RFM(kernel="gaussian", bandwidth=5.0, update=None, ridge=ridge).fit(x[:400], y[:400])
    mass = np.diag(machine.features_)
    assert mass[:2].sum() > 0.9 * mass.sum()
    assert machine.score(x[400:], y[400:]) > 0.95 > 0.8 > plain.score(x[400:], y[400:])


def test_the_iteration_against_its_definition():
    """Three AGOP iterations with numpy alone: explicit distances, explicit gradients, numpy's solve."""
    x, y = multi_index(40, 4)
    M = np.eye(4)
    for _ in range(3):
        gaps = x[:, None] - x[None]
        K = np.exp(-np.einsum("ija,ab,ijb->ij", gaps, M, gaps) / (2 * 3.0**2))
        alpha = np.linalg.solve(K + 0.05 * np.eye(40), y)
        slopes = -np.einsum("ij,j,ija,ab->ib", K, alpha, gaps, M) / 3.0**2
        before, M = M, slopes.T @ slopes / 40
    options = {"kernel": "gaussian", "bandwidth": 3.0, "ridge": 0.05, "power": 1, "dtype": "float64"}
    machine = RFM(**options, n_iters=2, early_stopping=False).fit(x, y)
    assert np.allclose(machine.features_, before, rtol=1e-9, atol=1e-12)
    assert np.allclose(machine.dual_coef_[:, 0], alpha, rtol=1e-8, atol=1e-10)


def test_an_update_from_centred_gradients():
    """The covariance of the explicit gradients, from numpy, and not their second moment."""
    x, y = multi_index(40, 4)
    gaps = x[:, None] - x[None]
    K = np.exp(-(gaps**2).sum(2) / (2 * 3.0**2))
    slopes = -np.einsum("ij,j,ija->ia", K, np.linalg.solve(K + 0.05 * np.eye(40), y + x[:, 0]), gaps) / 3.0**2
    options = {"kernel": "gaussian", "bandwidth": 3.0, "ridge": 0.05, "power": 1, "dtype": "float64"}
    machine = RFM(**options, n_iters=1, early_stopping=False, centered=True)
    np.testing.assert_allclose(
        machine.fit(x, y + x[:, 0]).features_, np.cov(slopes.T, bias=True), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "exponential", "polynomial", "quadratic"])
def test_updates_against_their_printed_forms(kernel):
    x, alpha = (torch.from_numpy(stream("updates", kernel, purpose).normal(size=(15, 4))) for purpose in "xa")
    root = torch.from_numpy(stream("updates", kernel, "M").normal(size=(4, 4)))
    spec, M = Kernel(kernel, 2.0), root @ root.T / 4
    F = fact(spec, x, alpha, M)

    def power(A, s):
        values, vectors = torch.linalg.eigh((A + A.T) / 2)
        return (vectors * values.clamp_min(0) ** s) @ vectors.T

    geometric = power(F @ M @ M @ F.T, 0.25)
    assert torch.allclose(next_features("fact", spec, x, alpha, M), power(F @ F.T, 0.5), rtol=1e-6, atol=1e-9)
    assert torch.allclose(next_features("fact-geometric", spec, x, alpha, M), geometric, rtol=1e-6, atol=1e-7)
    if spec.radial:
        with pytest.raises(ValueError, match="radial"):
            next_features("fact-simplified", spec, x, alpha, M)
    else:
        assert torch.linalg.eigvalsh(times(F, M)).min() > -1e-10 * torch.linalg.norm(F)
        assert torch.allclose(next_features("fact-simplified", spec, x, alpha, M), geometric, rtol=1e-6, atol=1e-7)


def test_in_a_pipeline_and_a_grid_search():
    x, y = load_iris(return_X_y=True)
    steps = make_pipeline(StandardScaler(), RFM("classification", n_iters=2))
    search = GridSearchCV(steps, {"rfm__update": ["agop", "fact"], "rfm__ridge": [1e-2, 1.0]}, cv=3).fit(x, y)
    assert search.best_score_ > 0.93
    assert cross_val_score(steps, x, y, cv=3).mean() > 0.93
    assert steps.fit(x, y).decision_function(x).shape == (150, 3)


def test_float32_agrees_with_float64():
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    double, single = (RFM("classification", dtype=dtype, ridge=0.1, n_iters=2).fit(x, y)
                      for dtype in ("float64", "float32"))  # fmt: skip
    assert single.features_.dtype == np.float32
    assert np.abs(double.decision_function(x) - single.decision_function(x)).max() < 1e-3


def test_a_validation_set_chooses_the_iterate():
    x, y = multi_index()
    options = {"kernel": "gaussian", "bandwidth": 5.0, "ridge": 1e-3, "n_iters": 4, "dtype": "float64"}
    errors = []
    for n_iters in range(5):
        entry = RFM(**options | {"n_iters": n_iters, "early_stopping": False}).fit(x[:200], y[:200])
        errors.append(((entry.predict(x[200:]) - y[200:]) ** 2).mean())
    machine = RFM(**options, patience=None).fit(x[:200], y[:200], x[200:], y[200:])
    assert [entry["error"] for entry in machine.history_] == pytest.approx(errors)
    assert machine.best_iter_ == int(np.argmin(errors))
    assert ((machine.predict(x[200:]) - y[200:]) ** 2).mean() == pytest.approx(min(errors))
    patient = RFM(**options | {"n_iters": 50}, patience=2).fit(x[:200], y[:200], x[200:], y[200:])
    assert patient.n_iter_ < 50


@pytest.mark.parametrize(("update", "ridge"), [("agop", 0.01), ("fact-geometric", 0.1)])
def test_the_iterative_solver_gives_the_direct_ones_machine(update, ridge):
    x, y = multi_index()
    options = {"kernel": "gaussian", "bandwidth": 5.0, "update": update, "ridge": ridge, "n_iters": 2, "rank": 50,
               "dtype": "float64"}  # fmt: skip
    direct, iterative = (RFM(solver=solver, **options).fit(x[:200], y[:200], x[200:], y[200:])
                         for solver in ("direct", "iterative"))  # fmt: skip
    assert iterative.best_iter_ == direct.best_iter_ > 0
    assert np.abs(iterative.predict(x) - direct.predict(x)).max() < 1e-6
    with pytest.raises(ValueError, match="leave-one-out"):
        iterative.fit(x, y)
    with pytest.raises(ValueError, match=r"ridge must be a positive number, not 0\.0"):
        RFM(solver="iterative", ridge=0.0, early_stopping=False).fit(x, y)
    with pytest.raises(ValueError, match="not finite"):
        RFM("regression", kernel="exponential", bandwidth=1e-3, solver="iterative", update=None).fit(x, y)


def test_an_update_that_diverges_is_stopped_and_its_best_iterate_kept():
    """FACT without averaging on a parity: it converges within two iterations and then loses everything."""
    x, y = parity(700, 20)
    options = {"kernel": "gaussian", "bandwidth": 5.0, "update": "fact", "ridge": 1e-6, "patience": None}
    with pytest.warns(ConvergenceWarning, match="kept"):
        machine = RFM(**options, n_iters=30).fit(x[:500], y[:500])
    assert machine.n_iter_ < 30
    errors = [entry["error"] for entry in machine.history_]
    assert machine.best_iter_ == int(np.argmin(errors))
    assert machine.score(x[500:], y[500:]) > 0.5
    assert np.isfinite(machine.features_).all()


@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, -1, 7]])
def test_save_and_load_give_the_same_machine(tmp_path, labels):
    x, y = load_iris(return_X_y=True)
    machine = RFM("classification", n_iters=1, ridge=0.1).fit(x, np.array(labels)[y])
    machine.save(tmp_path / "machine.safetensors")
    again = RFM.load(tmp_path / "machine.safetensors")
    assert again.get_params() == machine.get_params()
    assert np.array_equal(again.predict(x), machine.predict(x))
    assert np.array_equal(again.decision_function(x), machine.decision_function(x))
    assert again.history_ == machine.history_
    (tmp_path / "machine.safetensors").write_bytes(b"nothing")
    with pytest.raises(BadInput, match=r"machine\.safetensors"):
        RFM.load(tmp_path / "machine.safetensors")


@pytest.mark.parametrize("metadata", [{}, {"gramlab.RFM": "{}"}, {"gramlab.RFM": "[1]"}, {"gramlab.RFM": "nothing"},
                                   {"gramlab.RFM": '{"parameters": {"colour": 3}}'},
                                   {"gramlab.RFM": '{"parameters": {}}'}])  # fmt: skip
def test_another_file_is_refused(tmp_path, metadata):
    save_file({"a": torch.zeros(2)}, tmp_path / "other.safetensors", metadata)
    with pytest.raises(BadInput, match=r"other\.safetensors: not a saved RFM"):
        RFM.load(tmp_path / "other.safetensors")


def test_a_machine_that_a_search_found_is_saved(tmp_path):
    """A grid search sets parameters to numpy's numbers."""
    x, y = multi_index(40, 3)
    grid = {"n_iters": np.arange(1, 3), "ridge": np.float32([0.1, 1]), "centered": np.array([True, False])}
    best = GridSearchCV(RFM(device=torch.device("cpu")), grid, cv=2).fit(x, y).best_estimator_
    best.save(tmp_path / "best.safetensors")
    again = RFM.load(tmp_path / "best.safetensors")
    assert np.array_equal(again.predict(x), best.predict(x))
    assert again.get_params() == best.get_params() | {"device": "cpu"}


@pytest.mark.parametrize("number", [torch.tensor(3.0), torch.tensor([3.0]), np.array(3.0)])
def test_a_machine_whose_bandwidth_is_a_tensor_of_one_number_is_saved(number, tmp_path):
    x, y = multi_index(40, 3)
    machine = RFM(bandwidth=number, ridge=number, n_iters=1).fit(x, y)
    machine.save(tmp_path / "machine.safetensors")
    again = RFM.load(tmp_path / "machine.safetensors")
    assert again.bandwidth == again.ridge == again.bandwidth_ == 3.0
    assert np.array_equal(again.predict(x), machine.predict(x))


def test_constant_features_and_duplicate_rows():
    x, y = multi_index(60, 4)
    x = np.hstack([x, np.full((60, 1), 3.0)])
    machine = RFM(ridge=0.01).fit(x, y)
    assert np.abs(machine.features_[:, 4]).max() < 1e-12
    x, y = np.vstack([x, x]), np.append(y, y)
    with pytest.warns(SingularKernel, match="ridge 0"):
        doubled = RFM(ridge=0, n_iters=1, early_stopping=False).fit(x, y)
    assert doubled.score(x, y) > 1 - 1e-6
    assert doubled.ridge_ > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0}, "bandwidth"),
        ({"bandwidth": -2.0}, "bandwidth"),
        ({"ridge": -1.0}, "ridge"),
        ({"kernel": "cauchy"}, "kernel"),
        ({"update": "nfa"}, "update"),
        ({"power": 0}, "power"),
        ({"n_iters": 1.5}, "n_iters"),
        ({"dtype": "float16"}, "dtype"),
        ({"solver": "magic"}, "solver"),
        ({"rank": 0}, "rank"),
        ({"task": "ranking"}, "task"),
        ({"device": "nowhere"}, "^device 'nowhere' is not available"),
        ({"device": 3.5}, "^device 3.5 is not available"),
        ({"early_stopping": "no"}, "^early_stopping must be True or False, not 'no'"),
        ({"centered": 1}, "^centered must be True or False, not 1"),
        ({"bandwidth": True}, "^bandwidth must be a positive number, not True"),
        ({"ridge": np.array([0.1, 0.2])}, r"^ridge must be a number of at least 0, not an array of shape \(2,\)$"),
        ({"kernel": np.array(["laplace", "gaussian"])}, r"^kernel must be one of .*, not an array of shape \(2,\)$"),
        ({"power": torch.tensor(0.5)}, r"^power must be .*, not a tensor of shape \(\): give its number, .item\(\)$"),
        ({"kernel": "exponential", "bandwidth": 1e-3}, "not finite"),
        ({"kernel": "gaussian", "update": "fact-simplified"}, "radial"),
        *(
            ({name: bad}, f"^{name} must be")
            for bad in (None, "median", float("nan"))
            for name in ("bandwidth", "ridge", "power", "offset", "degree", "n_iters", "rank")
        ),
    ],
)
def test_bad_parameters_raise_one_line(options, message):
    x, y = multi_index(20, 3)
    with pytest.raises(ValueError, match=message) as caught:
        RFM(**options).fit(x, y)
    assert "\n" not in str(caught.value)


def test_another_fit_leaves_nothing_of_the_first():
    x, y = multi_index(60, 3)
    machine = RFM("classification", n_iters=1).fit(x, y > 0)
    assert machine.classes_.tolist() == [False, True]
    machine.set_params(task="regression").fit(x, y)
    assert not hasattr(machine, "classes_")
    once = RFM(n_iters=1).fit(x, y)
    assert set(vars(machine)) == set(vars(once))
    assert np.array_equal(machine.predict(x), once.predict(x))


def test_bad_data():
    x, y = multi_index(20, 3)
    with pytest.raises(ValueError, match="NaN"):
        RFM().fit(np.where(x > 1, np.nan, x), y)
    for zero in (0, 0.0, "a"):
        with pytest.raises(ValueError, match=f"only one class, {zero!r}$"):
            RFM("classification").fit(x, np.full(20, zero))
    with pytest.raises(ValueError, match="together"):
        RFM().fit(x, y, x)
    with pytest.raises(ValueError, match="classes that y lacks"):
        RFM("classification").fit(x, np.arange(20) % 2, x, np.arange(20) % 3)
    two = np.stack([y, y], 1)
    for y_train, y_val in ((y, two), (two, y)):
        with pytest.raises(BadInput, match=r"y_val has \d outputs, y \d"):
            RFM().fit(x, y_train, x, y_val)
    column, flat = (RFM(n_iters=1).fit(x, y, x, y_val).history_ for y_val in (y[:, None], y))
    assert column == flat


@pytest.mark.parametrize(
    ("dtype", "scale", "message"),
    [("float64", 1e200, "kernel matrix is not finite"), ("float32", 1e20, "kernel matrix is not finite"),
     ("float32", 1e39, "beyond float32")],
)  # fmt: skip
def test_inputs_whose_distances_overflow_are_refused(dtype, scale, message):
    x, y = multi_index(20, 3)
    with pytest.raises(ValueError, match=message):
        RFM(dtype=dtype).fit(x * scale, y)
    if dtype == "float32":
        with pytest.raises(BadInput, match="beyond float32"):
            RFM(dtype=dtype, n_iters=1).fit(x, y * 1e39)


@pytest.mark.parametrize("update", UPDATES)
def test_features_beyond_the_range_of_numbers_leave_the_iterate_before(update):
    x, y = multi_index(40, 3)
    options = {"kernel": "exponential" if update == "fact-simplified" else "gaussian", "bandwidth": 3.0, "ridge": 0.1,
               "dtype": "float64"}  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="no finite or nonzero feature"):
        machine = RFM(update=update, **options).fit(x, y * 1e200)
    assert machine.best_iter_ == 0
    assert np.allclose(machine.predict(x) / 1e200, RFM(update=None, **options).fit(x, y).predict(x), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_the_nearest_to_the_fitted_codes(classes):
    """By the optimality condition of the projection on the simplex, and they rank as the prediction does."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    y = np.array(list("badc"))[(X[:, 0] > 0) + (classes // 2) * (X[:, 1] > 0) * (classes > 2)]
    machine = RFM("classification", kernel="gaussian", bandwidth=3.0, ridge=1.0, n_iters=1).fit(X, y)
    X_new = 2 * random.normal(size=(300, 5))
    P = machine.predict_proba(X_new)
    assert P.shape == (300, classes)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(1), 1, atol=1e-12)
    assert (machine.classes_[P.argmax(1)] == machine.predict(X_new)).all()
    scores = machine.decision_function(X_new)
    if classes == 2:  # codes sum to one only nearly; their difference is what is left of them
        half = np.clip((1 + scores) / 2, 0, 1)
        np.testing.assert_allclose(P[:, 1], half, atol=1e-9)
        return
    # (scores - P)·(Q - P) <= 0 for every point Q of the simplex, so for its corners
    assert ((scores - P) @ np.eye(classes) - ((scores - P) * P).sum(1, keepdims=True)).max() < 1e-12


def test_a_regression_has_no_probabilities():
    assert not hasattr(RFM("regression"), "predict_proba")


def test_tensors_are_taken_as_arrays():
    x, y = multi_index(60, 4)
    settings = {"bandwidth": 3.0, "n_iters": 1}
    plain = RFM("regression", ridge=0.01, **settings).fit(x, y)
    X = torch.from_numpy(x).requires_grad_()
    for ridge in (np.array([0.01]), torch.tensor(0.01, dtype=torch.float64)):
        machine = RFM("regression", ridge=ridge, **settings).fit(X, y)
        np.testing.assert_array_equal(machine.predict(X), plain.predict(x))
        assert machine.score(X, torch.from_numpy(y).requires_grad_()) == plain.score(x, y)


def test_tensors_in_bfloat16_are_taken():
    """As the same numbers in float32: numpy has no bfloat16."""
    x, y = (torch.from_numpy(values).bfloat16() for values in multi_index(60, 4))
    machines = [RFM("regression", bandwidth=3.0, ridge=0.01, n_iters=1) for _ in range(2)]
    short, single = (
        machine.fit(x.to(t), y.to(t)) for machine, t in zip(machines, (x.dtype, torch.float32), strict=True)
    )
    np.testing.assert_array_equal(short.predict(x), single.predict(x.float()))
    assert short.score(x, y) == single.score(x.float(), y.float())


def test_one_hot_rows_are_no_labels():
    x, y = multi_index(60, 4)
    with pytest.raises(ValueError, match=r"of one-hot rows pass y.argmax\(1\), or use task='regression'"):
        RFM("classification").fit(x, np.eye(2)[(y > 0).astype(int)])
