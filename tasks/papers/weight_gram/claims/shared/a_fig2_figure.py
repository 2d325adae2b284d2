"""A, Figures 2 and 6: test accuracy of gradient descent (dashed) and of the whitened update (solid), by data set."""

from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.papers.weight_gram.claims.shared.rules import EPOCHS, FASTER

SETS = ("MNIST", "SVHN", "CIFAR-10", "CIFAR-100")  # as in the paper


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row for each data set, of a panel for each learning rate: the paper's two, and with the removed part only.

    Data sets of one learning rate stand side by side. Where the text has the whitened update reach the original's best
    within some epochs, lines mark both.
    """
    rows = rows[rows["quantity"].str.endswith("test_accuracy")]
    rows = rows.assign(data=rows["case"].str.partition(", ")[0], rate=rows["case"].str.rpartition("=")[2].astype(float))
    sets, rates = [data for data in SETS if data in set(rows["data"])], sorted(rows["rate"].unique())
    names = {data: data if set(rows["scale"]) == {"paper"} else f"digits for {data}" for data in sets}
    shape = (len(sets), len(rates)) if len(rates) > 1 else (1, len(sets))
    figure, grid = style.panels(claim, rows=shape[0], columns=shape[1], height=1.3 + 1.9 * shape[0],
                                width=7.6 if shape[1] > 1 else 5.5)  # fmt: skip
    lines = [("claim", "original/test_accuracy", style.OTHER, "--", "original"),
             ("claim", "whitened/test_accuracy", style.CLAIM, "-", "whitened")]  # fmt: skip
    lines += [(arm, "whitened/test_accuracy", style.CONTROL, ":", arm) for arm in style.controls(rows)]
    cells = [(data, rate) for data in sets for rate in rates]
    for axes, (data, rate) in zip(grid.flat, cells, strict=True):
        one = rows[(rows["data"] == data) & (rows["rate"] == rate)]
        for arm, quantity, color, dashes, label in lines:
            found = one[(one["arm"] == arm) & (one["quantity"] == quantity)]
            if not found.empty:  # the control may be at some of the rates only
                style.band(axes, style.thinned(found, 11), "x", color, linestyle=dashes, label=label)
        if claim.ID == "A.fig2" and data in FASTER:
            plain = one[(one["arm"] == "claim") & (one["quantity"] == "original/test_accuracy") & (one["x"] > 0)]
            about = {"color": style.PRINTED, "linewidth": 0.8}
            axes.axhline(plain.groupby("seed")["value"].max().mean(), ls="-.", label="mean of originals' best", **about)
            axes.axvline(EPOCHS, ls=(0, (1, 2)), label=f"printed: whitened is there by epoch {EPOCHS}", **about)
        axes.set_title(f"{names[data]}, rate {rate:g}", fontsize=7)
        axes.set_ylim(0, min(1.02, 1.05 * max(0.1, rows[rows["data"] == data]["value"].max())))
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy")
    shown = {name: line for axes in grid.flat for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend([*shown.values()], [*shown], loc="outside lower left", ncols=2 + (shape[1] > 1), fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds",
                  title_fontsize=7)  # fmt: skip
    return figure
