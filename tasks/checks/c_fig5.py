"""Sparse parities are learned through their support: more than half of the features' trace lies on k of d coordinates.

Both updates, AGOP (NFA-RFM) and FACT with geometric averaging (FACT-RFM), for those of the paper's k = 2, 3, 4 that
"measured" names, and the machine then predicts new samples. Ridge and iterate are those of the least leave-one-out
error.
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
    """For every k that was run and update, by seeds: mass on the support above 1/2, and test accuracy above 0.9."""
    least = {"mass": 0.5, "accuracy": 0.9}
    what = {"mass": "share of the trace on the support", "accuracy": "accuracy on new samples"}
    parts: dict[str, Finding] = {}
    for (case,), one in rows.by("case").items():
        for name in least:
            values = one.where(quantity=f"parity/chosen {name}").value
            found = positive(values - least[name], f"{what[name]} - {least[name]:g}")
            parts[f"{case}: {name}"] = replace(found, numbers={"mean": float(np.mean(values))})
    degrees = sorted({case.partition(",")[0].removeprefix("k = ") for case in rows.case.tolist()})
    masses = [part.numbers["mean"] for name, part in parts.items() if name.endswith("mass")]
    measured = f"k = {', '.join(degrees)}: on average {min(masses):.2f} or more of the trace on the support"
    return replace(every(**parts), measured=measured)
