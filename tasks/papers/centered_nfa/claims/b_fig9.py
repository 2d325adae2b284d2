"""On images, too, the diagonal of the NFM WᵀW correlates more with that of the AGOP WᵀKW than with that of WᵀQW.

Q has the eigenvalues of K and random eigenvectors. The correlation is Pearson's, over the pixels, in the first layer of
a network that separates two classes of images. The paper's images are faces (CelebA), those of the quick scale digits.
"""

from functools import partial
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared.alignment import Image, above, draw_images, levels

WITH_K, WITH_Q = 0.91, 0.04  # Pearson's correlation of diag(F) with diag(WᵀKW) and with diag(WᵀQW)
ID = "B.fig9"
KIND = "statistical"
TITLE = "On images, too, the NFA rests on the tangent kernel's eigenvectors"
PRINTED = f"Pearson {WITH_K} against {WITH_Q}, CelebA with and without glasses, Figure 9"
MATH = (
    r"\operatorname{corr}\left( \operatorname{diag} W^\top W,\; \operatorname{diag} W^\top K W \right) > "
    r"\operatorname{corr}\left( \operatorname{diag} W^\top W,\; \operatorname{diag} W^\top Q W \right)"
)
NEEDS = "The paper's images are CelebA's, which have to be downloaded"
IMAGES: dict[str, Image] = {
    "diagonal/NFM": ("diagonal of the NFM  WᵀW", None, None),
    "diagonal/AGOP": ("diagonal of the AGOP  WᵀKW", "pearson/K", None),
    "diagonal/Q": ("diagonal of WᵀQW", "pearson/Q", None),
}


CONTROLS = {
    "units exchanged, signs drawn": Control(
        text="The hidden units of K are put in a random order and given random signs.",
        equal_quantities=("pearson/Q",),
        equal_because="The control replaces K alone. Q is drawn for the claim's K.",
    ),
}
STATEMENTS = (
    Statement(
        name="K above Q",
        quote="one can disrupt the NFA correspondence by replacing the PTK feature covariance with a random matrix of "
        "the same spectral decay",
        place="Appendix I and Figure 9",
        rule=partial(above, name="pearson"),
        reads=("pearson/K", "pearson/Q"),
        printed=f"{WITH_K} against {WITH_Q} (CelebA)",
        rows=5,
    ),
    *levels(
        "pearson",
        "Figure 9, caption",
        (
            "reduces the Pearson correlation of the diagonal from ρ̄(diag(F), diag(G̃)) = 0.91",
            "to ρ̄(diag(F), diag(WᵀQW)) = 0.04",
        ),
        (WITH_K, WITH_Q),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the diagonals as images, as Figure 9 does."""
    return draw_images(rows, claim, IMAGES)
