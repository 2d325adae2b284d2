"""Time the parts of paper B's Figure 3: a predicted and an observed correlation, a data set, and R's moments.

    PYTHONPATH=. python benchmarks/prediction.py [--size 1024] [--threads 1] [--rounds 3]

n = d = k = size, in float64. "n x n" computes the paper's (4) with the full matrix 𝒦 = X Wᵀ diag(a²) W Xᵀ.
"""

from timing import arguments, race, show

from gramlab.data.alignment import alignment_reversing
from gramlab.theory import centered_nfa, gaussian_moments, moments
from tasks.papers.centered_nfa.experiments.b_fig3 import network, observed


def main():
    options = arguments(__doc__, size=1024, threads=1, rounds=3)
    n = options.size
    a, W = network(n, 0)
    r = gaussian_moments(n, n)
    values = {}

    def sample_data():
        data_set = alignment_reversing(n, n, 0.25, scale=n**-0.8)
        values["X"], values["y"] = data_set.x_train, data_set.y_train

    def observe_with_kernels():
        X, y = values["X"], values["y"]
        scaled = X @ (a[:, None] * W).T
        kernel = scaled @ scaled.T
        nfm = X.T @ (y * (kernel @ (y * X)))
        agop = X.T @ (y * (kernel @ kernel @ (y * X)))
        values["n x n"] = float((nfm * agop).sum() / (nfm.norm() * agop.norm()))

    def observe():
        values["observed"] = observed(values["X"], values["y"], a, W)

    def predict():
        values["predicted"] = centered_nfa(values["X"], values["y"], r)

    candidates = {
        "one data set": sample_data,
        "one predicted value": predict,
        "one observed value": observe,
        "observed, n x n": observe_with_kernels,
        "R's moments of one network": lambda: moments(W.T @ W),
    }
    seconds = race(candidates, options.rounds)
    show(f"n = d = k = {n}", seconds, [("observed, n x n", "one observed value")])
    print(f"  observed {values['observed']:.4f} (n x n: {values['n x n']:.4f}), predicted {values['predicted']:.4f}")


if __name__ == "__main__":
    main()
