"""Compute observed and predicted centered NFA on alignment-reversing data by the scale of X₁ and the balance.

    PYTHONPATH=. python benchmarks/alignment_scale.py [--size 1024] [--networks 30]

n = d = k = size, in float64, with the first data seed and one network; R's moments are means over other networks. The
script prints the rows of two tables in docs/centered_nfa.md, of the observed correlation and of that of XᵀX and XᵀYX,
the largest error of the prediction, and the balances at which (28) as printed is negative and gives no correlation.
"""

import argparse

import numpy as np

import gramlab
from gramlab.data.alignment import alignment_reversing
from gramlab.theory import centered_nfa, moments
from gramlab.theory.nfa import statistics
from tasks.papers.centered_nfa.experiments.b_fig3 import network, observed
from tasks.papers.centered_nfa.experiments.shared.appendix_e import printed

POWERS = (0.0, 0.75, 0.775, 0.8, 0.825, 0.85)
BALANCES = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--networks", type=int, default=30)
    options = parser.parse_args()
    n = options.size
    a, W = network(n, 0)
    others = (network(n, number) for number in range(1, options.networks + 1))
    r = np.mean([moments(scaled.T @ scaled) for scaled in (a[:, None] * W for a, W in others)], axis=0).tolist()
    for power in POWERS:
        correlations, inputs, errors, negative = [], [], [], []
        for balance in BALANCES:
            data = alignment_reversing(n, n, balance, scale=n**-power, seed=0)
            X, y = data.x_train, data.y_train
            correlations.append(observed(X, y, a, W))
            errors.append(centered_nfa(X, y, r) - correlations[-1])
            M, B = statistics(X, y)
            inputs.append(gramlab.cosine(B, M))
            if printed(M @ M, B)(r)[2] <= 0:
                negative.append(balance)
        for values in (correlations, inputs):
            print(f"| d^−{power:g} |", " | ".join(f"{value:.2f}" for value in values), "|", flush=True)
        print(f"    off by at most {np.abs(errors).max():.3f}; (28) as printed is negative at {negative}")


if __name__ == "__main__":
    main()
