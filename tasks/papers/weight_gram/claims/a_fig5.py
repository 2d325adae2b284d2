"""A decoder of high Target Linearity interpolates linearly between the inputs of two latent vectors.

On a trained VAE's latents and inputs, at every alpha, the least-squares fit g has a mean interpolation error over all
pairs of at most its mean reconstruction error (Proposition 3). The lower beta, and so the higher Target Linearity, the
closer the decoder itself comes to the interpolated inputs.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound, trend
from tasks.judging.statement import Statement
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import case_number, cases_by_number

ID = "A.fig5"
KIND = "statistical"
TITLE = "A VAE of lower beta interpolates more linearly between images"
PRINTED = "“lower β (higher TL) yields near-linear transitions”, Figure 5; Proposition 3"
MATH = (
    (
        r"\frac{1}{N^2} \sum_{i,j} \| g(\alpha z_i + (1 - \alpha) z_j) - (\alpha x_i + (1 - \alpha) x_j) "
        r"\| \le \frac{1}{N} \sum_i \| g(z_i) - x_i \|"
    ),
    r"\text{the decoder's own error on the left rises with } \beta",
)
DATA_SETS = ("MNIST",)
ON = ("MNIST", "digits")
DECODER_LINES = {
    "claim": ("decoder", style.CLAIM),
    "control: shuffled pairs": ("decoder, control: shuffled pairs", style.CONTROL),
}


def decoder_worse(rows: Rows) -> Finding:
    """After training the decoder's mean interpolation error rises with beta."""
    errors = by_number(rows)[1][:, :, -1]
    first, last = errors.mean(0)[[0, -1]]
    finding = trend(errors, "the decoder's interpolation error with beta")
    return replace(finding, measured=f"error {first:.2f} (lowest β) → {last:.2f} (highest)")


STATEMENTS = (
    Statement(
        name="Proposition 3",
        quote="Figure … empirically validates this finding in MNIST trained VAE",
        place="Section 5",
        rule=bound,
        reads=("interpolation/ratio",),
        cases=5,
        rows=75,
        data_sets=ON,
    ),
    Statement(
        name="less faithful at high beta",
        quote="Lower … (higher TL) yields near-linear transitions in pixel space, while higher … leads to blurrier and "
        "less faithful interpolations.",
        place="Figure 5, caption",
        rule=decoder_worse,
        reads=("interpolation/decoder",),
        cases=5,
        data_sets=ON,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the frames as in the paper, the true images on top, and the decoder's error against beta."""
    rows = rows[rows["case"].str.partition(", ")[0].isin(ON)]
    rows = rows.assign(beta=rows["case"].map(case_number))
    figure, grid = style.panels(claim, columns=2, height=3.6, width=7.6)
    _draw_frames(grid[0, 0], rows)
    _draw_errors(grid[0, 1], rows)
    return figure


def _draw_frames(axes: Axes, rows: pd.DataFrame) -> None:
    cases = cases_by_number(rows)
    true = rows[(rows["case"] == cases[0]) & (rows["quantity"] == "frame/truth")]
    decoded = [rows[(rows["case"] == case) & (rows["quantity"] == "frame/decoded")] for case in cases]
    strips = [style.strip(images) for images in (true, *decoded)]
    side = len(strips[0])
    frames = strips[0].shape[1] // side
    axes.imshow(np.vstack(strips), cmap="gray", vmin=0, vmax=1, interpolation="none")
    T = rows[(rows["quantity"] == "target_linearity") & (rows["step"] == rows["step"].max())]
    T = T[T["arm"] == ("corrected" if "corrected" in set(T["arm"]) else "claim")].groupby("case")["value"].mean()
    axes.set(xticks=[0.5 * side, (frames - 0.5) * side], yticks=[(row + 0.5) * side for row in range(len(strips))])
    axes.set_xticklabels(["α = 0", "α = 1"], fontsize=7)
    axes.set_yticklabels(["truth", *(f"β = {case_number(case):g}\nTL {T[case]:.3f}" for case in cases)], fontsize=7)
    axes.tick_params(length=0)
    axes.set_anchor("NW")  # the layout makes room for the labels beside the whole cell, not beside the images


def _draw_errors(axes: Axes, rows: pd.DataFrame) -> None:
    for arm, (label, color) in DECODER_LINES.items():
        error = rows[(rows["arm"] == arm) & (rows["quantity"] == "interpolation/decoder")]
        marker = style.MARKS[arm.partition(":")[0]]
        style.band(axes, error, "beta", color, marker=marker, markersize=4, label=label)
    reconstruction = rows[rows["quantity"] == "interpolation/least squares"]
    style.band(axes, reconstruction, "beta", style.PRINTED, linestyle="--",
               label="least squares fit g: bound of Proposition 3")  # fmt: skip
    ratio = rows[(rows["quantity"] == "interpolation/ratio") & (rows["arm"] == "claim")]
    ratio = ratio.groupby(["beta", "seed"])["value"].mean().rename("value").reset_index()
    interpolation = ratio.merge(reconstruction, on=["beta", "seed"], suffixes=("", "_least"))
    interpolation = interpolation.assign(value=interpolation["value"] * interpolation["value_least"])
    style.band(axes, interpolation, "beta", style.OTHER, marker="s", markersize=4, label="g on all pairs, mean over α")
    axes.set(xscale="log", xlabel="β", ylabel="mean error ‖f(z̃) − x̃‖")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.4, -0.28), title_fontsize=7,
                title=f"mean and 95 % interval, {rows['seed'].nunique()} seeds")  # fmt: skip
