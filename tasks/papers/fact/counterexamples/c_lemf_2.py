"""C.lemF.2: with the printed ridge lambda the dual weights are not -l' / (n lambda); with n lambda they are."""

import numpy as np

K, Y, ridge = np.eye(2), np.array([1.0, 2.0]), 0.5
n = len(Y)
for name, factor in (("lambda, as printed", 1), ("n lambda", n)):
    alpha = np.linalg.solve(K + factor * ridge * np.eye(n), Y)
    slopes = K @ alpha - Y  # l'(f(x_i), y_i) of l = (f - y)^2 / 2
    right = -slopes / (n * ridge)
    print(f"ridge {name}: alpha = {alpha}, -l' / (n lambda) = {right}")
    assert np.allclose(alpha, right) == (factor == n)
