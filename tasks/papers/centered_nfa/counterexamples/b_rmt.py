"""B.rmt: (10) as printed has no bound of 1, (19) is off by its last term, and the last term of (28) is 0."""

import numpy as np

A, R = np.diag([1.0, -1.0]), np.diag([1.0, 3.0])
ten = 4 / (4**-0.5 * 4**-0.5), 4 / (4**0.5 * 4**0.5)  # for A = R = 2: tr[AR] = tr[A^2] = tr[R^2] = 4
nineteen = np.mean(np.diag(R)) ** 3, np.mean(np.diag(R @ R @ R))  # for centred parts 0 and A = B = 1, tr[RRR] is left
twenty_eight = np.mean(np.diag(A)) ** 2, np.mean(np.diag(A @ A))  # tr[R^2 A R^2 A] for a centred A and R = 1
for name, (printed, derived) in {"(10)": ten, "(19)": nineteen, "(28)": twenty_eight}.items():
    print(f"{name}: {printed:g} as printed, {derived:g} as derived")
    assert printed != derived
assert ten[0] > 1 >= ten[1]  # a correlation is at most 1
