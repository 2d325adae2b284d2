"""D, Figures 2 and 7 to 9: NC1 of each hidden layer along training, through its parts."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

# as in the paper: input blue, right singular structure green, whole layer red
PARTS = {"input": (style.CLAIM, "-", "Φ(X)"), "projected": (style.OTHER, "--", "S Vᵀ Φ(X)"),
         "output": (style.CONTROL, ":", "σ(U S Vᵀ Φ(X))")}  # fmt: skip


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each layer as in the paper; below, the same begun large, which is the control."""
    nc1 = rows[rows["quantity"].str.startswith("nc1/")]
    layers = sorted(nc1["layer"].unique())
    arms = ["claim", *(arm for arm in style.controls(nc1))]
    means = nc1.groupby(["arm", "quantity", "layer", "x"])["value"].mean()
    limits = 0.7 * means.min(), 1.4 * means.max()
    figure, grid = style.panels(key, columns=len(layers), rows=len(arms), height=2 * len(arms) + 0.9, width=9.0)
    for line, arm in zip(grid, arms, strict=True):
        for axes, layer in zip(line, layers, strict=True):
            for part, (color, dashes, label) in PARTS.items():
                one = (nc1["arm"] == arm) & (nc1["layer"] == layer) & (nc1["quantity"] == f"nc1/{part}")
                style.log_band(axes, style.thinned(nc1[one]), "x", color, linestyle=dashes, linewidth=1.4,
                           label=label)  # fmt: skip
            axes.set(yscale="log", ylim=limits)
            axes.minorticks_off()
            axes.set_title(f"layer {layer}", fontsize=8)
            if axes is not line[0]:
                axes.tick_params(labelleft=False)
        share = _share(rows[rows["arm"] == arm])
        begun = "begun small" if arm == "claim" else "control: begun large"
        line[0].set_ylabel(f"{begun}\nS Vᵀ: {share:.0%} of the fall\ntr Σ_W / tr Σ_B", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"geometric mean and Student's 95 % interval over {nc1['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _share(rows: pd.DataFrame) -> float:
    last = rows[rows["x"] == rows["x"].max()]
    falls = last.pivot_table(index="seed", columns="quantity", values="value")[["fall/projection", "fall/activation"]]
    return float((falls["fall/projection"] / falls.sum(axis=1)).mean())
