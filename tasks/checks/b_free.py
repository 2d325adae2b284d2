"""Traces of alternating words of two free families, one of them centred, factor as (12)-(15) say.

For large random matrices with independent eigenvectors the identities hold up to an error that falls as 1/size.
"""

from tasks.judge import Finding, Rows, equivalent, every, rate

ID = "B.free"
KIND = "statistical"
TITLE = "Alternating words of free families"
PRINTED = "(12)–(15), Appendix E.1"
EQUATIONS = ("(12)", "(13)", "(14)", "(15)")
QUANTITIES = tuple(f"free/{equation}" for equation in EQUATIONS)
MARGIN = 0.02  # of the mean error at the largest size, where tr[C²] = tr[R²] = 1


def rule(rows: Rows) -> Finding:
    """For each identity: errors fall as 1/size, and their mean at the largest size is 0."""
    parts = {}
    for equation in EQUATIONS:
        found = rows.where(quantity=f"free/{equation}")
        parts[f"{equation}, rate"] = rate(found, -1)
        parts[f"{equation}, limit"] = equivalent(found.where(x=found.x.max()).value, MARGIN, "the mean error")
    return every(**parts)
