"""C.tab2, C.tab2.MNIST: at the printed weight decay, weights that no sample reaches hardly decay in 3,200 steps.

FACT maps such a direction to 0, and W^T W does not until the weights have decayed.
"""

import numpy as np

decay, weight, velocity = np.array([1e-4, 1e-3]), np.ones(2), np.zeros(2)
for step in range(3200):  # 200 epochs of 1,000 samples in batches of 64; rate 0.1, momentum 0.9, cosine schedule
    velocity = 0.9 * velocity + decay * weight
    weight = weight - 0.1 * (1 + np.cos(np.pi * step / 3200)) / 2 * velocity
print(f"of the weight is left: {weight[0]:.3f} with the decay 0.0001, {weight[1]:.3f} with 0.001")
print(f"of its square is left: {weight[0] ** 2:.3f} with the decay 0.0001, {weight[1] ** 2:.3f} with 0.001")
assert weight[1] < 0.25 < 0.8 < weight[0]
