"""C.fig1: after the printed 5 iterations FACT-RFM does not yet predict this sparse parity; after 10 it does.

The product of 4 of 12 signs, from 250 samples. As in Section 4.3: inputs +-1/sqrt(d), a Gaussian kernel of bandwidth 5,
and M <- (FACT M M FACT^T)^(1/4), which is |FACT M|^(1/2). B has the dual weights and the slopes of the kernel.
"""

import numpy as np

X, M, accuracy = np.random.default_rng(0).choice([-1.0, 1.0], (750, 12)) / 12**0.5, np.eye(12), np.empty(0)
x, y = X[:250], np.prod(X[:, :4], 1) > 0
for _ in range(11):
    K = np.exp(-np.einsum("ijk,kl,ijl->ij", D := X[:, None] - x, M, D, optimize=True) / 50)
    scores = K @ (alpha := np.linalg.solve(K[:250] + 1e-6 * np.eye(250), y[:250]))
    S, U = np.linalg.eigh(M @ x.T @ ((B := np.outer(alpha, alpha) * K[:250] / 25) - np.diag(B.sum(1))) @ x @ M)
    M, accuracy = U * np.abs(S) ** 0.5 @ U.T, np.append(accuracy, np.mean((scores > 0.5)[250:] == y[250:]))
print(f"accuracy on new samples: {accuracy[5]:.2f} after 5 iterations, {accuracy[10]:.2f} after 10")
assert accuracy[5] < 0.6 < 0.9 < accuracy[10]
