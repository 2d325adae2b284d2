"""Of all networks a^T (Wx)^2 that represent x^T Q x, the least ||a||^2 + ||W||_F^2 is c sum_i sigma_i(Q)^(2/3).

Q is any symmetric d x d matrix, and the network has at least d neurons; at most d of them attain the least norm. A
neuron with |a| ||w||^2 = q costs at least 3 (q / 2)^(2/3), at a^2 = ||w||^2 / 2, so that c = 3 / 2^(2/3) = 1.8899.
"""

from dataclasses import replace

import numpy as np

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, exact

ID = "C.lemD.2"
KIND = "exact"
TITLE = "Least norm of a quadratic network"
PRINTED = "2 Σᵢ σᵢ(Q)^(2/3), Lemma D.2"
CORRECTION = (
    "3·2^(−2/3) = 1.8899 instead of 2, attained by a = sgn(λ)|λ/2|^(1/3), w = (2λ²)^(1/6) v. The printed network has "
    "a² = ‖w‖² and costs 5.8 % more: the proof uses a² + ‖w‖² ≥ 2(|a|‖w‖²)^(2/3), where equality needs a² = ‖w‖² and "
    "‖w‖ = 1. The theorem that uses it does not depend on the constant."
)
QUANTITIES = ("lemd2/ratio", "lemd2/represented", "lemd2/attained", "lemd2/search")
SETTINGS = ("instances",)


def rule(rows: Rows) -> Finding:
    """No network, random or optimised, costs less than the least norm; the construction represents Q at this cost."""
    finding = all_of(
        # a network of low rank represents each sigma_i = 0 up to round-off, whose 2/3 power enters the bound
        never_below=bound(rows.where(quantity="lemd2/ratio"), 1e-9),
        represented=exact(rows.where(quantity="lemd2/represented")),
        attained=exact(rows.where(quantity="lemd2/attained")),
    )
    search = float(np.median(rows.where(quantity="lemd2/search").value))
    return replace(finding, numbers={**finding.numbers, "least found for a given Q, median distance": search})
