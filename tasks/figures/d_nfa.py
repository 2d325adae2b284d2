"""D, Figures 10 to 12: the collapse of the last features, the NFA of each layer, and the loss, along training."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

PRINTED = {"d_fig10": (0.74, 0.13), "d_fig11": (0.74, 0.17)}  # NFA at the end: mean and deviation over layers, seeds


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the paper's three panels; in orange the control, begun large."""
    figure, (grid,) = style.panels(key, columns=3, height=3.5, width=9.0)
    traces, nfa, loss = grid
    rows = style.thinned(rows[rows["arm"] == "claim"]), style.thinned(rows[rows["arm"].str.contains("large")])
    least = min(arm.loc[arm["quantity"] == "within", "value"].min() for arm in rows)
    looks = ("small", style.CLAIM, "-"), ("large", style.CONTROL, ":")
    for arm, (name, color, dashes) in zip(rows, looks, strict=True):
        for quantity, label, mark in (("within", "Σ_W / Σ_T", None), ("between", "Σ_B / Σ_T", "s")):
            style.log_band(traces, arm[arm["quantity"] == quantity], "x", color, linestyle=dashes, marker=mark,
                       markersize=3, linewidth=1.2, label=f"{label}, begun {name}")  # fmt: skip
        style.log_band(loss, arm[arm["quantity"] == "train_loss"], "x", color, linestyle=dashes, linewidth=1.4,
                   label=f"begun {name}")  # fmt: skip
    style.layers(nfa, rows[0][rows[0]["quantity"] == "nfa"])
    style.band(nfa, rows[1][rows[1]["quantity"] == "nfa/mean"], "x", style.CONTROL, linestyle=":", linewidth=1.4,
               label="mean, begun large")  # fmt: skip
    null = rows[0].loc[rows[0]["quantity"] == "nfa/null", "value"].mean()
    nfa.axhline(null, color=style.GUIDE, linestyle="--", linewidth=1.2, label="same spectra at random, 97.5 %")
    if key in PRINTED:
        mean, spread = PRINTED[key]
        nfa.axhspan(mean - spread, mean + spread, color=style.PRINTED, alpha=0.06, linewidth=0)
        nfa.axhline(mean, color=style.PRINTED, linewidth=0.8, linestyle="-.", label=f"printed {mean} ± {spread}")
    traces.set(xlabel="epoch", ylabel="share of tr Σ_T, last layer", yscale="log", ylim=(least / 2, 1.3))
    nfa.set(xlabel="epoch", ylabel="Pearson of WᵀW and √AGOP", ylim=(0, 1.02))
    loss.set(xlabel="epoch", ylabel="training loss", yscale="log")
    seeds = rows[0]["seed"].nunique()
    handles, names = traces.get_legend_handles_labels()
    more = nfa.get_legend_handles_labels()
    figure.legend(handles + more[0], names + more[1], loc="outside lower center", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean (left and right: geometric) and Student's 95 % interval over {seeds} seeds")  # fmt: skip
    return figure
