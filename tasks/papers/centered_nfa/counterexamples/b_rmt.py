"""B.rmt: (10) as printed has no bound of 1, (19) is off by its last term, and the last term of (28) is 0."""

import numpy as np


def tr(*factors):
    """Return the normalized trace of a product."""
    product = np.linalg.multi_dot(factors) if len(factors) > 1 else factors[0]
    return np.trace(product) / len(product)


rng = np.random.default_rng(0)
A, R = np.diag([1.0, 2.0]), np.diag([1.0, 3.0])
numerator, first, second = tr(A @ R), tr(A @ A), tr(R @ R)  # (10) for any two symmetric matrices
printed, derived = numerator / (first**-0.5 * second**-0.5), numerator / (first**0.5 * second**0.5)
print(f"(10): {printed:.2f} with exponents -1/2, {derived:.2f} with +1/2; a correlation is at most 1")
B = np.eye(2)  # (19) for centred parts 0, A = B = 1: tr(RRR) is all that is left
print(f"(19): last term {tr(R) ** 3:g} as printed, {tr(R, R, R):g} as derived; tr(ARARBR) = {tr(B, R, B, R, B, R):g}")
n = 600  # (28): tr[R^2 A R^2 A] for a centred A and an R with independent eigenvectors
Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
centred, R = np.diag(np.tile([1.0, -1.0], n // 2)), Q * rng.uniform(1, 2, n) @ Q.T
word, square = tr(R, R, centred, R, R, centred), tr(R, R) ** 2
print(f"(28): word {word:.3f}; printed tr[A]^2 tr[R^2]^2 = {tr(centred) ** 2 * square:.3f}, "
      f"derived tr[A^2] tr[R^2]^2 = {tr(centred, centred) * square:.3f}")  # fmt: skip
assert printed > 1 >= derived
assert tr(centred) == 0
assert abs(word / square - 1) < 0.05
