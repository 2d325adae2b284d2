"""Paper B's Figure 3, value by value: a predicted and an observed correlation, and what stands around them.

    PYTHONPATH=. python benchmarks/prediction.py [--size 1024] [--threads 1] [--rounds 3]

n = d = k = size, in float64. The forms in n × n are the paper's (4), with 𝒦 = X Wᵀ diag(a²) W Xᵀ spelled out.
"""

import argparse

import torch
from timing import race, show

from gramlab.data.alignment import alignment_reversing
from gramlab.theory import centered_nfa, gaussian_moments, moments
from tasks.papers.centered_nfa.experiments.b_fig3 import network, observed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    n = options.size
    a, W = network(n, 0)
    r = gaussian_moments(n, n)
    kept = {}

    def data():
        made = alignment_reversing(n, n, 0.25, scale=n**-0.8)
        kept["X"], kept["y"] = made.x_train, made.y_train

    def kernels():
        X, y = kept["X"], kept["y"]
        scaled = X @ (a[:, None] * W).T
        kernel = scaled @ scaled.T
        nfm = X.T @ (y * (kernel @ (y * X)))
        agop = X.T @ (y * (kernel @ kernel @ (y * X)))
        kept["n x n"] = float((nfm * agop).sum() / (nfm.norm() * agop.norm()))

    def seen():
        kept["observed"] = observed(kept["X"], kept["y"], a, W)

    def predicted():
        kept["predicted"] = centered_nfa(kept["X"], kept["y"], r)

    candidates = {
        "one data set": data,
        "one predicted value": predicted,
        "one observed value": seen,
        "observed, n x n": kernels,
        "R's moments of one network": lambda: moments(W.T @ W),
    }
    seconds = race(candidates, options.rounds)
    show(f"n = d = k = {n}", seconds, [("observed, n x n", "one observed value")])
    print(f"  observed {kept['observed']:.4f} (n x n: {kept['n x n']:.4f}), predicted {kept['predicted']:.4f}")


if __name__ == "__main__":
    main()
