"""C.fig4: at the printed lambda = p one neuron is best, and AGOP and W^T W agree; at lambda = p / 100 they do not.

x_3 x_4 is fitted by q_1 (x_3 + x_4)^2 / 2 + q_2 (x_3 - x_4)^2 / 2. By C.lemD.2 a neuron of the form q costs
3 / 2^(5/3) |q|^(2/3), and its weight has the square (2 q^2)^(1/3). The gradients of one neuron lie along its weight.
The rest of y is tau x_1 x_2, with tau = 0.02; t has the scale of each entry of y's gradient.
"""

import numpy as np

t, q, (u, v) = np.array([0.02, 0.02, 1, 1]), np.mgrid[-60:61, -60:61].reshape(2, -1).T / 100, np.divmod(range(9), 3)
error = np.mean((q @ np.stack([(u + v) ** 2, (u - v) ** 2]) / 2 - u * v) ** 2, 1)  # over x_3 and x_4 of 0, 1 and 2
q_p, q_less = (q[np.argmin(ratio * error + 3 / 2 ** (5 / 3) * np.sum(np.abs(q) ** (2 / 3), 1))] for ratio in (1, 100))
gram = np.diag((t**2 / 2) ** (1 / 3))  # of four neurons, two for tau x_1 x_2 and two for x_3 x_4
agop = np.outer(t, t) * (np.outer(t < 1, t < 1) * (1 - 1e-5) + (1 + 2 / 3 * np.eye(4)) * 1e-5)  # p = 1e-5
cosine = np.sum(agop * gram) / np.linalg.norm(agop) / np.linalg.norm(gram)
print(f"q at lambda = p: {q_p}, of one neuron: cosine 1; at p / 100: {q_less}, of several: cosine {cosine:.3f}")
assert q_p[0] > 0 == q_p[1] > q_less[1]
assert cosine < 0.1
