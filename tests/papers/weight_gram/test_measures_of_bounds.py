"""Paper A's bounds and identities on features and labels, both sides against closed forms and explicit sums."""

import math

import numpy as np
import pytest
from handmade import assert_same_rows, numbers
from helpers import in_double
from linear_rows import assert_round_off, rows_of

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_linear
from tasks.papers.weight_gram.experiments.shared.trained_layers import Layer, trained_layers

pytestmark = pytest.mark.usefixtures("drawn_instances_only")


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
    measured = [row for row in in_double(linear) if (row["arm"], row["quantity"]) in keys]
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
