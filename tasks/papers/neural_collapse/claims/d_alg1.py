"""gramlab.DeepRFM is Algorithm 1: normalise, interpolate labels of ±1, take the AGOP M, X -> Phi(M^{1/2} X), repeat.

Kernels are Laplace and Gaussian; features are ReLU and the random Fourier features of the l1 kernel (Appendix C). M is
the mean over samples (Section 3.3), where the listing of Algorithm 1 has the sum. The two differ by the scale of the
data, which only Fourier features see. Features are random; their inner products must be those of their kernel.
"""

from dataclasses import replace

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact
from tasks.papers.neural_collapse.claims.shared.standard_errors import within_standard_errors

ID = "D.alg1"
KIND = "exact"
TITLE = "Deep RFM is Algorithm 1"
PRINTED = "Algorithm 1, Appendix C"
QUANTITIES = ("alg1/agop", "alg1/projected", "alg1/features", "alg1/normalised", "alg1/dual", "alg1/away")


def rule(rows: Rows) -> Finding:
    """Each step of every layer to round-off; inner products of random features within 4 standard errors."""
    quantities = {name.removeprefix("alg1/"): rows.where(quantity=name) for name in QUANTITIES}
    return all_of(
        **{
            name: within_standard_errors(part_rows) if name == "away" else _steps(part_rows)
            for name, part_rows in quantities.items()
            if len(part_rows)
        }
    )


def _steps(rows: Rows) -> Finding:
    words = "in all four kinds every float64 residual <= 8 u, and residuals shrink from float32 by 2^25 to 2^33"
    return replace(exact(rows, cases=4), rule=words)
