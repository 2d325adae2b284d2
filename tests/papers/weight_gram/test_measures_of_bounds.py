"""Paper A's bounds and identities on features and labels, both sides against closed forms and explicit sums."""

import itertools
import math

import numpy as np
import pytest
from handmade import assert_same_rows, numbers
from scipy.special import erf

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_features, a_linear, a_taylor
from tasks.papers.weight_gram.experiments.shared.trained_layers import Layer, trained_layers

ROUND_OFF = 8 * 2.0**-53


@pytest.fixture(autouse=True)
def drawn_instances_only(monkeypatch):
    """The search for counterexamples and the trained networks have tests of their own."""
    for experiment in (a_linear, a_features, a_taylor):
        monkeypatch.setattr(experiment, "adversaries", lambda: iter(()))
    monkeypatch.setattr(a_features, "trained_networks", lambda steps: iter(()))


def double(rows):
    return [row for row in rows if row["dtype"] == "float64"]


def rows_of(rows, **where):
    return [row for row in double(rows) if all(row.get(name, "") == value for name, value in where.items())]


def assert_round_off(rows):
    assert rows
    assert max(row["value"] for row in rows) <= ROUND_OFF


def gelu(z):
    return z * (1 + erf(z / 2**0.5)) / 2


# Lemma 1, Lemma 2 and Theorem 2


def drawn_layers(instance):
    """Random layers, those along training, and both extremal ones, as the experiment draws them."""
    return [*a_linear.random_layers(instance), *trained_layers(instance)]


def handmade_layer(kind="extremal", step=-1):
    draw = numbers("layer", kind)
    return Layer(kind, draw.normal(size=(3, 4)), np.abs(draw.normal(size=(4, 7))), draw.normal(0.5, size=7), 0.3, step)


def lemma_1_rows(layer):
    """Sums over pairs of samples of W's outputs, and over the squares of the features."""
    squares = np.linalg.eigvalsh(layer.W @ layer.W.T)[-1]  # of the spectral norm
    moved, fixed = (sum(y * column for y, column in zip(layer.Y, features.T, strict=True))
                    for features in (layer.W @ layer.H, layer.H))  # fmt: skip
    left, right = moved @ moved, fixed @ fixed
    arms = {"claim": left / (1.001**2 * squares), "corrected": left / squares}
    arms |= {"control: W beyond c": 1.01**2 * left / squares} if layer.kind == "extremal" else {}
    for arm, value in arms.items():
        columns = {"arm": arm, "case": layer.kind}
        violated = value >= right if arm == "claim" else value > right * (1 + 1e-12)
        yield {**columns, "quantity": "lem1/violated", "value": float(violated)}
        if right > 0:
            yield {**columns, "quantity": "lem1/ratio", "value": value / right}


def theorem_2_rows(layer, instance):
    """Both sides by the singular values of the features."""
    W, H, Y, ridge = layer.W, layer.H, layer.Y, layer.ridge
    seen = W @ H @ Y
    if not seen.any():
        return
    _, s, V = np.linalg.svd(H)
    coefficients, shrunk = V @ Y, np.ones(len(Y))
    shrunk[: len(s)] = ridge / (ridge + s**2)
    spread = (Y**2).sum() - Y.sum() ** 2 / len(Y)
    unexplained = ((shrunk * coefficients) ** 2).sum() / spread
    printed = (np.linalg.svd(W)[1][0] * (2 * ridge + (s**2).sum())) ** 2 / (4 * ridge * spread) * (Y @ Y)
    constants = {"claim": printed, "corrected": printed * (Y @ Y)}
    if layer.kind == "extremal":
        constants["control: 0.99 of 4/27 C"] = 0.99 * 4 / 27 * constants["corrected"]
        constants["control: W beyond c_0"] = constants["corrected"] / 9
    for arm, C in constants.items():
        columns = {"arm": arm, "case": layer.kind, "seed": instance}
        yield {**columns, "quantity": "thm2/ratio", "value": unexplained * (seen @ seen) / C}
        if layer.step >= 0:
            columns |= {"step": layer.step}
            yield {**columns, "quantity": "thm2/left", "value": unexplained}
            yield {**columns, "quantity": "thm2/right", "value": C / (seen @ seen)}


def kantorovich_rows(kind, gram, Y, ridge):
    """Lemma 2 by the eigenvectors of the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    coefficients, a = vectors.T @ Y, ridge + values
    left = (coefficients**2 / a**2).sum() * (coefficients**2 * a).sum() / (Y @ Y) ** 2
    low, high = a[0], a[-1]
    shares = np.linspace(0, 1, 2_000_001)  # the best constant by a search over the shares of both ends
    best = ((shares / low**2 + (1 - shares) / high**2) * (shares * low + (1 - shares) * high)).max()
    printed = (low + high) ** 2 / (4 * low**3)
    columns = {"arm": "claim", "case": kind}
    yield {**columns, "quantity": "lem2/ratio", "value": left / printed}
    yield {**columns, "quantity": "lem2/sharp", "value": left / best}
    if kind == "extremal":
        yield {
            **columns,
            "arm": "control: 0.99 of the best kappa",
            "quantity": "lem2/ratio",
            "value": left / 0.99 / best,
        }
    if kind == "multiple of I":
        yield {**columns, "arm": "control: 0.99 of the printed kappa", "quantity": "lem2/ratio",
               "value": left / 0.99 / printed}  # fmt: skip


@pytest.mark.parametrize("kind", ["extremal", "random"])
def test_lemmas_1_and_2_and_theorem_2_on_a_layer_made_by_hand(kind):
    layer = handmade_layer(kind, step=-1 if kind == "extremal" else 30)
    assert_same_rows(a_linear.lemma_1(layer), lemma_1_rows(layer))
    assert_same_rows(a_linear.theorem_2(layer, 5), theorem_2_rows(layer, 5))
    gram = layer.H.T @ layer.H
    for name in ("extremal", "multiple of I", "other"):
        measured = list(a_linear.kantorovich(name, gram, layer.Y, 0.3))
        assert_same_rows(measured, kantorovich_rows(name, gram, layer.Y, 0.3), rel=1e-6)


def least_squares_instance(kind, instance):
    draw = stream("a_linear", "ols", kind, instance)
    d = int(draw.integers(2, 20))
    n = d if kind == "square" else max(2, d // 2) if kind == "wide" else d + int(draw.integers(1, 40))
    H = draw.normal(size=(d, n))
    H = H + 3 * math.sqrt(d) * np.eye(d) if kind == "square" else H
    H = np.array([10 ** (-2 * row / (d - 1)) for row in range(d)])[:, None] * H if kind == "ill-conditioned" else H
    H = np.concatenate([H[:-1], H[:1]]) if kind == "rank-deficient" else H
    y = draw.normal(size=n)
    return H, H.T @ draw.normal(size=d) if kind == "y in the span" else y


def projection_rows(case, H, y):
    """The control: H (y - H^T w) of ridge regression by the singular value decomposition."""
    _, s, V = np.linalg.svd(H, full_matrices=False)
    s = np.where(s > 1e-10 * s[0], s, 0)
    rank = int((s > 0).sum())
    ridge = 0.1 * s[0] ** 2
    error = np.linalg.norm(s * ridge / (ridge + s**2) * (V @ y))
    size = sum(H.shape) * s[0] ** 2 / s[rank - 1] * np.linalg.norm(y)
    methods = ("least squares", "printed inverse") if rank == len(H) else ("least squares",)
    for method in methods:
        yield {"arm": "control: ridge instead of OLS", "case": case, "layer": method, "quantity": "ols/residual",
               "value": error / size}  # fmt: skip


def entropy_instance(kind, instance):
    draw = stream("a_linear", "bce", kind, instance)
    d, n = int(draw.integers(1, 20)), int(draw.integers(4, 60))
    H = draw.normal(size=(d, n))
    H = H + draw.normal(size=(d, 1))
    H = np.where(H > 0, H, 0.0)
    if not H.any():
        return None
    y = np.where(draw.random(n) < (0.1 if kind == "few positives" else 0.5), 1.0, 0.0)
    y[0], y[1] = 1, 0
    y = np.ones(n) if kind == "one class" else y
    f = draw.normal(size=d) @ H
    f = f + draw.normal()
    f = 30 * f / np.abs(f).max() if kind == "saturated" else f
    return H, y, np.abs(f) * np.where(y == 1, 1, -1) if kind == "separated" else f


def entropy_rows(case, H, y, f):
    """The controls, with g = y - p and sums over pairs of samples."""
    p = 1 / (1 + np.exp(-f))
    n, norms = len(y), np.linalg.norm(y) + np.linalg.norm(1 / (1 + np.exp(-f)))
    K = np.array([[H[:, i] @ H[:, j] for j in range(n)] for i in range(n)])
    size = (n + len(H)) * np.linalg.norm(y) * (H**2).sum() * norms
    gradient = {"control: logits instead of probabilities": np.linalg.norm(f - p) / norms}
    # the sign of the second sum: twice the sum over samples of class 0
    residual = {"control: sign of one sum": abs(sum(2 * K[i, j] * p[j] for i in range(n) for j in range(n)
                                                    if y[i] == 1 and y[j] == 0)) / size}  # fmt: skip
    if not (y == 0).any():
        residual = {}
    for quantity, values in (("bce/gradient", gradient), ("bce/residual", residual)):
        for arm, value in values.items():
            yield {"arm": arm, "case": case, "quantity": quantity, "value": value}


def lemma_5_instance(kind, instance):
    draw = stream("a_linear", "lem5", kind, instance)
    m, n = int(draw.integers(2, 20)), int(draw.integers(1, 20))
    m, n = {"tall": (m + n, 1 + n // 3), "wide": (2, n + 3), "orthogonal": (m, m)}.get(kind, (m, n))
    A = draw.normal(size=(m, n))
    A = A * 10 ** draw.uniform(-1, 1)
    if kind == "rank one":
        A = np.outer(A[:, 0], draw.normal(size=n))
    if kind == "orthogonal":
        A = np.linalg.qr(A)[0]
    if kind == "labels":
        A = np.array([[2 / 3 if row % 3 == column else -1 / 3 for column in range(3)] for row in range(3 * m)])
    c, raw = 10 ** draw.uniform(-1, 1), draw.normal(size=(len(A), len(A)))
    return A, c, raw, draw.normal(size=A.shape)


def lemma_5_rows(kind, instance):
    """Cosines of G and A Aᵀ as matrices."""
    A, _, raw, B = lemma_5_instance(kind, instance)
    outer, other = A @ A.T, "control: G of another A"
    matrices = {"symmetric": raw + raw.T, "psd": raw @ raw.T, "best": outer, "least": -outer, other: B @ B.T,
                "near the best": outer + 1e-3 * np.linalg.norm(outer) * (raw + raw.T)}  # fmt: skip
    cosines = {name: (G * outer).sum() / np.linalg.norm(G) / np.linalg.norm(outer) for name, G in matrices.items()}
    columns = {"case": kind, "quantity": "lem5/ratio"}
    yield from ({**columns, "arm": "claim", "layer": name, "value": value} for name, value in cosines.items())
    yield {**columns, "arm": "control: norm of G beyond c", "layer": "best", "value": 1.01}
    yield {**columns, "arm": other, "layer": other, "value": cosines[other]}
    size = sum(A.shape) * (A**2).sum() / np.linalg.norm(outer)
    columns = {"case": f"{kind}, {instance}", "quantity": "lem5/residual"}
    yield {**columns, "arm": "control: norm of G beyond c", "value": 0.01 / size}
    yield {**columns, "arm": other, "value": (1 - cosines[other]) / size}


@pytest.fixture(scope="module")
def linear():
    patch = pytest.MonkeyPatch()
    patch.setattr(a_linear, "adversaries", lambda: iter(()))
    rows = list(a_linear.measure(a_linear.Settings(instances=1)))
    patch.undo()
    return rows


def test_every_layer_of_lemma_1_and_theorem_2(linear):
    layers = drawn_layers(0)
    lemma_1 = [row for layer in [*layers, a_linear.aligned(0)] for row in lemma_1_rows(layer)]
    theorem_2 = [row for layer in [*layers, a_linear.rank_one(0)] for row in theorem_2_rows(layer, 0)]
    names = ("lem1/violated", "lem1/ratio", "thm2/ratio", "thm2/left", "thm2/right")
    assert_same_rows([row for row in linear if row["quantity"] in names], [*lemma_1, *theorem_2], rel=1e-6)
    tightest = {row["arm"]: row["value"] for row in theorem_2 if row["case"] == "extremal"}
    assert tightest["corrected"] == pytest.approx(4 / 27, rel=1e-6)


def test_every_matrix_of_lemma_2(linear):
    measured = rows_of(linear, quantity="lem2/ratio", arm="claim") + rows_of(linear, quantity="lem2/sharp", arm="claim")
    for layer in drawn_layers(0):
        for row in kantorovich_rows(layer.kind, layer.H.T @ layer.H, layer.Y, layer.ridge):
            (value,) = (other["value"] for other in measured if (other["case"], other["quantity"]) ==
                        (layer.kind, row["quantity"]))  # fmt: skip
            assert value == pytest.approx(row["value"], rel=1e-5)
    shares = {row["case"]: row["value"] for row in measured if row["quantity"] == "lem2/sharp"}
    assert shares["extremal"] == pytest.approx(1, abs=1e-9)
    assert shares["multiple of I"] == pytest.approx(1, abs=1e-9)
    assert shares["attains Kantorovich"] < 1
    assert 0.9 < shares["climbed"] <= 1 + 1e-9
    printed = {row["case"]: row["value"] for row in measured if row["quantity"] == "lem2/ratio"}
    assert printed["multiple of I"] == pytest.approx(1, abs=1e-9)
    controls = {row["arm"]: row["value"] for row in rows_of(linear, quantity="lem2/ratio") if row["arm"] != "claim"}
    assert controls == {"control: 0.99 of the best kappa": pytest.approx(1 / 0.99),
                        "control: 0.99 of the printed kappa": pytest.approx(1 / 0.99)}  # fmt: skip


def test_ordinary_least_squares(linear):
    instances = [(f"{kind}, 0", *least_squares_instance(kind, 0)) for kind in
                 ("tall", "ill-conditioned", "square", "wide", "rank-deficient", "y in the span")]  # fmt: skip
    instances += [(f"{layer.kind}, 0", layer.H, layer.Y) for layer in trained_layers(0)]
    expected = [row for instance in instances for row in projection_rows(*instance)]
    arm = "control: ridge instead of OLS"
    assert_same_rows(rows_of(linear, arm=arm, quantity="ols/residual"), expected, rel=1e-6)
    assert_round_off(rows_of(linear, arm="claim", quantity="ols/residual"))


def test_binary_cross_entropy(linear):
    instances = [(f"{kind}, 0", *entropy_instance(kind, 0)) for kind in
                 ("random", "few positives", "one class", "saturated", "separated") if entropy_instance(kind, 0)
                 ]  # fmt: skip
    head = stream("a_linear", "head", 0).normal(size=10)
    for layer in trained_layers(0):
        f = head @ np.where(layer.W @ layer.H > 0, layer.W @ layer.H, 0)
        instances.append((f"{layer.kind}, 0", layer.H, np.where(layer.Y > 0, 1.0, 0.0), f))
    expected = [row for instance in instances for row in entropy_rows(*instance)]
    keys = {(row["arm"], row["quantity"]) for row in expected}
    measured = [row for row in double(linear) if (row["arm"], row["quantity"]) in keys]
    assert_same_rows(measured, expected, rel=1e-6)
    assert_round_off(rows_of(linear, arm="claim", quantity="bce/residual"))
    assert_round_off(rows_of(linear, arm="claim", quantity="bce/gradient"))
    assert_round_off(rows_of(linear, arm="control: sign of one sum", quantity="bce/gradient"))


def test_lemma_5(linear):
    expected = [row for kind in ("random", "tall", "wide", "rank one", "orthogonal", "labels")
                for row in lemma_5_rows(kind, 0)]  # fmt: skip
    for layer in trained_layers(0):
        outputs = np.maximum(layer.W @ layer.H, 0)
        seen, gram = outputs @ layer.Y, outputs.T @ outputs
        expected.append({"arm": "claim", "case": layer.kind, "layer": "trained", "quantity": "lem5/ratio",
                         "value": seen @ seen / math.sqrt((gram**2).sum()) / (layer.Y @ layer.Y)})  # fmt: skip
    measured = rows_of(linear, quantity="lem5/ratio") + [
        row for row in rows_of(linear, quantity="lem5/residual") if row["arm"] != "claim"
    ]
    assert_same_rows(measured, expected, rel=1e-6)
    assert_round_off(rows_of(linear, quantity="lem5/residual", arm="claim"))


def test_the_random_layers_differ():
    layers = [layer for instance in (0, 1) for layer in drawn_layers(instance)]
    assert [layer.kind for layer in layers[:7]] == ["random", "ill-conditioned", "rank one", "dead",
                                                    "almost constant Y", "small Y", "large Y"]  # fmt: skip
    assert len({float(layer.W.sum()) for layer in layers}) == len(layers)
    for layer in layers[:7]:
        assert (layer.H >= 0).all()
        assert layer.W.shape[1] == len(layer.H) < len(layer.Y) == layer.H.shape[1]
    assert np.linalg.matrix_rank(layers[2].H) == 1
    assert not layers[3].H.any()
    assert layers[4].Y.std() < 0.1 * abs(layers[4].Y.mean())


# Propositions 2 and 3


def collapse_rows(case, directions, within, size, general):
    """Proposition 2 by the normal equations of the centred features."""
    d, classes = directions.shape
    n = within.shape[1]
    labels = [sample * classes // n for sample in range(n)]
    basis = np.linalg.qr(directions)[0]
    simplex = size * (basis - basis.mean(1, keepdims=True))
    H, onehot = simplex[:, labels], np.eye(classes)[labels]
    Y = onehot - 1 / classes
    noisy = H + 0.1 * size * (within - within.mean(1, keepdims=True))
    means = general - general.mean(1, keepdims=True)
    spectrum = np.linalg.svd(means)[1]
    arms = {"claim": (H, Y), "control: labels not centred": (H, onehot), "general": (means[:, labels], Y),
            "control: within-class noise": (noisy, Y)}  # fmt: skip
    for arm, (features, target) in arms.items():
        centred = features - features.mean(1, keepdims=True)
        # with a bias the slope is that of the centred features; W acts on the features themselves
        W = (np.linalg.pinv(centred.T, rcond=1e-10) @ (target - target.mean(0))).T
        outputs = W @ features
        gram, outer = outputs.T @ outputs, target @ target.T
        norm, length = np.linalg.norm(outer), n + d + 1
        distance = np.linalg.norm(gram - outer) / norm
        if arm == "general":
            ratio = (spectrum[0] / spectrum[classes - 2]) ** 2
            yield {"arm": "claim", "case": case, "quantity": "prop2/without NC2", "value": distance / length / ratio}
            continue
        surrogate = np.trace(outer @ gram)
        yield {"arm": arm, "case": case, "quantity": "prop2/gram", "value": distance / length}
        yield {"arm": arm, "case": case, "quantity": "prop2/residual",
               "value": abs(surrogate - np.linalg.norm(gram) * norm) / norm**2 / length}  # fmt: skip


def test_proposition_2_on_features_made_by_hand():
    draw = numbers("collapsed")
    directions, within, general = draw.normal(size=(5, 3)), draw.normal(size=(5, 12)), draw.normal(size=(5, 3))
    rows = list(a_features.collapsed("made", directions, within, 2.5, general))
    expected = list(collapse_rows("made", directions, within, 2.5, general))
    assert_same_rows(double(rows), expected, rel=1e-8, absolute=1e-14)
    controls = [row["value"] for row in expected if row["arm"] != "claim" and row["quantity"] == "prop2/gram"]
    assert min(controls) > 1e-4


def proposition_2_instance(kind, instance):
    draw = stream("a_features", "prop2", kind, instance)
    classes = 2 if kind == "two classes" else int(draw.integers(3, 8))
    d = classes + (0 if kind == "as many dimensions as classes" else int(draw.integers(0, 15)))
    per_class = int(draw.integers(2, 12))
    size = 10 ** draw.uniform(-2, 2) if kind == "scaled" else 1.0
    directions, within = draw.normal(size=(d, classes)), draw.normal(size=(d, classes * per_class))
    return directions, within, size, draw.normal(size=(d, classes))


def proposition_3_instance(kind, instance):
    draw = stream("a_features", "prop3", kind, instance)
    d, p = 1 if kind == "few latents" else int(draw.integers(1, 6)), int(draw.integers(2, 10))
    n = d + int(draw.integers(4, 30))
    Z, mix = draw.normal(size=(n, d)), draw.normal(size=(d, p))
    X = draw.normal(size=(n, p)) / 10
    noise, heavy = draw.normal(size=(n, p)), draw.standard_t(2, size=(n, p))
    added = {"gaussian": noise, "offset": noise + 3, "heavy tails": heavy, "linear": Z @ mix}
    X = X + (added[kind] if kind in added else np.tanh(3 * Z @ mix))
    Z = {"no latents": np.zeros((n, d)), "a latent twice": np.column_stack([Z, Z[:, 0]])}.get(kind, Z)
    return Z, X, draw.permutation(n) if kind in ("nonlinear", "few latents", "linear") else None


def proposition_3_rows(case, kind, Z, X, order):
    """All pairs of samples one after the other; norms of the parts of X outside the span of Z."""
    n, d = Z.shape
    g = np.linalg.pinv(Z, rcond=1e-10) @ X
    least = np.mean([np.linalg.norm(z @ g - x) for z, x in zip(Z, X, strict=True)])
    predictors = {"claim": (g, 0), "corrected": (g, 0), "control: f not linear": (g, 10)}
    if order is not None:
        predictors["control: shuffled pairs"] = (np.linalg.pinv(Z[order]) @ X, 0)
    s = np.linalg.svd(Z)[1]
    rank = int((s > 1e-10 * s[0]).sum())
    condition = (s[0] / s[rank - 1]) ** 2 if rank else 1.0
    for arm, (linear, wave) in predictors.items():
        for alpha in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0):
            errors = []
            for i, j in itertools.product(range(n), range(n)):
                z, x = (alpha * rows[i] + (1 - alpha) * rows[j] for rows in (Z, X))
                errors.append(np.linalg.norm(z @ linear + wave * least * np.sin(5 * z[0]) - x))
            yield {"arm": arm, "case": kind, "x": alpha, "quantity": "prop3/ratio", "value": np.mean(errors) / least}
        outside = X - Z @ np.linalg.pinv(Z, rcond=1e-10) @ X
        by_linearity = math.sqrt((outside**2).sum() / n)
        norms = np.array([np.linalg.norm(z @ linear + wave * least * np.sin(5 * z[0]) - x)
                          for z, x in zip(Z, X, strict=True)])  # fmt: skip
        error = norms.mean() if arm == "claim" else math.sqrt((norms**2).mean())
        size = (n + d) * condition * math.sqrt((X**2).sum() / n)
        yield {"arm": arm, "case": case, "quantity": "prop3/residual", "value": abs(error - by_linearity) / size}
        if arm == "claim":
            yield {"arm": arm, "case": kind, "quantity": "prop3/by linearity", "value": norms.mean() / by_linearity}


def test_propositions_2_and_3_on_drawn_features():
    expected = []
    for kind in ("simplex", "two classes", "as many dimensions as classes", "scaled"):
        rows = list(collapse_rows(f"{kind}, 0", *proposition_2_instance(kind, 0)))
        d, n = proposition_2_instance(kind, 0)[1].shape
        expected += [row for row in rows if d < n - 1 or "noise" not in row["arm"]]
    for kind in ("gaussian", "offset", "heavy tails", "nonlinear", "few latents", "linear", "no latents",
                 "a latent twice"):  # fmt: skip
        expected += proposition_3_rows(f"{kind}, 0", kind, *proposition_3_instance(kind, 0))
    rows = list(a_features.measure(a_features.Settings(instances=1, steps=1)))
    trained = [row for row in rows if row["case"].startswith(("trained", "after "))]
    assert_same_rows([row for row in double(rows) if row not in trained], expected, rel=1e-6, absolute=1e-13)
    of_layers = {(row["step"], row["quantity"]): row["value"] for row in double(trained)
                 if row["arm"] == "claim" and row["quantity"] in ("prop3/residual", "prop3/by linearity")}  # fmt: skip
    for layer in trained_layers(0):
        latents = np.where(layer.W @ layer.H > 0, layer.W @ layer.H, 0).T
        values = {row["quantity"]: row["value"] for row in proposition_3_rows("", "", latents, layer.H.T, None)
                  if row["arm"] == "claim"}  # fmt: skip
        for quantity in ("prop3/residual", "prop3/by linearity"):
            assert of_layers[layer.step, quantity] == pytest.approx(values[quantity], rel=1e-4)


def test_another_draw_of_proposition_3_has_its_seed():
    expected = proposition_3_rows("nonlinear, 3", "nonlinear", *proposition_3_instance("nonlinear", 3))
    measured = double(a_features.proposition_3("nonlinear", 3))
    assert_same_rows(measured, [{**row, "seed": 3} for row in expected], rel=1e-6, absolute=1e-13)


# Proposition 4 and Lemma 4


def homogeneous(kind, weights):
    """The features of one point, for complex numbers too."""
    first, second, third = (*weights, *weights[:1] * 2)[:3]

    def plus(z):
        return np.where(np.real(z) > 0, z, 0)

    return {
        "relu": lambda x: plus(first @ x), "relu, 3 layers": lambda x: plus(third @ plus(second @ plus(first @ x))),
        "leaky relu": lambda x: second @ (plus(first @ x) - 0.1 * plus(-first @ x)),
        "relu^2": lambda x: plus(first @ x) ** 2, "relu^3": lambda x: plus(first @ x) ** 3,
        "relu^2, 2 layers": lambda x: plus(second @ plus(first @ x) ** 2) ** 2,
        "skip": lambda x: first @ x + plus(first @ x), "degree 1/2": lambda x: (first @ x) / np.sum(x * x) ** 0.25,
        "cubic": lambda x: (first @ x) ** 2 * np.roll(first @ x, 1), "gelu": lambda x: gelu(first @ x),
    }[kind]  # fmt: skip


def proposition_4_rows(case, seed, kind, weights, points, shift, w):
    """The double sum of Taylor errors, with gradients by a complex step."""
    for arm in ("claim", "control: x not centred", "control: f not centred", "control: f not homogeneous"):
        phi = homogeneous("gelu" if "homogeneous" in arm else kind, weights)
        X = points + shift if "x not" in arm else points
        n, d = X.shape
        values = np.stack([phi(x) for x in X])
        total = values.sum(0)
        if np.count_nonzero(total) < 2:
            return  # no centred f but 0
        head = w if "f not centred" in arm else w - (w @ total) / (total @ total) * total
        gradients = np.stack([[np.imag(head @ phi(x + 1e-30j * axis)) / 1e-30 for axis in np.eye(d)] for x in X])
        f, norms = values @ head, np.linalg.norm(values, axis=1) * np.linalg.norm(w)
        total_error = size = 0.0
        for i, j in itertools.product(range(n), range(n)):
            total_error += f[i] - f[j] - gradients[j] @ (X[i] - X[j])
            size += norms[i] + norms[j] + np.linalg.norm(X[i] - X[j]) * np.linalg.norm(gradients[j])
        yield {"arm": arm, "case": case, "seed": seed, "quantity": "prop4/residual",
               "value": abs(total_error) / size / (n + d)}  # fmt: skip


def proposition_4_instance(kind, instance):
    draw = stream("a_taylor", "prop4", kind, instance)
    d, n, width = int(draw.integers(2, 10)), int(draw.integers(3, 40)), int(draw.integers(3, 12))
    weights = [draw.normal(size=(width, size)) for size in (d, width, width)]
    X = draw.normal(size=(n, d))
    X = X * 10 ** draw.uniform(-1, 1)
    X = X - X.mean(0)
    shift, w = draw.normal(size=d) * X.std(ddof=1), draw.normal(size=width)
    return weights, X, shift, w


def test_proposition_4():
    expected = []
    for kind in ("relu", "relu, 3 layers", "leaky relu", "relu^2", "relu^3", "relu^2, 2 layers", "skip", "degree 1/2",
                 "cubic"):  # fmt: skip
        expected += proposition_4_rows(kind, 0, kind, *proposition_4_instance(kind, 0))
    rows = [row for row in a_taylor.measure(a_taylor.Settings(instances=1)) if row["quantity"] == "prop4/residual"]
    cases = {row["case"] for row in expected}
    assert_same_rows([row for row in double(rows) if row["case"] in cases], expected, rel=1e-6, absolute=1e-15)
    assert_round_off(rows_of(rows, arm="claim"))
    trained, draw = [], stream("a_taylor", "trained", 0)
    for layer in trained_layers(0):
        w, shift = draw.normal(size=10), draw.normal(size=12)
        X = layer.H.T - layer.H.mean(1)
        trained += proposition_4_rows(layer.kind, 0, "relu", [layer.W], X, shift, w)
    cases = {row["case"] for row in trained}
    assert_same_rows([row for row in double(rows) if row["case"] in cases], trained, rel=1e-6, absolute=1e-15)


def lemma_4_rows(kind, weights, head, a, b):
    """Linear regions of the segment by their activation patterns on a fine grid, and the gradient of each."""
    slopes = []
    before = None
    for t in np.linspace(0, 1, 20_001):
        x, patterns, gradient = a + t * (b - a), [], head
        for W in weights:
            patterns.append(W @ x > 0)
            x = np.where(patterns[-1], W @ x, 0)
        if (pattern := np.concatenate(patterns).tobytes()) == before:
            continue
        before = pattern
        for W, alive in zip(reversed(weights), reversed(patterns), strict=True):
            gradient = (gradient * alive) @ W
        slopes.append(gradient)
    largest = max(np.abs(slope).max() for slope in slopes)
    jumps = [np.linalg.norm(new - old) for old, new in itertools.pairwise(slopes)]
    jumps = [jump for jump in jumps if jump > 1e-12 * largest]
    error = abs(b @ slopes[0] - head @ x)
    bound = 2 * len(jumps) * max(math.hypot(*a), math.hypot(*b)) * max([0, *jumps])
    arms = {"claim": bound, "corrected": bound / 2}
    arms |= {"control: 0.99 of M B delta": 0.99 * bound / 2} if kind == "extremal" else {}
    arms |= {"control: first delta only": bound * jumps[0] / max(jumps)} if kind == "faint first kink" else {}
    for arm, right in arms.items():
        slack = 1e-12 * (1 + abs(head @ x))
        violated = right == 0 or error >= right if arm == "claim" else error > right + slack
        yield {"arm": arm, "case": kind, "quantity": "lem4/violated", "value": float(violated)}
        if right:
            yield {"arm": arm, "case": kind, "quantity": "lem4/ratio", "value": error / right}


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kind", ["extremal", "faint first kink"])
def test_lemma_4_on_networks_made_by_hand(depth, kind):
    draw = numbers("segment", depth)
    weights = [draw.normal(size=(4, d)) for d in (3, 4, 4)[:depth]]
    head, a, b = draw.normal(size=4), draw.normal(size=3), -2 * draw.normal(size=3)
    expected = list(lemma_4_rows(kind, weights, head, a, b))
    assert len(expected) == 6, "the segment crosses a boundary"
    assert_same_rows(a_taylor.segment(kind, weights, head, a, b), expected, rel=1e-9)


def test_lemma_4_on_drawn_segments():
    rows = [row for row in a_taylor.measure(a_taylor.Settings(instances=1)) if row["quantity"].startswith("lem4")]
    expected = []
    draw = stream("a_taylor", "trained", 0)
    for layer in trained_layers(0):
        head, _ = draw.normal(size=10), draw.normal(size=12)
        expected += lemma_4_rows("trained", [layer.W], head, layer.H[:, 0], layer.H[:, 1])
    measured = [row for row in rows if row["case"] == "trained"]
    assert [row["quantity"] for row in measured] == [row["quantity"] for row in expected]
    assert [row["value"] for row in measured] == pytest.approx([row["value"] for row in expected], rel=1e-8)
    for kind, depth in (("1 hidden layer", 1), ("2 hidden layers", 2), ("3 hidden layers", 3)):
        draw = stream("a_taylor", "lem4", kind, 0)
        d, width = int(draw.integers(2, 8)), int(draw.integers(2, 12))
        weights = [draw.normal(size=(width, size)) for size in (d, width, width)[:depth]]
        head, a, b = draw.normal(size=width), draw.normal(size=d), draw.normal(size=d)
        assert_same_rows(
            [row for row in rows if row["case"] == kind], lemma_4_rows(kind, weights, head, a, b), rel=1e-8
        )
    claims = [
        row for row in rows if (row["case"], row["quantity"], row["arm"]) == ("extremal", "lem4/ratio", "corrected")
    ]
    assert claims[0]["value"] == pytest.approx(1)
