"""A, Proposition 2: residuals on exactly collapsed features, and networks on their way to collapse."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style

EXACT = ["prop2/gram", "prop2/residual"]


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the residuals by arm and precision; beside them gap and NC1 along training, from right to left."""
    figure, grid = style.panels(key, columns=2, height=3.8, width=7.8)
    left, right = grid[0]
    exact = rows[rows["quantity"].isin(EXACT) & (rows["value"] > 0)]
    exact = exact.assign(kind=exact["case"].str.rsplit(",", n=1).str[0])
    worst = exact.groupby(["arm", "kind", "quantity", "dtype"], as_index=False)["value"].max()
    arms = ["claim", *style.controls(worst)]
    sns.stripplot(worst, x="value", y="arm", hue="dtype", order=arms, palette=[style.OTHER, style.CLAIM], ax=left,
                  dodge=True, jitter=0.15, size=4, alpha=0.6, log_scale=True)  # fmt: skip
    left.axvline(8 * 2.0**-53, color=style.PRINTED, linestyle="--", linewidth=1)
    left.set_yticks(range(len(arms)), [arm.replace(": ", ":\n") for arm in arms], fontsize=8)
    left.set(xlabel="constructed features: worst residual by kind\n(dashed: 8 u, float64)", ylabel="")
    left.legend(title="", fontsize=7)
    trained = rows[rows["case"] == "trained"]
    broken = [(arm, style.CONTROL, marker) for arm, marker in zip(style.controls(trained), "vX", strict=True)]
    for arm, color, marker in (*broken, ("claim", style.CLAIM, "o")):
        label = arm
        for _, one in trained[trained["arm"] == arm].groupby("seed"):
            course = one.pivot(index="step", columns="quantity", values="value").sort_index()[::3]
            right.plot(course["prop2/nc1"], course["prop2/gap"], color=color, linewidth=0.8, alpha=0.8, marker=marker,
                       markersize=2, label=label)  # fmt: skip
            label = "_"
    right.axhline(style.check(key).NEAR, color=style.PRINTED, linestyle="--", linewidth=1, label="asked for at the end")
    right.set(xscale="log", yscale="log", xlabel="trained networks: NC1 = tr S_W / tr S_B\n(training goes to the left)",
              ylabel="1 − surrogate / its maximum")  # fmt: skip
    right.legend(fontsize=7, loc="center left", bbox_to_anchor=(0, 0.75))
    right.minorticks_off()
    return figure
