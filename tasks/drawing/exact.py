"""Residuals of an exact identity: a dot for the worst layer of each case, for the claim and for each control.

At most 60 cases of an arm are drawn, the worst among them; the rule judges all.
"""

from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.statement import quantities

ROUND_OFF = {"float64": 2.0**-53, "float32": 2.0**-24}
COLORS = {"float64": style.CLAIM, "float32": style.OTHER}
MOST = 60  # dots in a row


def drawn_cases(rows: pd.DataFrame) -> pd.DataFrame:
    """At most MOST cases, evenly by the size of their residuals, with the smallest and the largest."""
    places = np.linspace(0, len(rows) - 1, min(MOST, len(rows))).round().astype(int)
    return rows.sort_values("value", kind="stable").iloc[places]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the residuals in both precisions, with the 8 u that the rule allows in float64."""
    names = [name for name in quantities(claim) if not name.endswith("/remainder")]
    rows = rows[rows["quantity"].isin(names)]
    arms = [arm for arm in ("claim", "corrected") if arm in set(rows["arm"])] + style.controls(rows)
    worst = rows.groupby(["arm", "case", "dtype"], as_index=False)["value"].max()
    worst = pd.concat([drawn_cases(cases) for _, cases in worst.groupby(["arm", "dtype"])])
    positive = worst["value"][worst["value"] > 0]
    floor = 10 ** np.floor(np.log10(min(positive.min(), ROUND_OFF["float64"]))) / 3
    worst["value"] = worst["value"].clip(lower=floor)

    figure, grid = style.panels(claim, height=1.5 + 0.45 * len(arms))
    axes = grid[0, 0]
    sns.stripplot(worst, x="value", y="arm", hue="dtype", order=arms, hue_order=[*COLORS], palette=COLORS, ax=axes,
                  dodge=True, jitter=0.15, size=4.5, alpha=0.75, log_scale=True)  # fmt: skip
    axes.axvline(8 * ROUND_OFF["float64"], color=COLORS["float64"], linestyle="--", linewidth=1, label="8 u, float64")
    axes.axvline(8 * ROUND_OFF["float32"], color=COLORS["float32"], linestyle=":", linewidth=1, label="8 u, float32")
    axes.axhspan(len(arms) - len(style.controls(rows)) - 0.5, len(arms) - 0.5, color=style.CONTROL, alpha=0.06, lw=0)
    zero = " (at the left edge: exactly 0)" if (worst["value"] <= floor).any() else ""
    axes.set(xlabel=f"normwise residual, worst layer of each case{zero}", ylabel="")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), title="")
    return figure
