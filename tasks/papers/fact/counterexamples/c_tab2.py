"""C.tab2: at the printed weight decay, weights that no sample reaches hardly decay in Table 2's 3,200 steps.

In such a direction FACT is 0, and W^T W is not until the weights have decayed.
"""

import math

rate, momentum, steps = 0.1, 0.9, 3200  # 200 epochs of 1,000 samples in batches of 64, cosine schedule


def left(decay):
    """Return the share of a weight without a gradient of its own that is left after training."""
    weight, velocity = 1.0, 0.0
    for step in range(steps):
        velocity = momentum * velocity + decay * weight
        weight -= rate * (1 + math.cos(math.pi * step / steps)) / 2 * velocity
    return weight


for decay in (1e-4, 1e-3):
    print(
        f"weight decay {decay:g}: {left(decay):.3f} of the initial weight is left, {left(decay) ** 2:.3f} of its square"
    )
assert left(1e-4) > 0.8
assert left(1e-3) < 0.25
