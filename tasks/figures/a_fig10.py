"""A, Figure 10: reconstruction error and Target Linearity of VAEs in training, and what they decode."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the three panels of the paper: error and linearity by beta against the epoch, images by beta."""
    betas = {case: float(case.rpartition("=")[2]) for case in rows["case"].unique()}
    cases = sorted(betas, key=lambda case: betas[case])
    figure, grid = style.panels(key, columns=3, height=3.4, width=7.6)
    error, linearity, images = grid[0]
    shown = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        one = rows[rows["case"] == case]
        after = one[one["x"] >= 1]
        claim = after[after["arm"] == "claim"]
        label = f"β = {betas[case]:g}"
        style.band(error, claim[claim["quantity"] == "test_reconstruction"], "x", color, label=label)
        style.band(error, claim[claim["quantity"] == "train_reconstruction"], "x", color, linestyle="--", linewidth=0.8)
        T = after[after["quantity"] == "target_linearity"]
        style.band(linearity, T[T["arm"] == shown], "x", color)
        for arm in style.controls(T):
            style.band(linearity, T[T["arm"] == arm], "x", style.CONTROL, linestyle=":", linewidth=0.8,
                       label=arm if case == cases[0] else None)  # fmt: skip
    error.plot([], [], color=style.GUIDE, linestyle="--", linewidth=0.8, label="training set")
    error.set(xlabel="epoch", ylabel="reconstruction error, test set")
    linearity.set(xlabel="epoch", ylabel=f"target linearity ({shown})")
    lines, names = error.get_legend_handles_labels()
    more = linearity.get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    shown_rows = [style.strip(rows[(rows["case"] == cases[0]) & (rows["quantity"] == "image/truth")])]
    shown_rows += [style.strip(rows[(rows["case"] == case) & (rows["quantity"] == "image/decoded")]) for case in cases]
    side = len(shown_rows[0])
    images.imshow(np.vstack(shown_rows), cmap="gray", vmin=0, vmax=1, interpolation="none")
    images.set(xticks=[], yticks=[(at + 0.5) * side for at in range(len(shown_rows))])
    images.set_yticklabels(["original", *(f"β = {betas[case]:g}" for case in cases)], fontsize=7)
    images.tick_params(length=0)
    return figure
