"""D.thm4.3: with the printed kappa the recursion stops at a distance of first order in lambda_k; with ours, of second.

One class of one sample, y = 1. A layer solves (A + lambda_k) alpha = 1 with A = G + 1 (lambda_Phi = 1) and gives
G' = (A alpha)^2 / kappa.
"""

import numpy as np

ridge, distances = np.array([0.01, 0.001]), []  # lambda_k
for factor in (2.0, 0.5):  # 1 + 1 / lambda_Phi as printed, 1 / (lambda_Phi + n) as corrected
    G = np.array([1.1, 1.1])
    for _ in range(80):
        G = ((G + 1) / (G + 1 + ridge)) ** 2 / (1 - 2 * ridge * factor)
    distances.append(abs(G - 1))
    print(f"factor {factor}: {distances[-1][0]:.1e} at lambda_k = 0.01, {distances[-1][1]:.1e} at 0.001")
orders = np.log10([coarse / fine for coarse, fine in distances])
assert np.allclose(orders, [1, 2], atol=0.1)
