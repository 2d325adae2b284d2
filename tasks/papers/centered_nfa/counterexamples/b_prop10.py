"""B.prop10: for n = d = x = y = 1 the expectation is 1 + 8/k at width k; the print has 9 at every width."""

import numpy as np

rng = np.random.default_rng(0)
for k in (1, 4):
    a, w = rng.normal(size=(400_000, k)), rng.normal(size=(400_000, k)) / k**0.5
    measured = np.mean(np.sum(a**2 * w**2, 1) ** 2)  # of K^2; by the weights W'^T W' = K and W'^T K W' = K^2
    exact = (3 * 3 * k + k * (k - 1)) / k**2  # E a^4 E w^4 of k single units, and the pairs of different units
    print(f"k = {k}: measured {measured:.2f}; printed 3 + 6 = 9, corrected 3/k + 1 + 5/k = {3 / k + 1 + 5 / k:.2f}")
    assert np.isclose(exact, 3 / k + 1 + 5 / k)
    assert abs(measured - exact) < 0.1 * exact
assert abs(measured - 9) > 1
