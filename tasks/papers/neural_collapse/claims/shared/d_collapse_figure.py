"""D, Figures 3 and 4: NC1 and NC2 by layer, before M^{1/2}, after it, and after the feature map."""

from types import ModuleType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style

PLACES = {  # the paper has green, orange and blue; these are the same three for everyone
    "data": ("data", style.OTHER, "-"),
    "agop": ("after M^{1/2}", style.CONTROL, "--"),
    "features": ("after M^{1/2} and Φ", style.CLAIM, "-."),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row of panels for each data set; the control's data are dotted."""
    rows = rows[rows["case"].str.endswith(claim.FEATURES)]
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=2, rows=len(cases), height=1.0 + 2.3 * len(cases), width=7.6)
    for case, pair in zip(cases, grid, strict=True):
        own = rows[rows["case"] == case]
        pair[0].set_yscale("log")
        for axes, name in zip(pair, ("nc1", "nc2"), strict=True):
            for place, (label, color, dashes) in PLACES.items():
                one = own[(own["arm"] == "claim") & (own["quantity"] == f"{name}/{place}")]
                style.band(axes, one, "x", color, linewidth=1.4, linestyle=dashes, label=label)
            for arm in style.controls(own):
                one = own[(own["arm"] == arm) & (own["quantity"] == f"{name}/data")]
                style.band(axes, one, "x", style.GUIDE, linestyle=":", linewidth=1.4, label=f"{arm}, data")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set(xlabel="layer", ylabel=f"{name.upper()}", title=case)
        pair[0].set(ylabel="NC1 = tr Σ_W / tr Σ_B")
        pair[1].set(ylim=(0, None), ylabel="NC2 = ‖H̄ᵀH̄ − Σ_ETF‖")
    handles: dict[str, Any] = {}
    for axes in grid[:, 0]:
        lines, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, lines, strict=True))
    figure.legend(handles=list(handles.values()), labels=list(handles), loc="outside lower left", ncols=4, fontsize=7)
    return figure
