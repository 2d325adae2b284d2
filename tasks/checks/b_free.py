"""Traces of alternating words of two free families, one of them centred, factor as (12)-(15) say.

For large random matrices with independent eigenvectors the identities hold up to an error that falls as 1/size.
"""

from tasks.judge import Finding, Rows, equivalent, every, rate

ID = "B.free"
KIND = "statistical"
TITLE = "Alternating words of free families"
PRINTED = "(12)–(15), Appendix E.1"
EQUATIONS = ("(12)", "(13)", "(14)", "(15)")
FORMS = {
    "(12)": ("tr[C̄₁R₁] = 0",),
    "(13)": ("tr[C̄₁R₁C̄₂R₂] = tr[R₁] tr[R₂] tr[C̄₁C̄₂]",),
    "(14)": ("tr[C̄₁R₁C̄₂R₂C̄₃R₃] = tr[R₁] tr[R₂] tr[R₃] tr[C̄₁C̄₂C̄₃]",),
    "(15)": (
        "tr[C̄₁R₁C̄₂R₂C̄₃R₃C̄₄R₄] = tr[R₁] tr[R₂] tr[R₃] tr[R₄] tr[C̄₁C̄₂C̄₃C̄₄] + tr[R₁] tr[R₃] tr[R̄₂R̄₄] tr[C̄₁C̄₂] tr[C̄₃C̄₄] "
        "+ tr[R₂] tr[R₄] tr[R̄₁R̄₃] tr[C̄₂C̄₃] tr[C̄₁C̄₄]",
    ),
}
QUANTITIES = tuple(f"free/{equation}" for equation in EQUATIONS)
MARGIN = 0.02  # of the mean error at the largest size, where tr[C²] = tr[R²] = 1


def rule(rows: Rows) -> Finding:
    """For each identity: errors fall as 1/size, and their mean at the largest size is 0."""
    parts = {}
    for equation in EQUATIONS:
        found = rows.where(quantity=f"free/{equation}")
        last = found.where(x=found.x.max()).value
        parts[equation] = every(rate=rate(found, -1), limit=equivalent(last, MARGIN, "the mean error"))
    return every(**parts)
