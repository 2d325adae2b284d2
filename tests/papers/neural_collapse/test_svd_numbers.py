"""What d_svd measures, row by row, with traces summed point by point."""

import numpy as np
import pytest
from handmade import assert_same_rows

from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_svd

SHAPES = {"square": (12, 12), "wide": (7, 20), "tall": (20, 7), "deficient": (12, 12), "spread": (15, 15)}
COUNTED, RELU = "control: S V^T counted in", "control: ReLU counted in"
NOT_ORTHOGONAL = "control: U not orthogonal"


def share_within(h: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """tr(S_W)/tr(S_T), and tr(S_T)."""
    within = sum(((point - h[labels == label].mean(0)) ** 2).sum() for point, label in zip(h, labels, strict=True))
    total = sum(((point - h.mean(0)) ** 2).sum() for point in h)
    return within / total, total / len(h)


def instance(kind: str, number: int):
    """W, centred features, a factor that is not orthogonal, and labels, in the order in which they are drawn."""
    draw, (k, d) = stream("d_svd", kind, number), SHAPES[kind]
    W = draw.normal(size=(k, d))
    if kind == "deficient":
        left = draw.normal(size=(k, 4))
        W = left @ draw.normal(size=(4, d))
    if kind == "spread":
        W = np.array([row / 10.0**i for i, row in enumerate(W)])
    classes = int(draw.integers(2, 6))
    counts = [10] * classes if number % 2 == 0 else draw.integers(2, 15, size=classes)
    labels = np.array([label for label, count in enumerate(counts) for _ in range(count)])
    centres = draw.normal(size=(classes, d))
    noise = draw.uniform(0.1, 2)
    h = centres[labels] + noise * draw.normal(size=(len(labels), d))
    return W, h - h.sum(0) / len(h), draw.normal(size=(k, k)) / k**0.5, labels


def rows_of_instance(kind, number, dtype):
    """The residuals in float64; the precision decides the signs of the singular vectors, and so the last control."""
    W, h, other, labels = instance(kind, number)
    k, d = W.shape
    U, S, Vt = (array.astype(float) for array in np.linalg.svd(W.astype(dtype)))
    rank = min(k, d)
    before = np.hstack([(h @ Vt[:rank].T) * S, np.zeros((len(h), k - rank))])
    np.testing.assert_allclose(before @ U.T, h @ W.T, atol=1e-12 if dtype == "float64" else 1e-3)
    share, total = share_within(before, labels)
    round_off = (k + d + len(h)) * S[0] ** 2 * (h**2).sum() / len(h) / total
    after = {"claim": h @ W.T, COUNTED: h, RELU: np.where(h @ W.T > 0, h @ W.T, 0), NOT_ORTHOGONAL: before @ other.T}
    for arm, z in after.items():
        residual = abs(share - share_within(z, labels)[0]) / round_off
        yield {"arm": arm, "case": f"{kind} {number}", "dtype": dtype, "quantity": "svd/residual", "value": residual}


def test_every_row():
    expected = [row for number in range(2) for kind in SHAPES for dtype in ("float64", "float32")
                for row in rows_of_instance(kind, number, dtype)]  # fmt: skip
    measured = list(d_svd.measure(d_svd.Settings(instances=2)))
    for dtype, unit, rel in (("float64", 2.0**-53, 1e-6), ("float32", 2.0**-24, 0.1)):
        ours, theirs = ([row for row in rows if row["dtype"] == dtype] for rows in (expected, measured))
        controls = [[row for row in rows if row["arm"] != "claim"] for rows in (theirs, ours)]
        assert_same_rows(*controls, rel=rel, absolute=8 * unit)
        claims = [[row for row in rows if row["arm"] == "claim"] for rows in (theirs, ours)]
        assert_same_rows(*claims, rel=0, absolute=8 * unit)
        assert max(row["value"] for row in claims[0]) > unit / 1000  # the precision is the named one


def test_traces_are_those_of_the_matrices():
    """Against sums point by point, for classes of unequal size."""
    draw = np.random.default_rng(2)
    z, labels = draw.normal(size=(11, 3)) + 5, np.array([4, 1, 1, 4, 0, 1, 0, 1, 4, 1, 1])
    within, between = d_svd._traces(z, labels)
    share, total = share_within(z, labels)
    np.testing.assert_allclose((within, between), (share * total, (1 - share) * total), rtol=1e-12)


def test_the_product_is_not_made_of_the_decomposition(monkeypatch):
    """With wrong singular values the two sides differ: one comes from S V^T h, the other from W h."""
    W, h, other, labels = instance("square", 0)
    U, S, Vt = np.linalg.svd(W)
    monkeypatch.setattr(np.linalg, "svd", lambda matrix: (U, S[::-1], Vt))
    wrong, total = share_within((h @ Vt.T) * S[::-1], labels)
    round_off = (2 * len(W) + len(h)) * S[0] ** 2 * (h**2).sum() / len(h) / total
    expected = abs(wrong - share_within(h @ W.T, labels)[0]) / round_off
    assert d_svd._residuals(W, h, other, labels)["claim"] == pytest.approx(expected, rel=1e-9)
