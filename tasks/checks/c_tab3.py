"""FACT-RFM is as accurate on tables as NFA-RFM, and both are more accurate than the kernel without feature learning.

Laplace kernel, by cross-validation; 120 UCI sets in the paper, here as many as "measured" says. Pairs are data sets.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, equivalent, every, positive

ID = "C.tab3"
KIND = "statistical"
TITLE = "FACT-RFM on tables"
PRINTED = "FACT-RFM 85.22 %, averaged 84.99 %, NFA-RFM 85.10 %, Laplace kernel 83.71 %, Table 3"
QUANTITIES = ("tabular/accuracy",)
SETS = 120  # the print's
MARGIN = 1.0  # percentage points between the two updates; the print's largest difference is 0.23


def rule(rows: Rows) -> Finding:
    """Paired by data set: each RFM above the kernel; FACT-RFM within a point of NFA-RFM (TOST)."""
    table = {
        method: 100 * one.value[np.argsort(one.seed)] for (method,), one in rows.by("layer").items()
    }  # fmt: skip
    parts = {}
    for method in ("NFA-RFM", "FACT-RFM", "FACT-RFM, averaged"):
        lead = table[method] - table["kernel"]
        found = positive(lead, f"{method}'s accuracy less the kernel's, in points", units="data sets")
        parts[f"{method} over kernel"] = replace(found, numbers={"mean accuracy": float(table[method].mean())})
    away = table["FACT-RFM"] - table["NFA-RFM"]
    same = equivalent(away, MARGIN, "FACT-RFM's accuracy less NFA-RFM's, in points", units="data sets")
    parts["updates alike"] = replace(same, numbers={"mean accuracy of the kernel": float(table["kernel"].mean())})
    means = ", ".join(f"{method} {values.mean():.2f} %" for method, values in table.items())
    of = f" of {SETS}" if set(rows.scale) == {"paper"} else ""
    return replace(every(**parts), measured=f"{len(table['kernel'])}{of} data sets: {means}")
