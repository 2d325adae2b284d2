"""The NFM WᵀW of a trained first layer correlates with the AGOP WᵀKW, and less so with WᵀQW.

Q has the eigenvalues of K and random eigenvectors. The network has learned the chain monomial of rank 5. The
correlation ρ is the cosine.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statistics import curves, fisher
from tasks.papers.centered_nfa.claims.shared.alignment import Image, alignment, draw_images

WITH_K, WITH_Q, SPREAD = 0.93, 0.53, 5.9  # ρ(F, WᵀKW), ρ(F, WᵀQW), standard deviation / mean of K's eigenvalues
ID = "B.fig1"
KIND = "statistical"
TITLE = "The NFA rests on the alignment of the weights with the tangent kernel's eigenvectors"
PRINTED = (
    f"ρ = {WITH_K} against {WITH_Q}; the standard deviation of K's eigenvalues is {SPREAD} times their mean; "
    "Figure 1 and Section 2.2"
)
QUANTITIES = ("nfa/K", "nfa/Q", "spread of K's eigenvalues")
IMAGES: dict[str, Image] = {
    "matrix/EGOP": ("EGOP of the target", None, None),
    "matrix/NFM": ("NFM  WᵀW", None, None),
    "matrix/AGOP": ("AGOP  WᵀKW", "nfa/K", WITH_K),
    "matrix/Q": ("WᵀQW", "nfa/Q", WITH_Q),
}


def rule(rows: Rows) -> Finding:
    """ρ(F, WᵀKW) is above ρ(F, WᵀQW); the spread of K's eigenvalues is reported beside them."""
    with_K, with_Q = (curves(rows.where(quantity=quantity), "seed")[:, -1] for quantity in QUANTITIES[:2])
    finding = alignment(with_K, with_Q, ("ρ(F, WᵀKW)", "ρ(F, WᵀQW)"), (WITH_K, WITH_Q))
    if len(spread := rows.where(quantity=QUANTITIES[2])):
        finding.numbers[QUANTITIES[2]] = float(spread.value.mean())
    return replace(finding, measured=f"ρ = {fisher(with_K)[0]:.3f} against {fisher(with_Q)[0]:.3f}")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the four matrices of Figure 1."""
    return draw_images(rows, claim, IMAGES)
