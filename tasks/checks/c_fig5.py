"""Sparse parities are learned through their support: more than half of the features' trace lies on k of d coordinates.

Both updates, AGOP (NFA-RFM) and FACT with geometric averaging (FACT-RFM), for k = 2, 3, 4 (2 and 3 at the quick scale),
and the machine then predicts new samples. Ridge and iterate are those of the least leave-one-out error.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, positive

ID = "C.fig5"
KIND = "statistical"
TITLE = "Features of sparse parities"
PRINTED = "low-rank features on the support for k = 2, 3, 4, Figure 5 (as pictures)"
QUANTITIES = ("parity/chosen mass", "parity/chosen accuracy", "parity/feature")


def rule(rows: Rows) -> Finding:
    """For every k and update, by seeds: mass on the support above 1/2, and test accuracy above 0.9."""
    least = {"mass": 0.5, "accuracy": 0.9}
    what = {"mass": "share of the trace on the support", "accuracy": "accuracy on new samples"}
    parts: dict[str, Finding] = {}
    for (case,), one in rows.by("case").items():
        for name in least:
            values = one.where(quantity=f"parity/chosen {name}").value
            found = positive(values - least[name], f"{what[name]} - {least[name]:g}")
            parts[f"{case}: {name}"] = replace(found, numbers={"mean": float(np.mean(values))})
    return every(**parts)
