"""The numerator and both denominators of the centered NFA's ratio factor into moments of data and of weights.

Every printed equation is judged by itself. (10), (17), (19), (21), (23)-(27) are identities of any matrices, to
round-off. (6), (20), (22), (28) hold for a sampled network with its own moments of R, up to a relative error that falls
with the size. So do the prediction of the ratio (10) from the limit of R's moments, and (11).
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, equivalent, every, exact, rate

ID = "B.rmt"
KIND = "statistical"
TITLE = "The random-matrix prediction of the centered NFA, term by term"
PRINTED = "(6), (10), (11), (17)–(28), Section 3.2 and Appendix E"
CORRECTION = (
    "(10): its denominator's roots have exponent +1/2, as in (4), not −1/2. (19): the last term has tr[R³], "
    "not tr[R]³. (28): the last term is tr[Ā²] tr[B]² tr[R²]², not tr[Ā]² tr[B²] tr[R²]², which is 0."
)
EXACT = ("(10)", "(17)", "(19)", "(21)", "(23)", "(24)", "(25)", "(26)", "(27)")
FREE = ("(6)", "(20)", "(22)", "(28)")
FALLING = ("(10), predicted", "(11)")
QUANTITIES = tuple(f"rmt/{equation}" for equation in (*EXACT, *FREE, *FALLING))
RELATIVE, ABSOLUTE = 0.05, 0.03  # margins of mean errors at the largest size: of traces, and of correlations


def rule(rows: Rows) -> Finding:
    """Each equation of which there are rows: exact, or with an error that falls and has the mean 0 in the end."""
    parts: dict[str, Finding] = {}
    for equation in (*EXACT, *FREE, *FALLING):
        found = rows.where(quantity=f"rmt/{equation}")
        if not len(found):
            continue  # a control touches some of them
        if equation in EXACT:
            parts[equation] = exact(found)
            continue
        last = found.where(x=found.x.max())
        at_last = np.array([one.value.mean() for one in last.by("seed").values()])
        margin, what = (RELATIVE, "relative error") if equation in FREE else (ABSOLUTE, "difference of correlations")
        parts[f"{equation}, falls"] = falls(found)
        parts[f"{equation}, limit"] = equivalent(at_last, margin, f"the mean {what} at the largest size")
    return every(**parts)


def falls(rows: Rows) -> Finding:
    """The root mean square error's slope in the size is negative; also by how much, for the report."""
    found = rate(rows, -1)
    low, high = found.low or 0.0, found.high or 0.0
    holds = True if high < 0 else (False if low > 0 else None)
    return replace(found, holds=holds, rule="the slope of the root mean square error is negative, jackknife at 95 %")
