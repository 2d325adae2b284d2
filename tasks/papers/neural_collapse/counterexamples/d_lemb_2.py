"""D.lemB.2: for two samples of one class y y^T (A*)^-1 = y y^T / (lambda + n), and not (1 + 1 / lambda) y y^T."""

import numpy as np

y, n, ridge = np.array([[1.0], [1.0]]), 2, 0.5
outer = y @ y.T
inverse = np.linalg.inv(outer + ridge * np.eye(n))
product = outer @ inverse
print(f"entry of y y^T (A*)^-1: {product[0, 0]:.3f}; printed {1 + 1 / ridge:.3f}, corrected {1 / (ridge + n):.3f}")
assert np.allclose(inverse, (np.eye(n) - outer / (ridge + n)) / ridge)  # as printed
assert np.allclose(product, outer / (ridge + n))
assert not np.allclose(product, (1 + 1 / ridge) * outer)
