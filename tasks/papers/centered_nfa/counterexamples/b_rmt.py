"""B.rmt: (10) as printed has no bound of 1, (19) is off by its last term, and the last term of (28) is 0."""

import numpy as np

printed, derived = 4 / (4**-0.5 * 4**-0.5), 4 / (4**0.5 * 4**0.5)  # (10) for A = R = 2: tr[AR] = tr[A^2] = tr[R^2] = 4
print(f"(10): {printed:g} with exponents -1/2, {derived:g} with +1/2; a correlation is at most 1")
R = np.diag([1.0, 3.0])  # (19) for centred parts 0, A = B = 1: tr[RRR] is all that is left
print(f"(19): last term {np.mean(np.diag(R)) ** 3:g} as printed, {np.trace(R @ R @ R) / 2:g} as derived")
rng, n = np.random.default_rng(0), 600  # (28): tr[R^2 A R^2 A] for a centred A and an R with independent eigenvectors
Q, A = np.linalg.qr(rng.normal(size=(n, n)))[0], np.diag(np.tile([1.0, -1.0], n // 2))
square = Q * rng.uniform(1, 2, n) ** 2 @ Q.T
word, product = np.trace(square @ A @ square @ A) / n, np.trace(square) ** 2 / n**2
print(f"(28): word {word:.3f}; printed tr[A]^2 tr[R^2]^2 = {np.trace(A):g}, derived tr[A^2] tr[R^2]^2 = {product:.3f}")
assert printed > 1 >= derived
assert np.trace(A) == 0
assert abs(word / product - 1) < 0.05
