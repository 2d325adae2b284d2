"""D.thm4.3: with the printed kappa the recursion stops at a distance of first order in lambda_k; with ours, of second.

Two classes of two samples. A layer solves (A + lambda_k I) alpha = y with A = G + lambda_Phi I and gives
G' = A alpha alpha^T A / kappa.
"""

import numpy as np

n, phi = 2, 1.0
y = np.kron(np.eye(2), np.ones((n, 1)))


def distance(lam, kappa, layers=80):
    """Return ||G - y y^T|| after these layers."""
    G = y @ y.T + 0.1 * np.eye(2 * n)
    for _ in range(layers):
        A = G + phi * np.eye(2 * n)
        alpha = np.linalg.solve(A + lam * np.eye(2 * n), y)
        G = A @ alpha @ alpha.T @ A / kappa
    return np.linalg.norm(G - y @ y.T, 2)


for name, kappa in (
    ("printed", lambda lam: 1 - 2 * lam * (1 + 1 / phi)),
    ("corrected", lambda lam: 1 - 2 * lam / (phi + n)),
):
    larger, smaller = (distance(lam, kappa(lam)) for lam in (0.01, 0.001))
    print(f"{name}: {larger:.1e} at lambda_k = 0.01, {smaller:.1e} at 0.001: order {np.log10(larger / smaller):.2f}")
    assert abs(np.log10(larger / smaller) - (2 if name == "corrected" else 1)) < 0.1
