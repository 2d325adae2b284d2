"""The NFM WᵀW of a trained first layer correlates with the AGOP WᵀKW; with random eigenvectors of K it does so less.

The network learned the chain monomial of rank 5. The correlation is the cosine ρ.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, fisher, matches, positive
from tasks.papers.centered_nfa.claims.shared.b_alignment_figure import draw as draw

ID = "B.fig1"
KIND = "statistical"
TITLE = "The NFA rests on the alignment of the weights with the tangent kernel's eigenvectors"
PRINTED = "ρ = 0.93 against 0.53, and K's eigenvalues spread by 5.9 times their mean, Figure 1 and Section 2.2"
QUANTITIES = ("nfa/K", "nfa/Q", "spread of K's eigenvalues")


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z; the evidence is a match of the print where both correlations pass that test."""
    K, Q = (curves(rows.where(quantity=name), "seed")[:, -1] for name in QUANTITIES[:2])
    found = every(above=positive(np.arctanh(K) - np.arctanh(Q), "z of ρ(F, WᵀKW) minus z of ρ(F, WᵀQW)"))
    for name, values in (("ρ(F, WᵀKW)", K), ("ρ(F, WᵀQW)", Q)):
        found.numbers.update(zip((name, f"{name}, low", f"{name}, high"), fisher(values), strict=True))
    if len(spread := rows.where(quantity=QUANTITIES[2])):
        found.numbers[QUANTITIES[2]] = float(spread.value.mean())
    evidence = "matches print" if matches(K, 0.93, 0.01) and matches(Q, 0.53, 0.01) else found.evidence
    return replace(found, evidence=evidence, measured=f"ρ = {fisher(K)[0]:.3f} against {fisher(Q)[0]:.3f}")
