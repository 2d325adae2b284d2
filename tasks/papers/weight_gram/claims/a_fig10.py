"""The lower a VAE's beta, the higher the Target Linearity of its latents and the lower its reconstruction error.

For beta of at most 0.1, Target Linearity rises throughout training. Latents are the posterior means and targets the
inputs, both of the training set; the reconstruction error is that of the test set. On MNIST and on CIFAR-10, each by
itself (quick scale: 8 x 8 digits in MNIST's place alone).
"""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, by_number, every, kendall, positive
from tasks.papers.weight_gram.claims.shared.rules import by_data, least_trend

ID = "A.fig10"
KIND = "statistical"
TITLE = "A lower beta of a VAE: more linear latents, better reconstructions"
PRINTED = "TL falls and the reconstruction error rises with β from 0.05 to 10, Figure 10"
CORRECTION = (
    "The regression has an intercept, which Definition 2 leaves out: the authors' code centres the inputs. Without it "
    "the inputs' mean, which no latent expresses, counts as error."
)
QUANTITIES = ("target_linearity", "reconstruction")
LOW = 0.1  # the betas whose Target Linearity rises in training


def rule(rows: Rows) -> Finding:
    """Per seed: the ends and Kendall's tau over beta after training; for low betas the same over the epochs from 1."""
    parts: dict[str, Finding] = {}
    measured = []
    for data, one in by_data(rows).items():
        betas, T = by_number(one.where(quantity="target_linearity"))
        _, R = by_number(one.where(quantity="reconstruction"))
        low = T[:, betas <= LOW, 1:]
        rise = (low[:, :, -1] - low[:, :, 0]).min(1)
        found = {
            "linearity_falls": positive(T[:, 0, -1] - T[:, -1, -1], "Target Linearity, lowest beta minus highest"),
            "linearity_trend": positive(np.array([-kendall(seed[:, -1]) for seed in T]), "minus Kendall's tau, beta"),
            "error_rises": positive(R[:, -1, -1] - R[:, 0, -1], "reconstruction error, highest beta minus lowest"),
            "error_trend": positive(np.array([kendall(seed[:, -1]) for seed in R]), "Kendall's tau, error and beta"),
            "rise_in_training": positive(rise, "least rise of Target Linearity at low beta"),
            "trend_in_training": positive(least_trend(low), "its least Kendall's tau"),
        }
        parts |= {f"{data}, {name}": part for name, part in found.items()}
        measured.append(f"{data}: TL {T[:, 0, -1].mean():.3f} → {T[:, -1, -1].mean():.3f}, "
                        f"error {R[:, 0, -1].mean():.1f} → {R[:, -1, -1].mean():.1f}")  # fmt: skip
    return replace(every(**parts), measured="; ".join(measured))


SETS = ("MNIST", "CIFAR-10")  # from above, as in the paper
POINTS, IMAGES = 8, 4  # of a line, of a beta: for a small file


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw for each data set the three panels of the paper: error, linearity by beta against the epoch; images."""
    rows = rows.assign(data=rows["case"].str.partition(", ")[0])
    sets = [data for data in SETS if data in set(rows["data"])]
    figure, grid = style.panels(claim, columns=3, rows=len(sets), height=0.9 + 2.5 * len(sets), width=7.6)
    for line, data in zip(grid, sets, strict=True):
        own = rows[rows["data"] == data]
        _one_set(line, own)
        name = data if set(own["scale"]) == {"paper"} else f"digits for {data}"
        line[0].set_title(name, fontsize=9, loc="left")
    lines, names = grid[0, 0].get_legend_handles_labels()
    more = grid[0, 1].get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _one_set(axes: Any, rows: pd.DataFrame) -> None:
    betas = {case: float(case.rpartition("=")[2]) for case in rows["case"].unique()}
    cases = sorted(betas, key=lambda case: betas[case])
    error, linearity, images = axes
    shown = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    for case, color in zip(cases, sns.color_palette("viridis", len(cases)), strict=True):
        one = rows[rows["case"] == case]
        after = style.thinned(one[one["x"] >= 1], POINTS)
        claim_rows = after[after["arm"] == "claim"]
        label = f"β = {betas[case]:g}"
        style.band(error, claim_rows[claim_rows["quantity"] == "test_reconstruction"], "x", color, label=label)
        train = style.mean_and_band(claim_rows[claim_rows["quantity"] == "train_reconstruction"], "x")
        error.plot(train["x"], train["mean"], color=color, linestyle="--", linewidth=0.8)
        T = after[after["quantity"] == "target_linearity"]
        style.band(linearity, T[T["arm"] == shown], "x", color)
        for arm in style.controls(T) if case == cases[0] else ():  # those of all betas lie on each other
            style.band(linearity, T[T["arm"] == arm], "x", style.CONTROL, linestyle=":", linewidth=0.8, label=arm)
    error.plot([], [], color=style.GUIDE, linestyle="--", linewidth=0.8, label="training set (solid: test set)")
    error.set(xlabel="epoch", ylabel="reconstruction error")
    linearity.set(xlabel="epoch", ylabel=f"target linearity ({shown})")
    _pictures(images, rows, {case: f"β = {betas[case]:g}" for case in cases})


def _pictures(axes: Axes, rows: pd.DataFrame, names: dict[str, str]) -> None:
    """A line of images for each case, the originals on top."""
    first = rows[(rows["case"] == next(iter(names))) & (rows["quantity"] == "image/truth")]
    lines = [style.strip(first)]
    lines += [style.strip(rows[(rows["case"] == case) & (rows["quantity"] == "image/decoded")]) for case in names]
    side = len(lines[0])
    axes.imshow(np.vstack(lines)[:, : IMAGES * side], cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set(xticks=[], yticks=[(at + 0.5) * side for at in range(len(lines))])
    axes.set_yticklabels(["original", *names.values()], fontsize=7)
    axes.tick_params(length=0)
