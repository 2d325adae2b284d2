"""Symmetrised forms: W^T W = FACT^T = sqrt(FACT FACT^T) at critical points, and only there is FACT sure to be psd.

sqrt(FACT FACT^T) is psd everywhere, FACT is neither symmetric nor psd away from critical points.
"""

import numpy as np

from tasks.judging.rules import Finding, Rows, below, every, order
from tasks.papers.fact.claims.shared.c_thm3_1_figure import draw as draw

ID = "C.rem3.3"
KIND = "exact"
TITLE = "Symmetrisations of FACT"
PRINTED = "WᵀW = FACTᵀ = √(FACT FACTᵀ) at critical points, where FACT is psd, Remark 3.3"
QUANTITIES = ("fact/transposed/error", "fact/root/error", "fact/cone/error")


def rule(rows: Rows) -> Finding:
    """Errors and FACT's distance to the psd cone: slope 1 in the gradient's norm, ends below 1e-9, not psd far out."""
    parts: dict[str, Finding] = {}
    for name, quantity in zip(("transposed", "root", "psd cone"), QUANTITIES, strict=True):
        one = rows.where(quantity=quantity)
        parts |= {f"slope of {name}": order(one, 1), f"end of {name}": below(one, 1e-9)}
    return every(**parts, elsewhere=_not_psd(rows.where(quantity="fact/cone/error")))


def _not_psd(rows: Rows) -> Finding:
    # the outermost point of each ray lies a tenth of ||theta|| away
    far = np.array([one.value[one.x.argmax()] for one in rows.by("case", "layer").values()])
    says = "a tenth of ||theta|| away FACT is more than 1e-3 ||W^T W|| from every psd matrix, on every layer"
    return Finding(bool(far.min() > 1e-3), float(far.min()), says, "exact", low=1e-3)
