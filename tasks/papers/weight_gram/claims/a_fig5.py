"""A decoder of high Target Linearity interpolates linearly between the inputs of two latent vectors.

On a trained VAE's latents and inputs the mean error of interpolation of the least squares fit g, over all pairs, is at
most its mean reconstruction error, at every alpha (Proposition 3); and the lower beta, so the higher Target Linearity,
the closer the decoder itself comes to the interpolated inputs.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, bound, by_number, every, kendall, positive

ID = "A.fig5"
KIND = "statistical"
TITLE = "A lower beta of a VAE: more linear interpolation between images"
PRINTED = "“lower β (higher TL) yields near-linear transitions”, Figure 5; Proposition 3"
DATA_SETS = ("MNIST",)  # those of the run that the claim is about
QUANTITIES = ("interpolation/ratio", "interpolation/decoder")


def rule(rows: Rows) -> Finding:
    """The bound on every network and alpha; per seed the ends and Kendall's tau of the decoder's error over beta."""
    _, errors = by_number(rows.where(quantity="interpolation/decoder"))
    last = errors[:, :, -1]
    found = every(
        proposition_3=bound(rows.where(quantity="interpolation/ratio")),
        decoder_worse=positive(last[:, -1] - last[:, 0], "decoder's error at the highest beta minus at the lowest"),
        decoder_trend=positive(np.array([kendall(one) for one in last]), "Kendall's tau of its error and beta"),
    )
    found.numbers.update({"decoder's error, lowest beta": last[:, 0].mean(), "highest beta": last[:, -1].mean()})
    return found


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the frames as in the paper, the truth on top, and the decoder's error against beta with its control."""
    rows = rows[rows["case"].str.startswith("MNIST, ")]
    betas = {case: float(case.rpartition("=")[2]) for case in rows["case"].unique()}
    cases = sorted(betas, key=lambda case: betas[case])
    rows = rows.assign(beta=rows["case"].map(betas))
    figure, grid = style.panels(claim, columns=2, height=3.6, width=7.6)
    images, error = grid[0]
    strips = [style.strip(rows[(rows["case"] == cases[0]) & (rows["quantity"] == "frame/truth")])]
    strips += [style.strip(rows[(rows["case"] == case) & (rows["quantity"] == "frame/decoded")]) for case in cases]
    side, frames = len(strips[0]), strips[0].shape[1] // len(strips[0])
    images.imshow(np.vstack(strips), cmap="gray", vmin=0, vmax=1, interpolation="none")
    T = rows[(rows["quantity"] == "target_linearity") & (rows["step"] == rows["step"].max())]
    T = T[T["arm"] == ("corrected" if "corrected" in set(T["arm"]) else "claim")].groupby("case")["value"].mean()
    images.set(xticks=[0.5 * side, (frames - 0.5) * side], yticks=[(at + 0.5) * side for at in range(len(strips))])
    images.set_xticklabels(["α = 0", "α = 1"], fontsize=7)
    images.set_yticklabels(["truth", *(f"β = {betas[case]:g}\nTL {T[case]:.3f}" for case in cases)], fontsize=7)
    images.tick_params(length=0)
    images.set_anchor("NW")  # the layout makes room for labels beside the box given, not beside the square in it
    names = {"claim": "decoder", "control: shuffled pairs": "decoder, control: shuffled pairs"}
    for arm, color in zip(names, (style.CLAIM, style.CONTROL), strict=True):
        found = rows[(rows["arm"] == arm) & (rows["quantity"] == "interpolation/decoder")]
        marker = style.MARKS[arm.partition(":")[0]]
        style.band(error, found, "beta", color, marker=marker, markersize=4, label=names[arm])
    least = rows[rows["quantity"] == "interpolation/least squares"]
    style.band(error, least, "beta", style.PRINTED, linestyle="--", label="least squares fit g: bound of Proposition 3")
    ratio = rows[(rows["quantity"] == "interpolation/ratio") & (rows["arm"] == "claim")]
    mean = ratio.groupby(["beta", "seed"])["value"].mean().rename("value").reset_index()
    both = mean.merge(least, on=["beta", "seed"], suffixes=("", "_least"))
    both = both.assign(value=both["value"] * both["value_least"])
    style.band(error, both, "beta", style.OTHER, marker="s", markersize=4, label="g on all pairs, mean over α")
    error.set(xscale="log", xlabel="β", ylabel="mean error ‖f(z̃) − x̃‖")
    error.set_ylim(bottom=0)
    error.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.4, -0.28),
                 title=f"mean and 95 % interval, {rows['seed'].nunique()} seeds", title_fontsize=7)  # fmt: skip
    return figure
