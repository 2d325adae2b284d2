"""C.tab2: at the printed weight decay, weights that no sample reaches hardly decay in Table 2's 3,200 steps.

In such a direction FACT is 0, and W^T W is not until the weights have decayed.
"""

import math

left = {}
for decay in (1e-4, 1e-3):
    weight, velocity = 1.0, 0.0
    for step in range(3200):  # 200 epochs of 1,000 samples in batches of 64; rate 0.1, momentum 0.9, cosine schedule
        velocity = 0.9 * velocity + decay * weight
        weight -= 0.1 * (1 + math.cos(math.pi * step / 3200)) / 2 * velocity
    left[decay] = weight
    print(f"weight decay {decay:g}: {weight:.3f} of the initial weight is left, {weight**2:.3f} of its square")
assert left[1e-4] > 0.8
assert left[1e-3] < 0.25
