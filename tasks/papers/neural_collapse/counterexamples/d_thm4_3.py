"""D.thm4.3: with the printed kappa the recursion stops at a distance of first order in lambda_k; with ours, of second.

One class of one sample, y = 1. A layer solves (A + lambda_k) alpha = 1 with A = G + 1 (lambda_Phi = 1) and gives
G' = (A alpha)^2 / kappa.
"""

import math

orders = []
for name, factor in (("printed, 1 + 1 / lambda_Phi", 2.0), ("corrected, 1 / (lambda_Phi + n)", 0.5)):
    distances = []
    for ridge in (0.01, 0.001):  # lambda_k
        G = 1.1
        for _ in range(80):
            G = ((G + 1) / (G + 1 + ridge)) ** 2 / (1 - 2 * ridge * factor)
        distances.append(abs(G - 1))
    orders.append(math.log10(distances[0] / distances[1]))
    print(f"{name}: {distances[0]:.1e} at lambda_k = 0.01, {distances[1]:.1e} at 0.001: order {orders[-1]:.2f}")
assert abs(orders[0] - 1) < 0.1
assert abs(orders[1] - 2) < 0.1
