"""In deep linear networks of L layers trained with weight decay cos(AGOP^(1/L), W_1^T W_1) is close to 1.

Other powers are worse, FACT's cosine is at least 0.999 at every depth, and the layers are balanced: their singular
values agree. "Close to 1": above 0.99; "identical" singular values: to 5 % of the largest.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, positive

ID = "C.fig11"
KIND = "statistical"
TITLE = "Deep linear networks: AGOP needs the power 1/L, FACT none"
PRINTED = "AGOP^(1/L) close to 1, FACT ≥ 0.999 for every depth, singular values identical, Figure 11"
QUANTITIES = ("cosine/agop", "cosine/fact", "balance", "null/agop", "null/fact")


def rule(rows: Rows) -> Finding:
    """Each depth by itself, Student's t over seeds; the best of the other powers is compared in Fisher's z."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), one in rows.by("case").items():
        agop = one.where(quantity="cosine/agop")
        at_power = {x: found.value[np.argsort(found.seed)] for (x,), found in agop.by("x").items()}
        own = at_power.pop(1 / int(case.removeprefix("L")))
        fact, balance = (one.where(quantity=name).value for name in ("cosine/fact", "balance"))
        others = np.max(list(at_power.values()), axis=0)
        lead = np.arctanh(np.minimum(own, 1 - 1e-15)) - np.arctanh(np.minimum(others, 1 - 1e-15))
        parts |= {
            f"{case}, AGOP": positive(own - 0.99, f"{case}: cosine of AGOP^(1/L) minus 0.99"),
            f"{case}, other powers": positive(lead, f"{case}: z of the power 1/L minus z of the best other"),
            f"{case}, FACT": positive(fact - 0.999, f"{case}: FACT's cosine minus 0.999"),
            f"{case}, balance": positive(0.05 - balance, f"{case}: 0.05 minus the spread of singular values"),
        }
        for name, values in (("agop", own), ("fact", fact)):  # tables of before it was measured have no null
            if len(null := one.where(quantity=f"null/{name}").value):
                lead = np.arctanh(np.minimum(values, 1 - 1e-15)) - np.arctanh(null)
                part = f"{case}, {name} above its null"
                parts[part] = positive(lead, f"z of {name} minus its null's 97.5 % quantile, where the table has one")
        numbers |= {f"{case}: AGOP^(1/L)": own.mean(), f"{case}: FACT": fact.mean(), f"{case}: spread": balance.mean()}
    found = every(**parts)
    return replace(found, numbers={**found.numbers, **{name: float(value) for name, value in numbers.items()}})
