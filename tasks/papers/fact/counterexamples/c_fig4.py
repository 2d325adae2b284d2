"""C.fig4: at the printed lambda = p one neuron is best, and AGOP and W^T W agree; at lambda = p / 100 they do not.

x_3 x_4 is fitted by q_1 (x_3 + x_4)^2 / 2 + q_2 (x_3 - x_4)^2 / 2. By C.lemD.2 a neuron of the form q costs
3 / 2^(5/3) |q|^(2/3), and its weight has the square (2 q^2)^(1/3). The gradients of one neuron lie along its weight.
"""

import numpy as np

p, tau, points = 1e-5, 0.02, [(u, v) for u in range(3) for v in range(3)]
q = np.stack(np.meshgrid(np.arange(-60, 61) / 100, np.arange(-60, 61) / 100), -1).reshape(-1, 2)
error = np.mean([(q @ [(u + v) ** 2 / 2, (u - v) ** 2 / 2] - u * v) ** 2 for u, v in points], 0)
one, several = (q[np.argmin(ratio * error + 3 / 2 ** (5 / 3) * np.sum(np.abs(q) ** (2 / 3), 1))] for ratio in (1, 100))
print(f"(q_1, q_2) at the minimum: {one} at lambda = p, as printed, and {several} at p / 100")
gram = np.diag(np.repeat([tau**2 / 2, 0.5], 2) ** (1 / 3))  # of four neurons, two for tau x_1 x_2 and two for x_3 x_4
gradients = np.array([[tau, tau, 0, 0], *([tau * b, tau * a, v, u] for a, b in points for u, v in points)])
agop = gradients.T * np.array([1 - p] + 81 * [p / 81]) @ gradients  # the point (1, 1, 0, 0), and all with probability p
cosine = np.sum(agop * gram) / np.linalg.norm(agop) / np.linalg.norm(gram)
print(f"cosine of AGOP and W^T W: 1 for one neuron, {cosine:.3f} for four")
assert one[0] > 0 == one[1]
assert several[0] > 0 > several[1]
assert cosine < 0.1
