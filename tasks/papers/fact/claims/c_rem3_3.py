"""Symmetrised forms: at critical points W^T W = FACT^T = sqrt(FACT FACT^T), and FACT is positive semi-definite (psd).

sqrt(FACT FACT^T) is psd everywhere. Away from critical points FACT is in general neither symmetric nor psd.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of
from tasks.papers.fact.claims.shared.critical_points import convergence
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.rem3.3"
KIND = "exact"
TITLE = "Symmetrisations of FACT"
PRINTED = "WᵀW = FACTᵀ = √(FACT FACTᵀ) at critical points, where FACT is psd, Remark 3.3"
QUANTITIES = ("fact/transposed/error", "fact/root/error", "fact/cone/error")
NOT_PSD = 1e-3  # least distance from the psd cone, relative to ||W^T W||, at the outermost points


def rule(rows: Rows) -> Finding:
    """All errors, FACT's distance from the psd cone among them, converge; the outermost points are not psd."""
    parts = convergence(rows, dict(zip(("transposed", "root", "psd cone"), QUANTITIES, strict=True)))
    return all_of(**parts, elsewhere=_not_psd(rows.where(quantity="fact/cone/error")))


def _not_psd(rows: Rows) -> Finding:
    # the outermost point of each ray lies a tenth of ||theta|| away
    distances = [ray.value[ray.x.argmax()] for ray in rows.by("case", "layer").values()]
    nearest = float(min(distances))
    text = f"a tenth of ||theta|| away FACT is more than {NOT_PSD:g} ||W^T W|| from every psd matrix, on every layer"
    return Finding(nearest > NOT_PSD, nearest, text, "exact", low=NOT_PSD)
