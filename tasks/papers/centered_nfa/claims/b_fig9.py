"""On images too the NFM's diagonal correlates with the AGOP's; with random eigenvectors in place of K's less so.

Pearson's correlation of the diagonals in the first layer of a network that tells two classes of images apart.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, fisher, matches, positive
from tasks.papers.centered_nfa.claims.shared.b_alignment_figure import draw as draw

ID = "B.fig9"
KIND = "statistical"
TITLE = "On images too the NFA rests on the alignment with the tangent kernel's eigenvectors"
PRINTED = "Pearson 0.91 against 0.04, CelebA with and without glasses, Figure 9"
QUANTITIES = ("pearson/K", "pearson/Q")


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z; the evidence is a match of the print where both correlations pass that test."""
    K, Q = (curves(rows.where(quantity=name), "seed")[:, -1] for name in QUANTITIES)
    found = every(above=positive(np.arctanh(K) - np.arctanh(Q), "z of the correlation with K minus z of that with Q"))
    for name, values in (("with K", K), ("with Q", Q)):
        found.numbers.update(zip((name, f"{name}, low", f"{name}, high"), fisher(values), strict=True))
    evidence = "matches print" if matches(K, 0.91, 0.01) and matches(Q, 0.04, 0.01) else found.evidence
    return replace(found, evidence=evidence, measured=f"{fisher(K)[0]:.2f} against {fisher(Q)[0]:.2f}")
