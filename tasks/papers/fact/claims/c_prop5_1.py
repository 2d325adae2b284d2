"""For inner-product kernels k(x^T M x') AGOP and FACT M^T are the same sum over pairs, with different similarities.

AGOP = sum_ij tau_ij M x_i alpha_i^T alpha_j x_j^T M^T with tau_ij = (1/n) sum_l k'(x_l^T M x_i) k'(x_l^T M x_j), and
FACT M^T has k'(x_i^T M x_j) in place of tau_ij. Under a condition on k, FACT M^T is positive semi-definite (psd), and
then the update M <- (FACT M M FACT^T)^(1/4) equals M <- (FACT M)^(1/2).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, below, exact

ID = "C.prop5.1"
KIND = "exact"
TITLE = "AGOP and FACT of inner-product kernels"
PRINTED = "FACT·Mᵀ is psd when k is non-increasing, Proposition 5.1"
CORRECTION = (
    "FACT·Mᵀ is psd when k is a kernel in every dimension, that is, when its power series has no negative coefficient. "
    "Then k′ is a kernel too, and k′(xᵢᵀMxⱼ)·αᵢᵀαⱼ is a Schur product of psd matrices. The examples given, exp(t) and "
    "t², are such kernels. A non-increasing k has k′ ≤ 0, so that with one sample FACT·Mᵀ = k′·Mx αᵀα xᵀM is negative. "
    "An increasing k, such as tanh, does not suffice either. Both printed sums are correct."
)
QUANTITIES = ("prop51/agop", "prop51/fact", "prop51/update", "prop51/negative")


def rule(rows: Rows) -> Finding:
    """Both sums equal autograd's to round-off; FACT M is symmetric, its least eigenvalue above -1e-9 of its norm."""
    parts = {name: exact(rows.where(quantity=f"prop51/{name}")) for name in ("agop", "fact", "update")}
    return all_of(**parts, psd=below(rows.where(quantity="prop51/negative"), 1e-9))
