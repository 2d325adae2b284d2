"""For the quadratic network with a ~ N(0, I), W ~ N(0, I/k), M = X^T Y X: E[Wdot^T Wdot] = M^2 at every width, and
E[Wdot^T K Wdot] is a combination of tr(X^T X) M^2 and M X^T X M alone, with the coefficients 3/k and 1 + 5/k.
"""

from tasks.judge import Finding, Rows, equivalent, every

ID = "B.prop10"
KIND = "exact"
TITLE = "Expected derivatives of the quadratic network"
PRINTED = "E[ẆᵀKẆ] = 3 tr(XᵀX) M² + 6 M XᵀX M, Proposition 10"
CORRECTION = (
    "E[ẆᵀKẆ] = (3/k) tr(XᵀX) M² + (1 + 5/k) M XᵀX M: the print is its case k = 1, for its proof leaves out the pairs "
    "of different hidden units. For f = aᵀ(Wx)² as printed both expectations are 4 and 16 times these: the print's 𝒦 "
    "leaves out the 2 of the square's derivative."
)
FORMS = {
    "nfm": ("E[ẆᵀẆ]: 1 of M²",),
    "nfm, rest": ("0 of anything else",),
    "agop, trace": ("E[ẆᵀKẆ]: 3 of tr(XᵀX) M²", "3/k"),
    "agop, product": ("6 of M XᵀX M", "1 + 5/k"),
    "agop, rest": ("0 of anything else",),
}
NAMES = ("nfm", "nfm, rest", "agop, trace", "agop, product", "agop, rest")
QUANTITIES = tuple(f"prop10/{name}" for name in NAMES)
MARGIN = 0.05  # of each coefficient's relative error


def rule(rows: Rows) -> Finding:
    """Each coefficient at each width and data set: within the margin, over batches."""
    parts = {}
    for name in NAMES:
        groups = rows.where(quantity=f"prop10/{name}").by("case", "x")
        each = {(case, x): equivalent(one.value, MARGIN, "the relative error") for (case, x), one in groups.items()}
        parts[name] = every(**{f"{case}, {x:g}": one for (case, x), one in each.items()})
    return every(**parts)
