"""A, Theorem 4: the surrogate by layer, its lower bounds, and the NFA's cosine; in the controls and in the claim."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import style

BOUNDS = {"thm4/ratio": ("bound as printed", "--"), "thm4/with readout": ("bound, C₀ ≤ ‖f‖²", ":"),
          "thm4/before": ("m = 1, before its last steps", "-.")}  # fmt: skip
LINES = {"claim": ("interpolating", style.CLAIM, "o"),
         "control: untrained net": ("control: untrained net", style.CONTROL, "X"),
         "control: labels orthogonal to every layer": ("control: orthogonal labels, 0 to round-off",
                                                       style.CONTROL, "v")}  # fmt: skip
ZERO = 1e-13  # what is below is 0 to round-off, and drawn here


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each kind of network; the ansatz's cosine stands under each layer."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(key, columns=len(cases), height=3.7, width=8.4)
    for axes, case in zip(grid[0], cases, strict=True):
        _panel(axes, rows[rows["case"] == case])
        axes.set_title(case, fontsize=8)
    grid[0, 0].set(ylabel="surrogate / ‖Y‖⁴")
    lines, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower left", ncols=3, fontsize=7)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    order = sorted(rows["layer"][rows["layer"] != ""].unique())  # the readout comes last
    rows = rows[rows["layer"] != ""].assign(x=lambda one: one["layer"].map(order.index))
    claim = rows[rows["arm"] == "claim"]
    rows = rows.assign(value=rows["value"].clip(lower=ZERO))
    axes.set(yscale="log", ylim=(ZERO / 5, 20), xlabel="layer, NFA’s cosine")
    for arm, (label, color, marker) in LINES.items():
        found = rows[(rows["arm"] == arm) & (rows["quantity"] == "thm4/surrogate")]
        if not found.empty:
            style.band(axes, found, "x", color, marker=marker, markersize=4, label=label)
    surrogate = claim[claim["quantity"] == "thm4/surrogate"].groupby("x")["value"].median()
    for quantity, (label, dashes) in BOUNDS.items():
        ratio = claim[claim["quantity"] == quantity].groupby("x")["value"].median()
        below = ratio * surrogate.reindex(ratio.index)
        axes.plot(below.index, below, color=style.PRINTED, linestyle=dashes, linewidth=1, label=label)
    cosine = claim[claim["quantity"] == "thm4/nfa"].groupby("x")["value"].median()
    names = [f"{'out' if layer == 'readout' else layer}\n{cosine[at]:.2f}" for at, layer in enumerate(order)]
    axes.set_xticks(range(len(order)), names, fontsize=8)
    axes.minorticks_off()
