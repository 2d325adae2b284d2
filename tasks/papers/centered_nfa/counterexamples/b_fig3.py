"""B.fig3: at the printed scale 1 of X_1 no alignment is reversed: the correlation is 1. At d^-0.8 it is."""

import numpy as np

d, balance = 256, 0.05


def correlation(scale, seed):
    """Return the cosine of E[W'^T W'] = M^2 and E[W'^T K W'], Proposition 10 with n = d = k, M = X^T Y X."""
    rng, n1 = np.random.default_rng(seed), round(balance * d)
    X1, second = (scale * (rng.normal(size=(n, 1)) + 0.5**0.5 * rng.normal(size=(n, d))) for n in (n1, d - n1))
    S, U = (part[..., ::-1] for part in np.linalg.eigh(X1.T @ X1))
    inverse = np.divide(1.0, S, out=np.zeros(d), where=S[0] * 2e-16 * d < S)
    V = np.linalg.svd(second, full_matrices=False)[0]
    X2 = V * inverse[: V.shape[1]] @ U[:, : V.shape[1]].T
    X = np.concatenate([X1, X2]) + 1e-2 * rng.normal(size=(d, d))
    y = (np.arange(d) < n1) + 1e-5  # step 5 of the recipe adds 1e-5 to the labels
    M, B = X.T @ (y[:, None] * X), X.T @ X
    nfm, agop = M @ M, 3 / d * np.trace(B) * M @ M + (1 + 5 / d) * M @ B @ M
    return np.sum(nfm * agop) / np.linalg.norm(nfm) / np.linalg.norm(agop)


printed, scaled = (np.mean([correlation(scale, seed) for seed in range(4)]) for scale in (1.0, d**-0.8))
print(f"correlation of the second derivatives: {printed:.4f} at scale 1, {scaled:.4f} at scale d^-0.8")
assert printed > 0.99
assert scaled < 0.9
