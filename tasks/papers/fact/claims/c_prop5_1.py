"""For inner-product kernels k(x^T M x') AGOP and FACT M^T are one sum over pairs of samples, with two similarities.

AGOP = sum_ij tau_ij M x_i alpha_i^T alpha_j x_j^T M^T with tau_ij = (1/n) sum_l k'(x_l^T M x_i) k'(x_l^T M x_j), and
FACT M^T the same with k'(x_i^T M x_j) for tau. FACT M^T is psd under a condition on k, and then the update
M <- (FACT M M FACT^T)^(1/4) is M <- (FACT M)^(1/2).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, below, every, exact

ID = "C.prop5.1"
KIND = "exact"
TITLE = "AGOP and FACT of inner-product kernels"
PRINTED = "FACT·Mᵀ is psd when k is non-increasing, Proposition 5.1"
CORRECTION = (
    "FACT·Mᵀ is psd when k is a kernel in every dimension, that is, when its power series has no negative coefficient "
    "(then k′ is one too, and k′(xᵢᵀMxⱼ)·αᵢᵀαⱼ is a Schur product of psd matrices); exp(t) and t², the examples "
    "given, are. A non-increasing k has k′ ≤ 0, and with one sample FACT·Mᵀ = k′·Mx αᵀα xᵀM is then "
    "negative; a k that merely increases, as tanh, does not suffice either. Both printed sums are right."
)
QUANTITIES = ("prop51/agop", "prop51/fact", "prop51/update", "prop51/negative")


def rule(rows: Rows) -> Finding:
    """Both sums equal autograd's to round-off; FACT M is symmetric, its least eigenvalue above -1e-9 of its norm."""
    parts = {what: exact(rows.where(quantity=f"prop51/{what}")) for what in ("agop", "fact", "update")}
    return every(**parts, psd=below(rows.where(quantity="prop51/negative"), 1e-9))
