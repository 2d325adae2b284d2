"""What d_thm4_4 measures, row by row, in closed form and by eigenvalues; its ascent by automatic differentiation."""

import numpy as np
import pytest
import torch
from handmade import assert_same_rows

from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_thm4_4

SIZES = {"C = 2, n = 3": (2, 3), "C = 3, n = 1": (3, 1), "C = 3, n = 6": (3, 6), "C = 10, n = 4": (10, 4),
         "C = 1, n = 5": (1, 5)}  # fmt: skip
DIAGONAL, SIGNED = "control: diagonal 1.05", "control: not positive semi-definite"
PROFILES = {
    "Laplace": lambda r: np.exp(-r),
    "Gaussian": lambda r: np.exp(-(r**2)),
    "rational": lambda r: 1 / (1 + r**2),
}


def one_hot(C: int, n: int) -> np.ndarray:
    return np.array([[float(c == i // n) for i in range(C * n)] for c in range(C)])


def optimum(k: np.ndarray, Y: np.ndarray, mu: float) -> float:
    """sum_c y_c^T k (k + mu I)^-1 y_c, by the eigenvalues of k: the negative minimum of Problem (3) over A."""
    values, vectors = np.linalg.eigh(k)
    return sum(value / (value + mu) * ((Y @ v) ** 2).sum() for value, v in zip(values, vectors.T, strict=True))


def value_at_best_kernel(size, C, n, mu):
    """Residuals of the value at k* = Y^T Y, where A = Y / (n + mu); at 1.05 k*, A = Y / (1.05 n + mu)."""
    N, printed = C * n, C * n * n / (n + mu)
    for dtype in ("float64", "float32"):
        for scale, arms in ((1.0, {"claim": printed, "corrected": -printed}), (1.05, {DIAGONAL: -printed})):
            value = -scale * n * N / (scale * n + mu)
            # norms of A, k, Y, and of k^2 + mu k
            of_a, of_k, of_y = N**0.5 / (scale * n + mu), scale * n * C**0.5, N**0.5
            length = of_a * of_k * of_y + of_a**2 * of_k * (scale * n + mu)
            for arm, expected in arms.items():
                yield {"arm": arm, "case": size, "dtype": dtype, "quantity": "thm4_4/residual",
                       "value": abs(value - expected) / (N * length)}  # fmt: skip


def ascent(Z: torch.Tensor, Y: torch.Tensor, mu: float, positive: bool) -> np.ndarray:
    """150 steps uphill from Z with unit rows, with the gradient by autograd."""

    def height(Z):
        k = Z @ Z.T
        return (Y @ k @ torch.linalg.inv(k + mu * torch.eye(len(k), dtype=k.dtype)) @ Y.T).trace()

    def feasible(Z):
        Z = Z.clamp_min(1e-4) if positive else Z
        return Z / Z.norm(dim=1, keepdim=True)

    Z, rate = feasible(Z.abs() if positive else Z), 1.0
    for _ in range(150):
        at = Z.clone().requires_grad_()
        (slope,) = torch.autograd.grad(height(at), at)
        slope = slope - (slope * Z).sum(1, keepdim=True) * Z  # along the spheres
        candidate = feasible(Z + rate * slope / slope.abs().max().clamp_min(1e-300))
        higher = height(candidate) > height(Z)
        Z, rate = (candidate, 1.5 * rate) if higher else (Z, rate / 2)
    return (Z @ Z.T).numpy()


def with_eigenvalue(best: np.ndarray, least: float) -> np.ndarray:
    """k* with a further entry for its first and its last sample, by bisection, so that the least eigenvalue is this."""
    low, high = 0.0, 1e6
    for _ in range(200):
        added = (low + high) / 2
        k = best.copy()
        k[0, -1] = k[-1, 0] = best[0, -1] + added
        low, high = (added, high) if np.linalg.eigvalsh(k).min() > least else (low, added)
    return k


def rows_of_mu(size, C, n, instance):
    """All rows of a value of mu, from the instance's random stream in the order in which it is drawn."""
    draw = stream("d_thm4_4", size, instance)
    mu, N, Y = 10.0 ** draw.uniform(-2, 2), C * n, one_hot(C, n)
    yield from value_at_best_kernel(size, C, n, mu)
    bound, kernels = C * n * n / (n + mu), []
    for name, profile in PROFILES.items():
        points = draw.normal(size=(N, 4))
        centres = 2 * draw.normal(size=(C, 4))
        points = np.array([point + centres[i // n] for i, point in enumerate(points)])
        M_root = draw.normal(size=(4, 4)) * 10.0 ** draw.uniform(-1, 1)
        k = np.array([[profile(np.sqrt((((a - b) @ M_root) ** 2).sum())) for b in points] for a in points])
        kernels += [("claim", name, k), ("corrected", name, k)]
    for name, positive in (("ascent, positive entries", True), ("ascent, any signs", False)):
        k = ascent(torch.from_numpy(draw.normal(size=(N, N))), torch.from_numpy(Y), mu, positive)
        kernels += [("claim", name, k), ("corrected", name, k)]
    best = Y.T @ Y
    kernels.append((DIAGONAL, "k* times 1.05", 1.05 * best))
    if N > 2:
        kernels.append((SIGNED, "one eigenvalue below −μ", with_eigenvalue(best, -1.5 * mu)))
    for arm, name, k in kernels:
        yield {"arm": arm, "case": name, "layer": size, "dtype": "float64", "x": mu, "quantity": "thm4_4/ratio",
               "value": optimum(k, Y, mu) / bound}  # fmt: skip
    Z = np.abs(draw.normal(size=(N, N)))
    Z = Z / np.sqrt((Z**2).sum(1, keepdims=True))
    for t in (10.0 ** -np.arange(1, 6)).tolist():
        k = best + t * (np.array([[a @ b for b in Z] for a in Z]) - best)
        distance = np.linalg.svd(k - best, compute_uv=False)[0]
        for arm in ("claim", "corrected"):
            yield {"arm": arm, "case": "near k*", "layer": size, "dtype": "float64", "x": t, "quantity": "thm4_4/near",
                   "value": (bound - optimum(k, Y, mu)) / (N * distance / mu)}  # fmt: skip
    if N > 2:
        k = with_eigenvalue(best, -0.999 * mu)
        distance = np.linalg.svd(k - best, compute_uv=False)[0]
        yield {"arm": SIGNED, "case": "near k*", "layer": size, "dtype": "float64", "quantity": "thm4_4/near",
               "value": (bound - optimum(k, Y, mu)) / (N * distance / mu)}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    """What is measured, and what is expected."""
    measured = list(d_thm4_4.measure(d_thm4_4.Settings(instances=2)))
    expected = [{**row, "seed": instance} for instance in range(2) for size, (C, n) in SIZES.items()
                for row in rows_of_mu(size, C, n, instance)]  # fmt: skip
    return measured, expected


def test_every_residual(rows):
    """The sign of the print, and the planted diagonal, to many digits; the corrected value to round-off."""
    for dtype, round_off, rel in (("float64", 2.0**-53, 1e-9), ("float32", 2.0**-24, 1e-4)):
        measured, expected = ([row for row in some if row["quantity"] == "thm4_4/residual" and row["dtype"] == dtype]
                              for some in rows)  # fmt: skip
        assert_same_rows(measured, expected, rel=rel, absolute=8 * round_off)
        wrong = [row for row in measured if row["arm"] == "claim"]
        assert min(row["value"] for row in wrong) > 100 * 8 * round_off


def test_every_ratio(rows):
    """Candidates within the rounding of their eigenvalues; ascents, whose steps amplify it, to four digits."""
    measured, expected = ([row for row in some if row["quantity"] == "thm4_4/ratio"] for some in rows)
    climbed = [[row for row in some if "ascent" in row["case"]] for some in (measured, expected)]
    assert_same_rows(*climbed, rel=1e-4)
    others = [[row for row in some if "ascent" not in row["case"]] for some in (measured, expected)]
    assert_same_rows(*others, rel=1e-8)


def test_every_row_near_the_optimum(rows):
    measured, expected = ([row for row in some if row["quantity"] == "thm4_4/near"] for some in rows)
    assert_same_rows(measured, expected, rel=1e-6, absolute=1e-9)
    assert {row["quantity"] for row in rows[0]} == {"thm4_4/residual", "thm4_4/ratio", "thm4_4/near"}


@pytest.mark.parametrize("positive", [True, False])
def test_an_ascent_ends_at_a_feasible_kernel(positive):
    """Unit diagonal, no negative eigenvalue and, if asked, positive entries; near the bound for a benign mu."""
    C, n, mu = 3, 4, 1.0
    k = d_thm4_4.ascend(one_hot(C, n), mu, stream("test_theorem_4_4_numbers"), positive)
    np.testing.assert_allclose(np.diag(k), 1, rtol=1e-12)
    assert np.linalg.eigvalsh(k)[0] > -1e-12
    assert k.min() > 0 or not positive
    assert 0.99 < optimum(k, one_hot(C, n), mu) / (C * n * n / (n + mu)) < 1 + 1e-12
