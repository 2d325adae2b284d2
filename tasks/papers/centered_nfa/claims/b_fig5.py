"""The PTK-centered NFA, the correlation of W₀ᵀW₀ and W₀ᵀK̄W₀, falls in training: it does not drive the alignment.

This is judged on isotropic data and on eigenvalues 1/(1 + k²), in the mean over both hidden layers and the initial
scales s₀. The mean can fall while the correlation rises at a scale; a fall at each scale is a statement of ours. K̄ is
the kernel of the change of the tangents ∂f/∂h, not the change of the kernel K. The paper says that the correlation
falls through training, and concludes what does not drive the alignment. A fall that any movement of the weights causes
is no effect of training. So the control has weights that move as far as training's in a random direction. Numbers by
scale are means over both layers.
"""

from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig5"
KIND = "statistical"
TITLE = "The PTK-centered NFA falls in training, in the mean over the initial scales"
PRINTED = "“this correlation decreases through training”, Appendix B; curves of both layers on two spectra, Figure 5"
MATH = (
    r"\rho\left( W_0^\top W_0,\; W_0^\top \bar K W_0 \right) \text{ falls with } t",
    (
        r"\bar K = \left( \frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} \right)^\top \left( "
        r"\frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} \right)"
    ),
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTION = centerings.CORRECTION
SPECTRA = ("isotropic", "1/(1+k^2)")
DATA = dict(zip(SPECTRA, ("isotropic data", "data with eigenvalues 1/(1 + k²)"), strict=True))


def falls(rows: Rows, spectrum: str) -> Finding:
    """The first correlation is above the last, in the mean over the scales and layers."""
    fall = _fall(rows, spectrum)
    finding = centerings.over_layers(fall.mean(2), "first correlation minus last, mean over the scales")
    by_scale = zip(np.unique(rows.x), fall.mean((0, 1)), strict=True)
    measured = ", ".join(f"{-mean:+.2f} at s₀ = {scale:g}" for scale, mean in by_scale)
    return replace(finding, measured=f"{DATA[spectrum]}: the correlation changes by {measured}")


def falls_at_each_scale(rows: Rows, spectrum: str) -> Finding:
    """In each layer and at each scale the first correlation is above the last."""
    fall = _fall(rows, spectrum)
    return centerings.at_each_scale(fall, np.unique(rows.x), "first correlation minus last")


def _fall(rows: Rows, spectrum: str) -> np.ndarray:
    """First minus last correlation, (seeds, layers, scales)."""
    (correlation,) = centerings.of_spectrum(rows, spectrum, "nfa/ptk_centered")
    return correlation[..., 0] - correlation[..., -1]


QUOTE = (
    "this correlation decreases through training, indicating that the correlation of these quantities does not drive "
    "alignment between the uncentered NFM and AGOP (Figure 5)."
)
CONTROLS = {
    "no training": Control(),
}
STATEMENTS = tuple(
    Statement(
        name=f"{name}, {spectrum}",
        quote=QUOTE,
        place="Appendix B and Figure 5",
        rule=partial(rule, spectrum=spectrum),
        reads=("nfa/ptk_centered",),
        kind=kind,
        cases=3,
        rows=centerings.ROWS[0],
        # the table of the papers' scale has the former control, whose steps did not grow: no curve of it could fall
        scales=("quick",),
    )
    for name, kind, rule in (
        ("falls", "asserted", falls),
        ("falls at each scale", "ours", falls_at_each_scale),
    )
    for spectrum in SPECTRA
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlation along training."""
    return centerings.draw_by_layer(rows, claim, "PTK-centered NFA", top=1.02)
