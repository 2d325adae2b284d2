"""B.egop: the EGOP of a chain of r coordinates has rank r - 2 if 4 divides r; the print has r for every r.

The gradient of the target at x is A x, with A the adjacency matrix of the cycle, so the EGOP is A^2 for inputs N(0, I).
"""

import numpy as np

for r in (5, 6, 8, 12):
    A = np.roll(np.eye(r), 1, axis=1) + np.roll(np.eye(r), -1, axis=1)
    rank, zeros = np.linalg.matrix_rank(A @ A), np.isclose(np.cos(2 * np.pi * np.arange(r) / r), 0).sum()
    print(f"r = {r}: rank {rank}; {zeros} of the eigenvalues 2 cos(2 pi j / r) of A are 0")
    assert rank == (r - 2 if r % 4 == 0 else r) == r - zeros
