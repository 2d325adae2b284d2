"""In the lazy regime the features and y_OLS stay nearly fixed; in the rich regime both move.

y_OLS is the best linear predictor of the labels on the features; the network chases it in training. The lazy networks
have the NTK scaling, and the rich ones the standard parametrization, at the widths of A.fig8. The paper draws this
without numbers, so we compare lazy and rich networks with each other. The asserted statement asks that the lazy
features move less than the rich ones, and the less the wider the network. It does not show that they are “effectively
fixed”: at the quick scale they move by 0.13 to 0.39 of their norm and pass.

At the paper scale, a statement of ours calls features fixed if they move by less than a tenth of their norm in the
widest network. It is ours because the caption names neither a number nor a width. A network is lazy only in the limit
of infinite width, so a miss at a finite width would not refute the caption. A.fig8 asserts the same limit, because
there the paper calls a network of the width 1,024 lazy. It judges Figure 8's own scaling, which makes no network lazy.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import case_number

ID = "A.fig3"
KIND = "statistical"
TITLE = "Lazy networks chase a fixed target, rich networks a moving one"
PRINTED = "a drawing, Figure 3: “effectively fixed” features; “a moving target”"
MATH = (
    r"\frac{\| H_t - H_0 \|_F}{\| H_0 \|_F} \text{ is smaller in the lazy than in the rich regime}",
    (
        r"f_{\text{OLS},t} = H_t^\top (H_t H_t^\top)^{-1} H_t\, y \text{ stays in the lazy regime and "
        r"moves in the rich}"
    ),
)
FIXED = 0.1  # of the norm of the features: effectively fixed, as in A.fig8
PATHS = {
    "f": (style.COLORS["network"], "o", "network fₜ"),
    "ols": (style.COLORS["linear predictor"], "s", "linear predictor f_OLS,ₜ"),
}
MOVEMENTS = {
    "linearization": "distance from linearization",
    "features": "movement of the features",
    "target": "movement of f_OLS",
}
COLORS = {"lazy": style.SKY, "rich": style.PURPLE}


def near_linearization(rows: Rows) -> Finding:
    """At every width the lazy network's outputs stay nearer to those of its linearization than the rich network's."""
    return _less_in_lazy(
        rows, "linearization", "distance from the linearization relative to the movement of the outputs"
    )


def features_move_less(rows: Rows) -> Finding:
    """The lazy network's features move less than the rich one's, and the less the wider it is; no amount is tested."""
    lazy = _final(rows, "lazy/features")
    finding = all_of(
        less_than_rich=_less_in_lazy(rows, "features", "movement of the features relative to their norm"),
        less_with_width=trend(-lazy, "the relative movement of the lazy features falls with the width"),
    )
    means = {regime: _final(rows, f"{regime}/features").mean(0) for regime in COLORS}
    by_regime = [f"{', '.join(f'{mean:.2f}' for mean in of_regime)} in {regime} networks"
                 for regime, of_regime in means.items()]  # fmt: skip
    widths = ", ".join(f"{width:g}" for width in by_number(rows.where(quantity="lazy/features"))[0])
    measured = f"relative to their norm, the features move by {' and by '.join(by_regime)} of the widths {widths}"
    return replace(finding, measured=measured)


def features_fixed_at_the_widest(rows: Rows) -> Finding:
    """At the widest the lazy network's features move by less than a tenth of their norm, as A.fig8 asks."""
    movement = _final(rows, "lazy/features")[:, -1]
    finding = positive(
        FIXED - movement, f"{FIXED:g} minus the relative movement of the lazy features at the widest width"
    )
    measured = f"the features of the widest lazy network move by {movement.mean():.2f} of their norm"
    return replace(finding, measured=measured)


def target_moves(rows: Rows) -> Finding:
    """The linear predictor y_OLS moves further in the rich network, at every width but the widest, where y_OLS is y."""
    return _less_in_lazy(rows, "target", "movement of y_OLS relative to the norm of y", widths=-1)


def _less_in_lazy(rows: Rows, name: str, label: str, widths: int | None = None) -> Finding:
    rich, lazy = (_final(rows, f"{regime}/{name}")[:, :widths] for regime in ("rich", "lazy"))
    network_widths = by_number(rows.where(quantity=f"rich/{name}"))[0]
    return all_of(
        **{f"width {width:g}": positive(lead, f"{label}, rich minus lazy")
           for width, lead in zip(network_widths, (rich - lazy).T, strict=False)}
    )  # fmt: skip


def _final(rows: Rows, quantity: str) -> np.ndarray:
    """After training, by seed and width."""
    return by_number(rows.where(quantity=quantity))[1][:, :, -1]


CONTROLS = {
    "lazy by width alone": Control(
        text="The lazy networks have outputs divided by the root of the width in place of the NTK scaling.",
        equal_quantities=("rich/features", "rich/linearization", "rich/target"),
        equal_because="The control replaces the lazy networks; the rich ones are the claim's.",
    ),
}
RETIRED = {"untrained": "Its networks never moved: each movement was exactly 0, at any seed."}
STATEMENTS = (
    Statement(
        name="near its linearization",
        quote="In the lazy regime, the network remains close to its linearization",
        place="Figure 3, caption",
        rule=near_linearization,
        reads=("lazy/linearization", "rich/linearization"),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="features move less than in the rich network",
        quote="the feature map H_∞ is effectively fixed",
        place="Figure 3, caption",
        rule=features_move_less,
        reads=("lazy/features", "rich/features"),
        cases={"quick": 3, "paper": 4},
    ),
    Statement(
        name="features fixed at the widest",
        quote="the feature map H_∞ is effectively fixed",
        place="Figure 3, caption",
        rule=features_fixed_at_the_widest,
        reads=("lazy/features",),
        kind="ours",  # the caption names neither a number nor a width
        cases=4,
        scales=("paper",),  # the widest network of the quick scale has a quarter of the width
    ),
    Statement(
        name="a moving target",
        quote="In the rich regime, finite-width features H_t evolve during training, inducing a moving target "
        "f_OLS,t that f_t chases",
        place="Figure 3, caption",
        rule=target_moves,
        reads=("lazy/target", "rich/target"),
        cases={"quick": 3, "paper": 4},
        stands_in="The control does not break the statement: its networks are not lazy, and still their y_OLS moves "
        "less than that of the rich ones. Shuffled labels cannot break the statement either, since the best linear "
        "predictor of any labels moves where the features move. A test shows that the rule refutes a table in which "
        "y_OLS moves further in the lazy networks.",
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paths of a lazy and of a rich network of seed 0 as in the paper, and the measures of the statements."""
    figure, grid = style.panels(claim, columns=3, rows=2, height=5.4)
    for axes, regime in zip(grid[0], COLORS, strict=False):
        path = rows[(rows["arm"] == "claim") & rows["quantity"].str.startswith(f"{regime}/plane/")]
        _draw_paths(axes, path, regime)
        width = case_number(path["case"].iloc[0])
        axes.set(title=f"{regime}, width {width:g}, seed 0", xlabel="along y", ylabel="across y")
    for axes, (name, label) in zip(grid.flat[2:], MOVEMENTS.items(), strict=False):
        _draw_movement(axes, rows, name)
        widths = sorted({case_number(case) for case in rows["case"]})
        axes.set(xscale="log", xlabel="width", ylabel=label, ylim=(0, None))
        axes.set_xticks(widths, [f"{width:g}" for width in widths])
        axes.set_xticks([], minor=True)
    grid[1, 2].remove()
    note = f"{style.meaning_of_lines(rows)}; paths: hollow before training"
    style.legend(figure, [grid[0, 0], grid[1, 0]], 2, note)
    return figure


def _draw_paths(axes: Axes, rows: pd.DataFrame, regime: str) -> None:
    path = rows[rows["quantity"].str.startswith(f"{regime}/plane/")].pivot_table(
        index="x", columns="quantity", values="value"
    )
    for name, (color, marker, label) in PATHS.items():
        along, across = path[f"{regime}/plane/{name}/0"], path[f"{regime}/plane/{name}/1"]
        axes.plot(along, across, color=color, marker=marker, markersize=3, linewidth=1, label=label)
        axes.plot(along.iloc[0], across.iloc[0], marker=marker, markersize=8, color=color, fillstyle="none")
    axes.plot(1, 0, "*", color=style.GUIDE, markersize=10, label="target y")


def _draw_movement(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    """A measure of the trained networks against the width, of both regimes and of the controls' lazy networks."""
    rows = rows[rows["step"] == rows["step"].max()]
    rows = rows.assign(width=rows["case"].map(case_number))
    for regime, color in COLORS.items():
        movement = rows[(rows["quantity"] == f"{regime}/{name}") & (rows["arm"] == "claim")]
        style.seeds(axes, movement, "width", color, marker="o", markersize=4, label=regime)
    for arm, dashes in zip(style.controls(rows[rows["quantity"] == f"lazy/{name}"]), (":", "--"), strict=False):
        movement = rows[(rows["quantity"] == f"lazy/{name}") & (rows["arm"] == arm)]
        style.seeds(axes, movement, "width", style.CONTROL, linestyle=dashes, marker="X", markersize=4, linewidth=1,
                    label=f"lazy, {arm}")  # fmt: skip
