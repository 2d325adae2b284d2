"""D.alg1: the listing's sum is n times the AGOP of the definition, and Fourier features of the next layer differ.

f(x) = w^T x has the gradient w at each of five points. The paper says that the AGOP of a linear function is the outer
product of the solution with itself. The features' kernel of two points at the distance d in the l1 norm is exp(-d).
"""

import numpy as np

n, w = 5, np.array([[0.6, -0.8]])
AGOP, kernel = w.T @ w, []
for M in (sum(w.T @ w for _ in range(n)), np.mean([w.T @ w for _ in range(n)], 0)):
    root = M / np.trace(M) ** 0.5  # of a matrix of rank one
    kernel.append(np.exp(-np.abs(root @ [1.0, 0.0]).sum()))
    print(f"{np.linalg.norm(M) / np.linalg.norm(AGOP):.0f} times the AGOP, kernel {kernel[-1]:.2f}")
assert np.allclose(M, AGOP)
assert np.isclose(np.log(kernel[0]) / np.log(kernel[1]), n**0.5)
