"""The PTK-centered NFA, the correlation of W₀ᵀW₀ and W₀ᵀK̄W₀, falls while training aligns WᵀW and WᵀKW.

W₀ are the initial weights, and K is the tangent kernel (PTK). K̄ is the kernel of the change of the tangents ∂f/∂z, not
the change of K; z = Wh is a layer's pre-activation. The alignment of WᵀW and WᵀKW is the UC-NFA. The paper concludes
from the fall that the PTK-centered NFA does not drive this alignment. A fall says this only if the alignment rises
meanwhile. So the rule asks for both, in the mean over both hidden layers and the initial scales s₀, on isotropic data
and on eigenvalues 1/(1 + k²). The mean can fall while the correlation rises at one s₀; a fall at each s₀ is a statement
of ours. We take s₀ = 1, 0.1 and 0.01; the paper's text does not name its values. One control moves the weights as far
as training does, in a random direction. The other gives K and K̄ random eigenvectors. Numbers by s₀ are means over both
layers.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig5"
KIND = "statistical"
TITLE = "The PTK-centered NFA falls while the NFA rises, in the mean over the initial scales"
PRINTED = "“this correlation decreases through training”, Appendix B; curves of both layers on two spectra, Figure 5"
MATH = (
    r"\rho\left( W_0^\top W_0,\; W_0^\top \bar K W_0 \right) \text{ falls with } t, \quad "
    r"\rho\left( W^\top W,\; W^\top K W \right) \text{ rises}",
    (
        r"\bar K = \left( \frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} \right)^\top \left( "
        r"\frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} \right)"
    ),
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTS = "a setting"
CORRECTION = centerings.CORRECTION
PRINTED_SETTINGS = centerings.PRINTED_SETTINGS
SPECTRA = ("isotropic", "1/(1+k^2)")
DATA = dict(zip(SPECTRA, ("isotropic data", "data with eigenvalues 1/(1 + k²)"), strict=True))


def falls_while_aligning(rows: Rows, spectrum: str) -> Finding:
    """The last correlation is below the first, and the last UC-NFA above, in the mean over the scales and layers."""
    fall, rise = _fall(rows, spectrum), -_fall(rows, spectrum, "uncentered")
    finding = all_of(
        falls=centerings.over_layers(fall.mean(2), "the first PTK-centered NFA minus the last, averaged over s₀"),
        aligns=centerings.over_layers(rise.mean(2), "the last UC-NFA minus the first, averaged over s₀"),
    )
    by_scale = zip(np.unique(rows.x), fall.mean((0, 1)), strict=True)
    changes = ", ".join(f"{-mean:+.2f} at s₀ = {scale:g}" for scale, mean in by_scale)
    aligned = f"the UC-NFA by {rise.mean():+.2f} in the mean over s₀"
    return replace(finding, measured=f"on {DATA[spectrum]} the PTK-centered NFA changes by {changes}, and {aligned}")


def falls_at_each_scale(rows: Rows, spectrum: str) -> Finding:
    """In each layer and at each scale the first correlation is above the last."""
    fall = _fall(rows, spectrum)
    return centerings.at_each_scale(fall, np.unique(rows.x), "the first PTK-centered NFA minus the last")


def _fall(rows: Rows, spectrum: str, ansatz: str = "ptk_centered") -> np.ndarray:
    """First minus last correlation, (seeds, layers, scales)."""
    (correlation,) = centerings.of_spectrum(rows, spectrum, f"nfa/{ansatz}")
    return correlation[..., 0] - correlation[..., -1]


QUOTE = (
    "this correlation decreases through training, indicating that the correlation of these quantities does not drive "
    "alignment between the uncentered NFM and AGOP (Figure 5)."
)
CONTROLS = centerings.for_both_forms(
    {
        "no training": Control(
            text="The weights move as far from their start as in training, but in a random direction.",
            parts=("case", "layer"),
            parts_because="At step 0 this control's weights are the claim's.",
        ),
        "random K": Control(text="The tangent kernels K and K̄ have random eigenvectors and their own eigenvalues."),
    }
)
STATEMENTS = tuple(
    Statement(
        name=f"{name}, {spectrum}",
        quote=QUOTE,
        place="Appendix B and Figure 5",
        rule=partial(rule, spectrum=spectrum),
        reads=reads,
        kind=kind,
        cases=3,
        rows=centerings.ROWS[0],
    )
    for name, kind, rule, reads in (
        ("falls while aligning", "asserted", falls_while_aligning, ("nfa/ptk_centered", "nfa/uncentered")),
        ("falls at each scale", "ours", falls_at_each_scale, ("nfa/ptk_centered",)),
    )
    for spectrum in SPECTRA
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlation along training."""
    return centerings.draw_by_layer(rows, claim, "PTK-centered NFA", top=1.02)
