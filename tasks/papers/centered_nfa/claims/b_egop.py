"""The AGOP of a network that fits the chain monomial approaches the target's EGOP, and so does the NFM.

The EGOP is the expected gradient outer product of the target. For inputs N(0, I) it is A², with A the adjacency matrix
of the cycle of the five coordinates.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves, fisher

ID = "B.egop"
KIND = "statistical"
TITLE = "The AGOP of a network that fits approaches the target's EGOP"
PRINTED = "“will approximate”, Section 2.1 and Figure 1"
QUANTITIES = ("egop/agop", "null/egop_agop", "egop/agop, another target", "egop/gram", "r2/train", "r2/test")
FIT = 0.9  # the R² on the training samples from which on a network fits
PANELS = {
    "cosine with the EGOP": {
        "egop/agop": "AGOP",
        "egop/gram": "NFM",
        "null/egop_agop": "AGOP, independent eigenvectors",
    },
    "R²": {"r2/train": "training samples", "r2/test": "new samples"},
}
COLORS = [style.CLAIM, style.OTHER, style.GUIDE]


def rule(rows: Rows) -> Finding:
    """Per seed: the network fits; the cosines of the AGOP and of the NFM with the EGOP rise.

    The AGOP's last cosine is nearer to 1 than to the null, its mean for independent eigenvectors. It is also above the
    cosine with the EGOP of a chain of one coordinate less or more.
    """
    agop, null, other_target, nfm, train, test = (curves(rows.where(quantity=name), "seed") for name in QUANTITIES)
    last = agop[:, -1]
    finding = all_of(
        fits=positive(train[:, -1] - FIT, f"R² on the training samples minus {FIT}"),
        rises=positive(last - agop[:, 0], "last cosine minus first"),
        near=positive((last - null[:, -1]) / (1 - null[:, -1]) - 0.5, "(cosine − null)/(1 − null) minus 1/2"),
        own=positive(
            last - other_target[:, -1], "cosine minus that with the EGOP of a chain of one coordinate less or more"
        ),
        nfm=positive(nfm[:, -1] - nfm[:, 0], "last cosine of the NFM with the EGOP minus first"),
    )
    finding.numbers.update(zip(("cosine", "cosine, low", "cosine, high"), fisher(last), strict=True))
    measured = (
        f"ρ(AGOP, EGOP) {np.mean(agop[:, 0]):.3f} → {fisher(last)[0]:.3f}, ρ(NFM, EGOP) {np.mean(nfm[:, 0]):.3f} → "
        f"{fisher(nfm[:, -1])[0]:.3f}; R² on new samples {test[:, -1].mean():.2f}"
    )
    return replace(finding, measured=measured)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw each quantity of the trained networks as a band, and two of the untrained ones as dotted lines."""
    figure, grid = style.panels(claim, columns=2, height=3.2, width=7.6)
    for axes, (label, quantities) in zip(grid[0], PANELS.items(), strict=True):
        for (quantity, name), color in zip(quantities.items(), COLORS, strict=False):
            values = rows[rows["quantity"] == quantity]
            style.band(axes, values[values["arm"] == "claim"], "step", color, linewidth=1.5, label=name)
            if quantity in ("egop/agop", "r2/test"):
                for arm in style.controls(values):
                    style.band(axes, values[values["arm"] == arm], "step", style.CONTROL, linestyle=":", label=arm)
        axes.set(xlabel="step", ylabel=label)
        axes.legend(fontsize=7, loc="center right")
    grid[0, 0].set_ylim(0, 1)
    seeds = rows["seed"].nunique()
    grid[0, 1].set_title(f"mean and Student's 95 % interval over {seeds} seeds", fontsize=7, loc="right")
    return figure
