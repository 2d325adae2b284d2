"""D, Figures 10 to 12: the collapse of the last features, the NFA of each layer, and the loss, along training."""

from types import ModuleType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style

PRINTED = {  # NFA at the end: mean and deviation over layers, seeds
    ("D.fig10", "MNIST"): (0.74, 0.13),
    ("D.fig11", "CIFAR-10"): (0.74, 0.17),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's three panels, a row for each data set; in orange the control, begun large."""
    cases = rows["case"].unique()
    figure, grid = style.panels(claim, columns=3, rows=len(cases), height=2.4 * len(cases) + 1.1, width=9.0)
    for line, case in zip(grid, cases, strict=True):
        _line(line, rows[rows["case"] == case], 21 // len(cases) + 4, PRINTED.get((claim.ID, case.split(" (")[0])))
        line[0].set_ylabel(f"{case}\nshare of tr Σ_T, last layer")
        for axes in line:
            axes.xaxis.get_major_locator().set_params(nbins=5)
            axes.tick_params(labelbottom=case == cases[-1])
            axes.minorticks_off()
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    found: dict[str, Any] = {}
    for axes in (*grid[:, 0], *grid[:, 1]):
        handles, names = axes.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=5, fontsize=7, title_fontsize=7,
                  title="mean (left and right: geometric) and Student's 95 % interval over "
                        f"{rows['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _line(grid: Any, rows: pd.DataFrame, points: int, printed: tuple[float, float] | None) -> None:
    traces, nfa, loss = grid
    small = style.thinned(rows[rows["arm"] == "claim"], points)
    large = style.thinned(rows[rows["arm"].str.contains("large")], points)
    least = min(arm.loc[arm["quantity"] == "within", "value"].min() for arm in (small, large))
    for axes in (traces, loss):
        axes.set_yscale("log")
    looks = (small, "small", style.CLAIM, "-"), (large, "large", style.CONTROL, ":")
    for arm, name, color, dashes in looks:
        for quantity, label, mark in (("within", "Σ_W / Σ_T", None), ("between", "Σ_B / Σ_T", "s")):
            style.band(traces, arm[arm["quantity"] == quantity], "x", color, linestyle=dashes, marker=mark,
                       markersize=3, linewidth=1.2, label=f"{label}, begun {name}")  # fmt: skip
        style.band(loss, arm[arm["quantity"] == "train_loss"], "x", color, linestyle=dashes, linewidth=1.4)
    style.layers(nfa, small[small["quantity"] == "nfa"])
    style.band(nfa, large[large["quantity"] == "nfa/mean"], "x", style.CONTROL, linestyle=":", linewidth=1.4,
               label="mean, begun large")  # fmt: skip
    null = small.loc[small["quantity"] == "nfa/null", "value"].mean()
    nfa.axhline(null, color=style.GUIDE, linestyle="--", linewidth=1.2, label="same spectra at random, 97.5 %")
    if printed:
        mean, spread = printed
        nfa.axhspan(mean - spread, mean + spread, color=style.PRINTED, alpha=0.06, linewidth=0)
        nfa.axhline(mean, color=style.PRINTED, linewidth=0.8, linestyle="-.", label=f"printed {mean} ± {spread}")
    traces.set(ylim=(least / 2, 1.3))
    nfa.set(ylabel="Pearson of WᵀW and √AGOP", ylim=(0, 1.02))
    loss.set(ylabel="training loss")
