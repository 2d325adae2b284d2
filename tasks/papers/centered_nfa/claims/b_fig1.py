"""The NFM WᵀW of a trained first layer correlates more with the AGOP WᵀKW than with WᵀQW.

Q has the eigenvalues of the tangent kernel K and random eigenvectors. The network is trained on the chain monomial of
rank 5. The correlation ρ is a cosine of two matrices. The rule compares Fisher's z, its inverse hyperbolic tangent.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, equals, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared.alignment import Image, above, after_training, draw_images, levels

WITH_K, WITH_Q, SPREAD = 0.93, 0.53, 5.9  # ρ(F, WᵀKW), ρ(F, WᵀQW), standard deviation / mean of K's eigenvalues
ID = "B.fig1"
KIND = "statistical"
TITLE = "The NFA rests on the alignment of the weights with the tangent kernel's eigenvectors"
PRINTED = (
    f"ρ = {WITH_K} against {WITH_Q}; the standard deviation of K's eigenvalues is {SPREAD} times their mean; "
    "Figure 1 and Section 2.2"
)
MATH = (
    r"\rho\left( W^\top W,\; W^\top K W \right) > \rho\left( W^\top W,\; W^\top Q W \right)",
    r"Q = O \Lambda O^\top, \quad K = V \Lambda V^\top, \quad O \text{ random orthogonal}",
)
SPREAD_OF_K = "spread of K's eigenvalues"
IMAGES: dict[str, Image] = {
    "matrix/EGOP": ("EGOP of the target", None, None),
    "matrix/NFM": ("NFM  WᵀW", None, None),
    "matrix/AGOP": ("AGOP  WᵀKW", "nfa/K", WITH_K),
    "matrix/Q": ("WᵀQW", "nfa/Q", WITH_Q),
}


def far_from_identity(rows: Rows) -> Finding:
    """The standard deviation of K's eigenvalues exceeds their mean; that of the identity's eigenvalues is 0."""
    spread = after_training(rows, SPREAD_OF_K)
    finding = positive(spread - 1, "the standard deviation of K's eigenvalues divided by their mean, minus 1")
    return replace(
        finding, measured=f"the standard deviation of K's eigenvalues is {spread.mean():.2f} times their mean"
    )


def printed_spread(rows: Rows) -> Finding:
    """The standard deviation of K's eigenvalues over their mean equals the printed number."""
    return equals(after_training(rows, SPREAD_OF_K), SPREAD, 0.1)


CONTROLS = {
    "another network's eigenvectors": Control(
        text="The tangent kernel K has the eigenvectors of another network's K and its own eigenvalues.",
        has=("nfa/K", "nfa/Q"),
        equal_quantities=("nfa/Q",),
        equal_because="The control replaces K alone. Q is drawn for the claim's K.",
    ),
}
STATEMENTS = (
    Statement(
        name="K above Q",
        quote="replacing K^{(0)} with a matrix Q with equal spectrum but random eigenvectors greatly reduces "
        "the correlation to 0.53",
        place="Section 2.2 and Figure 1",
        rule=partial(above, name="nfa"),
        reads=("nfa/K", "nfa/Q"),
        printed=f"{WITH_K} against {WITH_Q}",
        rows=5,
    ),
    Statement(
        name="K is far from the identity",
        quote="is far from identity (standard deviation of its eigenvalues is 5.9 times its average eigenvalue)",
        place="Section 2.2",
        rule=far_from_identity,
        reads=(SPREAD_OF_K,),
        printed=f"{SPREAD} times",
        rows=5,
        stands_in="No network here has a kernel close to the identity. A test shows that the rule refutes a planted "
        "table with equal eigenvalues.",
    ),
    *levels(
        "nfa",
        "Section 2.2 and Figure 1",
        ("the NFA correlation is 0.93 at the end of training", "greatly reduces the correlation to 0.53"),
        (WITH_K, WITH_Q),
    ),
    Statement(
        name="spread of K's eigenvalues",
        quote="standard deviation of its eigenvalues is 5.9 times its average eigenvalue",
        place="Section 2.2",
        rule=printed_spread,
        reads=(SPREAD_OF_K,),
        kind="printed level",
        rows=5,
        printed=f"{SPREAD:g}",
        scales=("paper",),
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the four matrices of Figure 1."""
    return draw_images(rows, claim, IMAGES)
