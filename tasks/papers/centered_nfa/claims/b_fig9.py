"""On images too the diagonal of the NFM WᵀW correlates with that of the AGOP WᵀKW, and less so with that of WᵀQW.

Q has the eigenvalues of K and random eigenvectors. The correlation is Pearson's, in the first layer of a network that
separates two classes of images.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statistics import curves, fisher
from tasks.papers.centered_nfa.claims.shared.alignment import Image, alignment, draw_images

WITH_K, WITH_Q = 0.91, 0.04  # Pearson's correlation of diag(F) with diag(WᵀKW) and with diag(WᵀQW)
ID = "B.fig9"
KIND = "statistical"
TITLE = "On images too the NFA rests on the alignment with the tangent kernel's eigenvectors"
PRINTED = f"Pearson {WITH_K} against {WITH_Q}, CelebA with and without glasses, Figure 9"
QUANTITIES = ("pearson/K", "pearson/Q")
IMAGES: dict[str, Image] = {
    "diagonal/NFM": ("diagonal of the NFM  WᵀW", None, None),
    "diagonal/AGOP": ("of the AGOP  WᵀKW", "pearson/K", WITH_K),
    "diagonal/Q": ("of WᵀQW", "pearson/Q", WITH_Q),
}


def rule(rows: Rows) -> Finding:
    """Pearson's correlation with the AGOP's diagonal is above that with WᵀQW's."""
    with_K, with_Q = (curves(rows.where(quantity=quantity), "seed")[:, -1] for quantity in QUANTITIES)
    finding = alignment(with_K, with_Q, ("with K", "with Q"), (WITH_K, WITH_Q))
    return replace(finding, measured=f"{fisher(with_K)[0]:.2f} against {fisher(with_Q)[0]:.2f}")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the diagonals as images, as Figure 9 does."""
    return draw_images(rows, claim, IMAGES)
