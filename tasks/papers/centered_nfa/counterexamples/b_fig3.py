"""B.fig3: at the printed scale 1 of X_1 no alignment is reversed: the correlation is 1. At a small scale it is.

Two eigenvectors. By Proposition 10, for a large width, E[W'^T W'] = M^2 and E[W'^T K W'] = M B M with M = X^T Y X and
B = X^T X. The recipe has the labels 1 on X_1 and almost 0 on X_2, the inverse of X_1's Gram matrix times its scale.
"""

import numpy as np

correlations = []
for scale in (1.0, 0.03):
    M = scale**2 * np.diag([4.0, 40.0])  # X_1^T X_1
    X2 = scale * np.linalg.inv(M)
    nfm, agop = M @ M, M @ (M + X2.T @ X2) @ M
    correlations.append(np.sum(nfm * agop) / np.linalg.norm(nfm) / np.linalg.norm(agop))
print(f"correlation of the second derivatives: {correlations[0]:.4f} at scale 1, {correlations[1]:.4f} at scale 0.03")
assert correlations[0] > 0.99
assert correlations[1] < 0.9
