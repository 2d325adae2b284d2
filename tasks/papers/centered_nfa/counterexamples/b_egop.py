"""B.egop: the EGOP of a chain of r coordinates has rank r - 2 if 4 divides r; the print has r for every r."""

import numpy as np

for r in range(3, 13):
    neighbours = np.roll(np.eye(r, dtype=int), 1, axis=1)
    A = neighbours + neighbours.T  # the gradient of the target at x is A x, and its outer product has the mean A^2
    rank = np.linalg.matrix_rank(A @ A)
    zeros = sum(np.isclose(np.cos(2 * np.pi * np.arange(r) / r), 0))
    print(f"r = {r}: rank {rank}; {zeros} of the eigenvalues 2 cos(2 pi j / r) are 0")
    assert rank == r - zeros
    assert zeros == (0 if r % 4 else 2)
