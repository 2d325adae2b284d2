"""D, Figures 1, 5 and 6: cosines between centred samples after M^{1/2}, sorted by class, layer by layer."""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a row of images for each data set, and one for a control; means within and across classes above each."""
    rows = rows[rows["case"].str.endswith(claim.FEATURES)]
    images = rows[rows["quantity"] == "gram/image"]
    lines = sorted({(arm, case) for arm, case in zip(images["arm"], images["case"], strict=True)})
    lines = lines[: images.loc[images["arm"] == "claim", "case"].nunique() + 1]  # one control is enough
    layers = sorted(images["layer"].unique(), key=int)
    figure, grid = style.panels(claim, len(layers), len(lines), height=0.7 + 1.85 * len(lines), width=7.6)
    for (arm, case), line in zip(lines, grid, strict=True):
        own = rows[(rows["case"] == case) & (rows["arm"] == arm)]
        for layer, axes in zip(layers, line, strict=True):
            one = own[own["layer"] == layer].sort_values("x")
            pixels = one.loc[one["quantity"] == "gram/image", "value"].to_numpy()
            side = round(len(pixels) ** 0.5)
            shown = axes.imshow(np.reshape(pixels, (side, side)), vmin=-1, vmax=1, cmap="RdBu_r", interpolation="none")
            within, across = (
                one.loc[one["quantity"] == f"gram/{name}", "value"].mean() for name in ("within", "across")
            )
            axes.set(xticks=[], yticks=[])
            axes.set_title(f"layer {layer}: {within:.2f}, {across:.3f}", fontsize=7)
        line[0].set_ylabel(f"{case}\n{'' if arm == 'claim' else arm}", fontsize=7)
    figure.colorbar(shown, ax=grid, shrink=0.6, label="cosine; above: means within, across classes")
    return figure
