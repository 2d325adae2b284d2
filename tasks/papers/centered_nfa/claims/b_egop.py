"""The AGOP of a network that fits the chain monomial approaches the target's expected gradient outer product.

So does the NFM. The EGOP is A², with A the neighbours on the cycle of five coordinates, for inputs N(0, I).
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, curves, every, fisher, positive

ID = "B.egop"
KIND = "statistical"
TITLE = "The AGOP of a network that fits approaches the target's EGOP"
PRINTED = "“will approximate”, Section 2.1 and Figure 1"
QUANTITIES = ("egop/agop", "null/egop_agop", "egop/agop, another target", "egop/gram", "r2/train", "r2/test")


def rule(rows: Rows) -> Finding:
    """Per seed: it fits, the cosine rises, ends nearer to 1 than to its mean for independent eigenvectors, and above
    that with a chain of one coordinate less or more; the NFM's cosine with the EGOP rises too.
    """
    G, null, other, F, train, test = (curves(rows.where(quantity=name), "seed") for name in QUANTITIES)
    last = G[:, -1]
    found = every(
        fits=positive(train[:, -1] - 0.9, "R² on the training samples minus 0.9"),
        rises=positive(last - G[:, 0], "last cosine minus first"),
        near=positive((last - null[:, -1]) / (1 - null[:, -1]) - 0.5, "way of the cosine from its null to 1, less 1/2"),
        own=positive(last - other[:, -1], "cosine less that with the EGOP of a chain one shorter or longer"),
        nfm=positive(F[:, -1] - F[:, 0], "last cosine of the NFM with the EGOP minus first"),
    )
    found.numbers.update(zip(("cosine", "cosine, low", "cosine, high"), fisher(last), strict=True))
    measured = (
        f"ρ(AGOP, EGOP) {np.mean(G[:, 0]):.3f} → {fisher(last)[0]:.3f}, ρ(NFM, EGOP) {np.mean(F[:, 0]):.3f} → "
        f"{fisher(F[:, -1])[0]:.3f}; R² on new samples {test[:, -1].mean():.2f}"
    )
    return replace(found, measured=measured)


PANELS = {
    "cosine with the EGOP": {
        "egop/agop": "AGOP",
        "egop/gram": "NFM",
        "null/egop_agop": "AGOP, independent eigenvectors",
    },
    "R²": {"r2/train": "training samples", "r2/test": "new samples"},
}
COLORS = [style.CLAIM, style.OTHER, style.GUIDE]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw each quantity of the trained networks as a band, of the untrained ones as a dotted line."""
    figure, grid = style.panels(claim, columns=2, height=3.2, width=7.6)
    for axes, (label, quantities) in zip(grid[0], PANELS.items(), strict=True):
        for (quantity, name), color in zip(quantities.items(), COLORS, strict=False):
            found = rows[rows["quantity"] == quantity]
            style.band(axes, found[found["arm"] == "claim"], "step", color, linewidth=1.5, label=name)
            if quantity in ("egop/agop", "r2/test"):
                for arm in style.controls(found):
                    style.band(axes, found[found["arm"] == arm], "step", style.CONTROL, linestyle=":", label=arm)
        axes.set(xlabel="step", ylabel=label)
        axes.legend(fontsize=7, loc="center right")
    grid[0, 0].set_ylim(0, 1)
    seeds = rows["seed"].nunique()
    grid[0, 1].set_title(f"mean and Student's 95 % interval over {seeds} seeds", fontsize=7, loc="right")
    return figure
