"""Symmetrised forms of FACT equal W^T W at critical points, and FACT is positive semi-definite (psd) there.

On the way to a critical point each error falls in proportion to the gradient (slope 1), and it is at most 10^-9 ||W^T
W|| at the end. Away from critical points FACT is in general neither symmetric nor psd; sqrt(FACT FACT^T) is psd
everywhere. The controls end at a point that is not critical, or take twice the lambda.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Grid, Statement
from tasks.papers.fact.claims.shared.critical_points import END, controls, critical_point, vanishes
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.rem3.3"
KIND = "exact"
TITLE = "Symmetrisations of FACT"
PRINTED = "WᵀW = FACTᵀ = √(FACT FACTᵀ) at critical points, where FACT is psd, Remark 3.3"
MATH = (
    r"W^\top W = \text{FACT}^\top = \sqrt{\text{FACT}\; \text{FACT}^\top} \quad\text{where } \nabla_W "
    r"\mathcal{L}_\lambda = 0"
)


def indefinite_elsewhere(rows: Rows) -> Finding:
    """Farthest from the critical point FACT is not psd on at least one layer of one network."""
    distances = [float(ray.value[ray.x.argmax()]) for ray in rows.by("case", "layer").values()]
    farthest = max(distances)
    text = (
        "largest distance of FACT from the psd matrices, over ||W^T W||, at a tenth of ||theta|| from the critical "
        f"point: above {END:g}"
    )
    numbers = {"share of the layers": sum(distance > END for distance in distances) / len(distances),
               "nearest to a psd matrix": min(distances)}  # fmt: skip
    measured = f"away from critical points FACT is up to {farthest:.2g} ‖WᵀW‖ from the nearest psd matrix"
    return Finding(farthest > END, farthest, text, "exact", low=END, numbers=numbers, measured=measured)


GRIDS = {
    f"fact/{name}/error": Grid(layers=("first", "second", "last"), x=26) for name in ("transposed", "root", "cone")
}
CONTROLS = controls("FACT")
STATEMENTS = (
    Statement(
        name="transposed",
        quote="since WᵀW = (WᵀW)ᵀ, we may conclude that at the critical points of the loss WᵀW = FACTᵀ also holds.",
        place="Remark 3.3",
        rule=vanishes,
        reads=("fact/transposed/error",),
        printed="WᵀW = FACTᵀ",
    ),
    # the text that we quote from has lost FACT under the root: it ends in WᵀW = √(FACTᵀ), which the sentence's own
    # identity does not give. Table 2 has √(FACT FACTᵀ), with reference to this remark. So the quotation ends before.
    Statement(
        name="root of the product",
        quote="Similarly, using that WᵀW = √((WᵀW)(WᵀW)ᵀ), we may also conclude that at critical points",
        place="Remark 3.3",
        rule=vanishes,
        reads=("fact/root/error",),
        printed="WᵀW = √(FACT FACTᵀ)",
    ),
    Statement(
        name="psd at critical points",
        quote="the quantity FACT is only guaranteed to be p.s.d. at critical points of the loss",
        place="Remark 3.3",
        rule=vanishes,
        reads=("fact/cone/error",),
        printed="FACT psd at critical points",
    ),
    Statement(
        name="not psd elsewhere",
        quote="FACT is not necessary p.s.d. when the network is not at a critical point of the loss",
        place="Appendix E",
        rule=indefinite_elsewhere,
        printed="FACT not necessarily psd",
        reads=("fact/cone/error",),
        stands_in="Each control measures FACT away from a critical point too, and so agrees. The rule fails on a "
        "planted table of which every FACT is psd.",
    ),
)
HYPOTHESES = critical_point("fact/transposed/error")
