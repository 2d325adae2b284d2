"""D, Figures 2 and 7 to 9: NC1 of each hidden layer along training, through its parts."""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style

# as in the paper: input blue, right singular structure green, whole layer red
PARTS = {"input": (style.CLAIM, "-", "Φ(X)"), "projected": (style.OTHER, "--", "S Vᵀ Φ(X)"),
         "output": (style.CONTROL, ":", "σ(U S Vᵀ Φ(X))")}  # fmt: skip


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row for each data set and a panel for each layer, as in the paper; pale the control, begun large."""
    rows = rows[rows["case"].str.startswith(getattr(claim, "SET", ""))]
    cases, layers = rows["case"].unique(), sorted(rows.loc[rows["quantity"] == "nc1/input", "layer"].unique())
    height, points = 2.6 * len(cases) + 0.9, 12 // len(cases) + 4
    figure, grid = style.panels(claim, columns=len(layers), rows=len(cases), height=height, width=9.0)
    for line, case in zip(grid, cases, strict=True):
        on = rows[rows["case"] == case]
        small, large = on[on["arm"] == "claim"], on[on["arm"].str.contains("large")]
        nc1 = pd.concat([small, large]).query("quantity.str.startswith('nc1/')")
        means = nc1.groupby(["arm", "quantity", "layer", "x"])["value"].mean()
        for axes, layer in zip(line, layers, strict=True):
            axes.set_yscale("log")
            for part, (color, dashes, label) in PARTS.items():
                one, other = (style.thinned(arm[(arm["layer"] == layer) & (arm["quantity"] == f"nc1/{part}")], points)
                              for arm in (small, large))  # fmt: skip
                style.band(axes, one, "x", color, linestyle=dashes, linewidth=1.4, label=label)
                found = style.mean_and_band(other.assign(value=np.log(other["value"])), "x")
                axes.plot(found["x"], np.exp(found["mean"]), color=color, linestyle=dashes, linewidth=0.9, alpha=0.5,
                          label=f"{label}, begun large")  # fmt: skip
            axes.set(ylim=(0.7 * means.min(), 1.4 * means.max()))
            axes.minorticks_off()
            axes.xaxis.get_major_locator().set_params(nbins=3)
            axes.tick_params(labelleft=axes is line[0], labelbottom=case == cases[-1])
        line[0].set_ylabel(f"{case}\nS Vᵀ: {_share(small):.0%} of the fall\n(begun large: {_share(large):.0%})\n"
                           "tr Σ_W / tr Σ_B", fontsize=8)  # fmt: skip
    for axes, layer in zip(grid[0], layers, strict=True):
        axes.set_title(f"layer {layer}", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    handles, names = grid[0, 0].get_legend_handles_labels()
    title = f"geometric mean over {rows['seed'].nunique()} seeds, begun small with Student's 95 % interval"
    figure.legend(handles, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7, title=title)
    return figure


def _share(rows: pd.DataFrame) -> float:
    last = rows[rows["x"] == rows["x"].max()]
    falls = last.pivot_table(index="seed", columns="quantity", values="value")[["fall/projection", "fall/activation"]]
    return float((falls["fall/projection"] / falls.sum(axis=1)).mean())
