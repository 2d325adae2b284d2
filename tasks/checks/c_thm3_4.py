"""For any s, eps there are p, tau, lambda with corr(AGOP^s, W^T W) < eps at the minimiser on D(p, tau); FACT holds.

As in the proof tau = eps^3, p = eps^8 and lambda = eps^32 p; it finds corr of the order eps^min(2, 2s). (The network
that it begins with represents f* with a_2 = a_3 = -tau/2 and a_5 = a_6 = -1/2; printed are -tau and -1.)
"""

from tasks.judge import Finding, Rows, below, every, none, order

ID = "C.thm3.4"
KIND = "exact"
TITLE = "Data that separate FACT from the neural feature ansatz"
PRINTED = "corr(AGOP^s, WᵀW) < ε for any s > 0; of the order ε^(2s) + ε² in the proof, Theorem 3.4"
QUANTITIES = ("thm3.4/correlation", "thm3.4/fact", "thm3.4/no minimum")


def rule(rows: Rows) -> Finding:
    """At strict minima: corr falls as eps^min(2, 2s), W^T W and FACT differ by less than 1e-9 at every eps."""
    parts: dict[str, Finding] = {}
    for (case,), one in rows.where(quantity="thm3.4/correlation").by("case").items():
        parts[case] = order(one, min(2.0, 2 * float(case.removeprefix("s = "))))
    return every(
        **parts,
        fact=below(rows.where(quantity="thm3.4/fact"), 1e-9),
        minimum=none(rows.where(quantity="thm3.4/no minimum"), "point other than a strict minimum"),
    )
