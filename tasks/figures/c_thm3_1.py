"""W^T W against FACT on the way to a critical point: the error falls with the gradient's norm."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw error against gradient norm, one line a case and layer, with the slope 1 that the theorem predicts."""
    rows = rows[(rows["quantity"] == "fact/error") & (rows["value"] > 0) & (rows["x"] > 0)]
    rows = rows[rows["dtype"] != "float32"]
    figure, grid = style.panels(key, height=3.6)
    axes = grid[0, 0]
    axes.set(xscale="log", yscale="log", xlabel="‖gradient of the regularised loss‖ / (λ‖θ‖)",
             ylabel="‖WᵀW − FACT‖ / ‖WᵀW‖")  # fmt: skip
    for arm in [*style.controls(rows), "claim"]:
        color = style.CLAIM if arm == "claim" else style.CONTROL
        label, dashes = arm, {"claim": "-", "control: lambda doubled": ":"}.get(arm, "--")
        for _, line in rows[rows["arm"] == arm].groupby(["case", "layer", "seed"]):
            line = line.sort_values("x")
            axes.plot(line["x"], line["value"], color=color, linewidth=0.7, alpha=0.6, linestyle=dashes,
                      label=label)  # fmt: skip
            label = "_"
    claim = rows[rows["arm"] == "claim"]
    middle = float(np.exp(np.log(claim["value"] / claim["x"]).median()))
    ends = np.array([claim["x"].min(), claim["x"].max()])
    axes.plot(ends, middle * ends, color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 1")
    for line in axes.legend(loc="center left", bbox_to_anchor=(1, 0.5)).get_lines():
        line.set(linewidth=1.6, alpha=1)
    return figure
