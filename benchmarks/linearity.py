"""Time target linearity and surrogate against the formulas of paper A and of its authors' code.

    python benchmarks/linearity.py [--n 50000] [--threads 1] [--rounds 3]

d = 256 features, 10 classes. Two forms use n × n matrices: the surrogate through G = Z Zᵀ, as the authors of paper A
compute it, and the target linearity through the identity ‖Y − Ŷ‖² = λ² Yᵀ(λI + HHᵀ)⁻²Y, where the authors have an
inverse. They need 4 n² bytes in float32 (10 GB at n = 50,000). The identity also needs an n × n Cholesky factor, so it
is timed at a smaller n.
"""

import torch
from timing import arguments, race, show

import gramlab


def main():
    options = arguments(__doc__, n=50_000, identity_n=8_000, threads=1, rounds=3)
    H, W = torch.randn(options.n, 256), torch.randn(256, 256) / 16
    Y = torch.nn.functional.one_hot((H[:, :10] + torch.randn(options.n, 10)).argmax(1), 10).float()
    Y -= Y.mean(0)
    values = {}

    def surrogate():
        values["surrogate"] = gramlab.surrogate(H, W, Y)

    def surrogate_n_by_n():
        Z = H @ W.T
        G = Z @ Z.T
        values["n x n"] = float(torch.linalg.multi_dot((Y.T, G, Y)).trace())

    seconds = race({"gramlab": surrogate, "n x n": surrogate_n_by_n}, options.rounds, warm=False)
    show(f"surrogate, n = {options.n}", seconds, [("n x n", "gramlab")])
    print(f"  relative difference {abs(values['n x n'] / values['surrogate'] - 1):.1e}")

    ridge, n = 1.0, options.identity_n

    def linearity():
        values["linearity"] = gramlab.target_linearity(H[:n], Y[:n], ridge=ridge)

    def identity():
        A, T = H[:n].double(), Y[:n].double()
        factor = torch.linalg.cholesky(ridge * torch.eye(n, dtype=torch.float64) + A @ A.T)
        residual = ridge * torch.cholesky_solve(T, factor)
        values["identity"] = 1 - float(residual.square().sum() / (T - T.mean(0)).square().sum())

    seconds = race({"gramlab": linearity, "n x n": identity}, options.rounds, warm=False)
    show(f"target linearity with a ridge, n = {n}", seconds, [("n x n", "gramlab")])
    print(f"  difference {abs(values['identity'] - values['linearity']):.1e}")


if __name__ == "__main__":
    main()
