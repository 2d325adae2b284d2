"""Target linearity, surrogate, K-norm and collapse against their formulas written out with n × n matrices."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score

import gramlab
from gramlab.measures import linearity
from gramlab.measures.ridge_residual import residual_by_single_precision

QUICK = settings(derandomize=True, deadline=None, database=None, max_examples=60)


def draw(n, d, c, seed):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, d)) + 0.5
    Y = np.tanh(H @ rng.standard_normal((d, c))) + 0.3 * rng.standard_normal((n, c)) + 1.0
    return H, Y


def printed(H, Y, ridge):
    """Definition 2 as printed, samples in columns: an inverse, with all n × n."""
    H = H.T
    inverse = np.linalg.inv(H @ H.T + ridge * np.eye(len(H)))
    fitted = H.T @ inverse @ H @ Y
    return 1 - np.sum((Y - fitted) ** 2) / np.sum((Y - Y.mean(0)) ** 2)


@QUICK
@given(st.integers(6, 40), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99), st.sampled_from([0.0, 0.1, 30.0]))
def test_target_linearity_by_the_printed_formula(n, d, c, seed, ridge):
    H, Y = draw(n, d, c, seed)
    assert gramlab.target_linearity(H, Y, ridge) == pytest.approx(printed(H, Y, ridge), abs=1e-10)
    # and by the identity ‖Y − Ŷ‖² = λ² Yᵀ(λI + HHᵀ)⁻²Y
    if ridge:
        inverse = np.linalg.inv(ridge * np.eye(n) + H @ H.T)
        error = ridge**2 * np.trace(Y.T @ inverse @ inverse @ Y) / np.sum((Y - Y.mean(0)) ** 2)
        assert gramlab.target_linearity(H, Y, ridge) == pytest.approx(1 - error, abs=1e-10)


@QUICK
@given(st.integers(6, 40), st.integers(1, 5), st.integers(0, 99), st.sampled_from([0.0, 2.0]))
def test_centred_target_linearity_is_a_fit_with_an_intercept(n, d, seed, ridge):
    H, Y = draw(n, d, 1, seed)
    fit = (Ridge(alpha=ridge) if ridge else LinearRegression()).fit(H, Y[:, 0])
    linearity = gramlab.target_linearity(H, Y[:, 0], ridge, center=True)
    assert linearity == pytest.approx(r2_score(Y[:, 0], fit.predict(H)), abs=1e-10)
    assert ridge or 0 <= linearity <= 1


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_float32_features_are_solved_by_refinement_to_float64_accuracy(ridge):
    """A step that is wrong would only lead to the slower paths, so the fast one is called by its name."""
    H, Y = draw(300, 12, 2, 0)
    single, targets = torch.from_numpy(H).float(), torch.from_numpy(Y)
    rows = np.concatenate([single.double().numpy(), np.sqrt(ridge) * np.eye(12)])
    beta = np.linalg.lstsq(rows, np.concatenate([Y, np.zeros((12, 2))]), rcond=None)[0]
    residual = np.sum((Y - rows[:300] @ beta) ** 2)
    assert residual_by_single_precision(single, targets, None, ridge) == pytest.approx(residual, rel=1e-12)
    assert gramlab.target_linearity(single, targets, ridge) == pytest.approx(
        1 - residual / np.sum((Y - Y.mean(0)) ** 2), rel=1e-12
    )


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_the_residual_of_a_good_fit_of_float32_features_keeps_its_digits(ridge):
    """The last step of refinement still changes the residual, by a 1e-10 part of it."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        H = (rng.standard_normal((300, 12)) + 0.5).astype(np.float32)
        Y = H @ rng.standard_normal((12, 2)) + 0.1 * rng.standard_normal((300, 2))
        rows = np.concatenate([H.astype(float), np.sqrt(ridge) * np.eye(12)])
        beta = np.linalg.lstsq(rows, np.concatenate([Y, np.zeros((12, 2))]), rcond=None)[0]
        residual = residual_by_single_precision(torch.from_numpy(H), torch.from_numpy(Y), None, ridge)
        assert residual == pytest.approx(np.sum((Y - rows[:300] @ beta) ** 2), rel=1e-13)


def test_an_exact_fit_of_float32_features_has_the_residual_0():
    """The first solution is exact, and a step of refinement has the length 0."""
    H = torch.eye(4).repeat(16, 1)
    Y = H.double() @ torch.tensor([[1.0], [2.0], [-3.0], [4.0]], dtype=torch.float64)
    assert residual_by_single_precision(H, Y, None, 0.0) == 0.0
    assert gramlab.target_linearity(H, Y) == 1.0


@pytest.mark.parametrize("gap", [0.1, 0.01])
def test_float32_features_that_differ_enough_need_no_gram_matrix_in_float64(gap):
    """A Gram matrix in float32 has digits where they differ, so that a step of refinement mends most of each error."""
    H, Y = draw(300, 12, 2, 0)
    H[:, 1] = H[:, 0] + gap * H[:, 1]
    single = torch.from_numpy(H).float()
    X = single.double().numpy()
    residual = np.sum((Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]) ** 2)
    assert residual_by_single_precision(single, torch.from_numpy(Y), None, 0.0) == pytest.approx(residual, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-20, 1e20])
def test_features_whose_squares_leave_float32s_range_are_solved_in_float64(unit):
    """Small features have squares with fewer digits, and the squares of large features are infinite."""
    H, Y = draw(300, 5, 2, 0)
    single, targets = torch.from_numpy(H * unit).float(), torch.from_numpy(Y)
    assert residual_by_single_precision(single, targets, None, 0.0) is None
    X = single.double().numpy() / unit
    residual = np.sum((Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]) ** 2)
    expected = 1 - residual / np.sum((Y - Y.mean(0)) ** 2)
    assert gramlab.target_linearity(single, targets) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("exponent", range(-7, -1))
def test_nearly_equal_float32_features(exponent):
    """A Gram matrix in float32 has only round-off where they differ, and some of them still have a Cholesky factor."""
    for seed in range(10):
        H, Y = draw(300, 12, 2, seed)
        H = H.astype("float32")
        H[:, 1] = H[:, 0] * np.float32(1 + 10.0**exponent)
        X = H.astype(float)
        beta = np.linalg.lstsq(X, Y, rcond=1e-14)[0]
        expected = 1 - np.sum((Y - X @ beta) ** 2) / np.sum((Y - Y.mean(0)) ** 2)
        assert gramlab.target_linearity(H, Y) == pytest.approx(expected, abs=1e-15 * np.linalg.cond(X) + 1e-13)


def test_target_linearity_of_many_rows_goes_block_by_block():
    H, Y = draw(20_000, 7, 2, 0)
    assert gramlab.target_linearity(H, Y) == pytest.approx(
        1 - np.linalg.lstsq(H, Y, rcond=None)[1].sum() / np.sum((Y - Y.mean(0)) ** 2), abs=1e-12
    )


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_rank_deficient_features(ridge):
    """Repeated, dead and too many features give what the independent ones give."""
    H, Y = draw(30, 3, 2, 1)
    deficient = np.hstack([H, np.zeros((30, 2)), H @ np.ones((3, 4))])
    if ridge:  # a ridge does see the repeated directions: compare with the n × n identity instead
        inverse = np.linalg.inv(ridge * np.eye(30) + deficient @ deficient.T)
        error = ridge**2 * np.trace(Y.T @ inverse @ inverse @ Y)
        expected = 1 - error / np.sum((Y - Y.mean(0)) ** 2)
    else:
        expected = printed(H, Y, 0.0)
    assert gramlab.target_linearity(deficient, Y, ridge) == pytest.approx(expected, abs=1e-10)
    assert gramlab.target_linearity(np.random.default_rng(0).standard_normal((4, 9)), Y[:4]) == pytest.approx(1.0)
    assert gramlab.target_linearity(np.zeros((30, 4)), Y - Y.mean(0)) == pytest.approx(0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("center", [False, True])
def test_dead_features_are_left_out_and_do_not_need_the_slow_path(dtype, ridge, center, monkeypatch):
    monkeypatch.delattr(linearity, "residual_by_qr")
    H, Y = draw(2000, 5, 2, 4)
    H = H.astype(dtype)
    dead = np.zeros((2000, 1), dtype)
    last_row_alone = np.eye(2000, 1, -1999, dtype=dtype)  # alive in the last block only
    constant = np.full((2000, 1), 3, dtype) if center else dead
    linearity_of_all = gramlab.target_linearity(
        np.hstack([dead, H[:, :2], constant, last_row_alone, H[:, 2:], -dead]), Y, ridge, center
    )
    X, T = np.hstack([H, last_row_alone]).astype(float), Y
    if center:
        X, T = X - X.mean(0), Y - Y.mean(0)
    beta = np.linalg.solve(X.T @ X + ridge * np.eye(6), X.T @ T)
    expected = 1 - np.sum((T - X @ beta) ** 2) / np.sum((Y - Y.mean(0)) ** 2)
    assert linearity_of_all == pytest.approx(expected, rel=1e-12)
    alive = np.hstack([H[:, :2], last_row_alone, H[:, 2:]])
    assert linearity_of_all == gramlab.target_linearity(alive, Y, ridge, center)


def test_linear_targets_and_maps_of_features():
    H, _ = draw(50, 4, 1, 2)
    assert gramlab.target_linearity(H, H @ np.ones(4)) == pytest.approx(1.0)
    Y = draw(50, 4, 2, 3)[1]
    A = np.random.default_rng(0).standard_normal((4, 4))
    assert gramlab.target_linearity(H @ A, Y) == pytest.approx(gramlab.target_linearity(H, Y))


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9])
def test_ill_conditioned_features_where_the_printed_inverse_fails(condition):
    """H = U diag(s) Vᵀ with Y in its span: T is 1 − |rest|²/|Y|², known by construction."""
    rng = np.random.default_rng(5)
    U = np.linalg.qr(np.hstack([np.ones((200, 1)), rng.standard_normal((200, 11))]))[0][:, 1:]  # columns of mean 0
    V = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    H = U[:, :10] * np.geomspace(1, 1 / condition, 10) @ V.T
    Y = U @ np.ones(11)
    # rounding H itself moves its least direction by eps·condition, whoever solves
    assert gramlab.target_linearity(H, Y) == pytest.approx(10 / 11, abs=1e-15 * condition + 1e-13)
    if condition == 1e9:
        assert abs(printed(H, Y, 0.0) - 10 / 11) > 1e-4


@QUICK
@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_surrogate_and_k_norm(n, d, c, seed):
    H, Y = draw(n, d, c, seed)
    W = np.random.default_rng(seed).standard_normal((4, d))
    G = H @ W.T @ W @ H.T
    assert gramlab.surrogate(H, W, Y) == pytest.approx(np.trace(Y.T @ G @ Y))
    assert gramlab.surrogate(H, W, Y[:, 0]) == pytest.approx(Y[:, 0] @ G @ Y[:, 0])
    assert gramlab.k_norm(H, Y[:, 0]) == pytest.approx(np.sqrt(Y[:, 0] @ H @ H.T @ Y[:, 0]))


def test_the_k_norm_without_features_or_columns_is_0():
    assert gramlab.k_norm(np.zeros((3, 0)), np.ones(3)) == 0.0
    assert gramlab.k_norm(np.ones((3, 2)), np.zeros((3, 0))) == 0.0


def collapse_by_hand(H, labels):
    S_W, S_B, mean = 0, 0, H.mean(0)
    for label in np.unique(labels):
        rows = H[labels == label]
        centre = rows.mean(0)
        S_W = S_W + (rows - centre).T @ (rows - centre) / len(H)
        S_B = S_B + len(rows) / len(H) * np.outer(centre - mean, centre - mean)
    return S_W, S_B


@QUICK
@given(st.integers(2, 4), st.integers(2, 6), st.integers(2, 5), st.integers(0, 99), st.booleans())
def test_neural_collapse(K, size, d, seed, uneven):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(K), size)
    if uneven:
        labels = np.concatenate([labels, np.zeros(3, int)])
    H = rng.standard_normal((len(labels), d)) + 3 * rng.standard_normal((K, d))[labels] + 100
    collapse = gramlab.neural_collapse(H, labels * 7 - 3)
    S_W, S_B = collapse_by_hand(H, labels)
    assert collapse.within == pytest.approx(np.trace(S_W))
    assert collapse.between == pytest.approx(np.trace(S_B))
    assert collapse.total == pytest.approx(np.sum((H - H.mean(0)) ** 2) / len(H))
    assert collapse.nc1 == pytest.approx(np.trace(S_W) / np.trace(S_B))
    assert gramlab.neural_collapse(H, np.eye(K)[labels]).nc1 == pytest.approx(collapse.nc1)
    means = np.stack([H[labels == k].mean(0) - H.mean(0) for k in range(K)])
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    etf = np.eye(K) * K / (K - 1) - 1 / (K - 1)
    assert collapse.nc2 == pytest.approx(np.linalg.norm(unit @ unit.T - etf))


def test_neural_collapse_of_batches_keeps_the_digits_of_collapsed_features():
    rng = np.random.default_rng(1)
    labels = np.concatenate([np.zeros(40, int), rng.integers(0, 5, 300), np.full(7, 9)])  # some classes come late
    H = 1e4 + rng.standard_normal((10, 6))[labels] + 1e-6 * rng.standard_normal((len(labels), 6))
    S_W, S_B = collapse_by_hand(H.astype(np.longdouble), labels)
    running = gramlab.RunningCollapse()
    for part in np.split(np.arange(len(labels)), [3, 4, 50, 51, 200]):
        running.add(H[part], torch.from_numpy(labels[part]))
    for collapse in (running.collapse(), gramlab.neural_collapse(H, labels, batch_size=13)):
        # H itself is rounded to 1e-12, a millionth of the spread within classes
        assert collapse.within == pytest.approx(float(np.trace(S_W)), rel=1e-9)
        assert collapse.between == pytest.approx(float(np.trace(S_B)), rel=1e-12)
        assert collapse.mean.numpy() == pytest.approx(H.mean(0), rel=1e-14)
    with pytest.raises(ValueError, match="H has 5 columns and the batches before had 6"):
        running.add(H[:, :5], labels)
    with pytest.raises(gramlab.Undefined, match="0 class"):
        gramlab.RunningCollapse().collapse()


def test_nc2_does_not_see_rotation_scale_or_shift_and_is_zero_for_a_frame():
    rng = np.random.default_rng(0)
    K = 4
    frame = np.eye(K) - 1 / K
    Q = np.linalg.qr(rng.standard_normal((6, K)))[0].T
    labels = np.repeat(np.arange(K), 3)
    collapse = gramlab.neural_collapse(5 * (frame @ Q)[labels] + 2, labels)
    assert collapse.nc2 == pytest.approx(0.0, abs=1e-12)
    assert collapse.nc1 == pytest.approx(0.0, abs=1e-12)


H0 = np.arange(6.0).reshape(6, 1)
UNDEFINED = {
    "constant target": lambda: gramlab.target_linearity(H0, np.full(6, 0.1)),
    "one row": lambda: gramlab.target_linearity(H0[:1], [1.0]),
    "one class": lambda: gramlab.neural_collapse(H0, np.zeros(6, int)),
    "equal means": lambda: gramlab.neural_collapse([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1]).nc1,
    "equal means, NC2": lambda: gramlab.neural_collapse([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1]).nc2,
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined_values_raise(name):
    with pytest.raises(gramlab.Undefined):
        UNDEFINED[name]()


BAD = {
    "rows": (lambda: gramlab.target_linearity(H0, np.ones(5)), "H has 6 rows and Y has 5"),
    "ridge": (lambda: gramlab.target_linearity(H0, H0, ridge=-1.0), "not -1.0"),
    "ridge nan": (lambda: gramlab.target_linearity(H0, H0, ridge=float("nan")), "not nan"),
    "no rows": (lambda: gramlab.target_linearity(H0[:0], H0[:0]), "H has no rows"),
    "nan": (lambda: gramlab.target_linearity(torch.tensor([[float("nan")]]), [1.0]), "H holds a NaN"),
    "surrogate": (lambda: gramlab.surrogate(H0, np.eye(2), H0), "W takes 2 features and H has 1"),
    "surrogate rows": (lambda: gramlab.surrogate(H0, [[1.0]], [1.0]), "H has 6 rows and Y has 1"),
    "k_norm": (lambda: gramlab.k_norm(H0, [1.0]), "H has 6 rows and V has 1"),
    "labels": (lambda: gramlab.neural_collapse(H0, [0, 1]), "6 rows and there are 2 labels"),
    "collapse of nothing": (lambda: gramlab.neural_collapse(H0[:0], []), "no rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_refused(name):
    act, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        act()


def test_integer_labels_are_no_regression_targets():
    H, labels = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    for Y in (labels, torch.from_numpy(labels)[:, None], labels.tolist()):
        with pytest.raises(ValueError, match="Y holds integers, one a sample: pass classes as one-hot rows"):
            gramlab.target_linearity(H, Y)
    with pytest.raises(ValueError, match="V holds integers, one a sample"):
        gramlab.k_norm(H, np.ones((30, 1), int))  # rows of a single class, which are one-hot too
    one_hot = np.eye(3, dtype=int)[labels]
    assert gramlab.target_linearity(H, one_hot) == gramlab.target_linearity(H, one_hot.astype(float))
    assert gramlab.target_linearity(H, labels == 1) == gramlab.target_linearity(H, (labels == 1).astype(float))


@pytest.mark.parametrize("beside", ["dead", "repeated"])
@pytest.mark.parametrize("center", [False, True])
def test_features_in_any_units_explain_as_much(beside, center):
    """A dead or a repeated feature takes the way of singular values, which do depend on the units."""
    H, Y = draw(60, 8, 2, 3)
    H[:, 5] = 0.0 if beside == "dead" else H[:, 2]
    A, T = (H - H.mean(0), Y - Y.mean(0)) if center else (H, Y)
    residual = np.sum((T - A @ np.linalg.pinv(A) @ T) ** 2)
    expected = 1 - residual / np.sum((Y - Y.mean(0)) ** 2)
    scales = np.logspace(-8, 7, 8)
    assert gramlab.target_linearity(H * scales, Y, center=center) == pytest.approx(expected, abs=1e-9)
    tiny = gramlab.target_linearity(H * 1e-200, Y, center=center)
    assert tiny == pytest.approx(expected, abs=1e-9)


def test_target_linearity_is_at_most_1():
    for seed in range(40):
        H, _ = draw(30, 6, 1, seed)
        for features in (H, np.hstack([H, H[:, :1]]), H.astype(np.float32)):
            assert gramlab.target_linearity(features, features @ np.ones((features.shape[1], 2))) <= 1.0


def test_a_small_column_is_used_as_a_large_one_is():
    H, _ = draw(30, 2, 1, 0)
    y = H[:, 1:]
    for unit in (1e-20, 1e20):
        assert gramlab.target_linearity(H * [1.0, unit], y) == pytest.approx(1.0, abs=1e-12)
        assert gramlab.target_linearity(H * [unit, unit**2], y) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sign", [0, -1])
def test_rows_of_the_labels_may_be_one_hot_or_signs(sign):
    draw = np.random.default_rng(0)
    H, y = draw.normal(size=(12, 4)), np.arange(12) % 3
    rows = np.where(np.eye(3)[y] == 1, 1, sign)
    expected = gramlab.neural_collapse(H, y).nc1
    for labels in (rows, rows.astype(float), torch.from_numpy(rows), y.astype(float), rows == 1):
        assert gramlab.neural_collapse(H, labels).nc1 == expected


def test_a_column_of_labels_names_the_classes_as_a_vector_does():
    H, y = np.random.default_rng(0).normal(size=(12, 4)), np.arange(12) % 3
    S_W, S_B = collapse_by_hand(H, y)
    for labels in (y, y.astype(float), torch.from_numpy(y)):
        assert gramlab.neural_collapse(H, labels[:, None]).nc1 == pytest.approx(np.trace(S_W) / np.trace(S_B))


def test_a_simplex_of_unequal_classes_is_no_zero_of_nc2():
    """H̄ by hand, with the mean of all samples."""
    simplex = np.eye(4) - 1 / 4
    for sizes in ((5, 5, 5, 5), (6, 5, 5, 5)):
        y = np.repeat(np.arange(4), sizes)
        centred = simplex - simplex[y].mean(0)
        unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        expected = np.linalg.norm(unit @ unit.T - (4 * np.eye(4) - 1) / 3)
        assert gramlab.neural_collapse(simplex[y], y).nc2 == pytest.approx(expected, abs=1e-14)
        assert expected == pytest.approx(0.0 if min(sizes) == max(sizes) else 0.15, abs=0.005)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, -100, 1], "row 2 of the labels is -100"),
        ([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]], "row 1 of the labels names several classes or none"),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], "row 3 of the labels names several classes or none"),
        ([[1, 0], [0, 1], [0.6, 0.4], [0, 1]], "row 2 of the labels is not one-hot"),
        ([[1, 0], [0, 1], [0.5, 0], [0, 1]], "row 2 of the labels is not one-hot"),
        ([[0.9, 0.1, 0.0], [0, 1, 0], [0, 0, 1], [0, 1, 0]], "row 0 of the labels is not one-hot"),
        ([0.0, 1.0, 0.25, 1.0], "row 2 of the labels is 0.25"),
    ],
)
def test_labels_that_name_no_class_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        gramlab.neural_collapse(np.eye(4), labels)
    with pytest.raises(ValueError, match=message):
        gramlab.RunningCollapse().add(np.eye(4), labels)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_column_of_one_sign_is_not_taken_for_zeros(sign):
    """The only column that tells the target has no entry of the other sign."""
    random = np.random.default_rng(4)
    H = random.normal(size=(30, 3))
    H[:, 1] = sign * (0.1 + random.random(30))
    H[:, 2] = 0.0
    y = 2 * H[:, 1] + 0.1 * random.normal(size=30)
    fitted = H @ np.linalg.lstsq(H, y, rcond=None)[0]
    assert float(gramlab.target_linearity(H, y)) == pytest.approx(r2_score(y, fitted), rel=1e-10)


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_ridge_on_features_of_low_rank_against_the_dual_form(ridge, repeats):
    """More features than samples, and repeated features: the residual is λ (K + λI)⁻¹ Y with K = HHᵀ."""
    generator = torch.Generator().manual_seed(0)
    n, d = (8, 20) if repeats == 1 else (40, 6)
    H = torch.randn(n, d, dtype=torch.float64, generator=generator).repeat(1, repeats)
    Y = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    residual = ridge * torch.linalg.solve(H @ H.T + ridge * torch.eye(n, dtype=torch.float64), Y)
    expected = 1 - float(residual.square().sum() / (Y - Y.mean(0)).square().sum())
    assert gramlab.target_linearity(H, Y, ridge) == pytest.approx(expected, rel=1e-10)
