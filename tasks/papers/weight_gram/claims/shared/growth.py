"""Growth of the surrogate and of Target Linearity in training and with depth: rule and figure of A.fig4 and A.fig9."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves, kendall
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set, displayed_name
from tasks.papers.weight_gram.claims.shared.figures import interval_over_seeds, legend_below

LAWS = ("exponential", "linear", "logarithmic")
DATA_SETS = ("CIFAR-10", "CIFAR-100")  # rows of panels, as in the paper
PANELS = {"surrogate": "surrogate tr(YᵀGY)", "target_linearity": "target linearity (λ = 0)"}
NOTHING: Mapping = MappingProxyType({})


def errors_of_laws(t: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Least squared errors of the laws a e^(bt), a + b t and a + b log(1 + t), two parameters each.

    The exponential's rate comes from a fine grid, its scale in closed form.
    """

    def linear(u: np.ndarray) -> float:
        design = np.stack([np.ones_like(u), u], 1)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    shapes = np.exp(np.linspace(-20, 20, 4001)[:, None] * (t / t.max() - 0.5))
    scales = shapes @ y / (shapes**2).sum(1)
    exponential = ((y - scales[:, None] * shapes) ** 2).sum(1).min()
    return dict(zip(LAWS, (float(exponential), linear(t), linear(np.log1p(t))), strict=True))


def lead_of_law(t: np.ndarray, series: np.ndarray, law: str) -> np.ndarray:
    """Per seed, the mean over layers of log(squared error of the best other law / that of this law).

    ``series`` has the axes (seeds, layers, times).
    """
    leads = np.zeros(series.shape[:2])
    for index in np.ndindex(leads.shape):
        errors = errors_of_laws(t, series[index])
        error = errors.pop(law)
        leads[index] = np.log(min(errors.values()) / error)
    return leads.mean(axis=1)


def least_trend(series: np.ndarray) -> np.ndarray:
    """Per seed, the least Kendall's tau with time of series (seeds, any number, times).

    The difference of a series' ends would miss a fall between them.
    """
    return np.array([min(map(kendall, seed)) for seed in series])


def rule(rows: Rows, least_linearity: Mapping[str, float] = NOTHING, least_accuracy: float | None = None) -> Finding:
    """The surrogate S and Target Linearity T (TL) grow in training and with the layer's index.

    On every data set, per seed: the least growth over layers, the least Kendall's tau with time, the least step from a
    layer to the next, and how well S fits an exponential and T a logarithmic law. After training the last layer's TL
    exceeds the data set's ``least_linearity``, if it has one, and the training accuracy ``least_accuracy``, where the
    table has accuracies.
    """
    law = "log(squared error of the best other law / that of this law), mean over layers"
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    measured = []
    for data_set, selected in by_data_set(rows).items():
        S, T = (curves(selected.where(quantity=name), "seed", "layer") for name in ("surrogate", "target_linearity"))
        t = np.unique(selected.where(quantity="surrogate").x)
        tests = {
            "surrogate_in_training": (np.log(S[:, :, -1] / S[:, :, 0]).min(1),
                                      "least log growth of the surrogate over layers"),
            "linearity_in_training": ((T[:, :, -1] - T[:, :, 0]).min(1), "least growth of TL over layers"),
            "surrogate_throughout": (least_trend(S), "least Kendall's tau of the surrogate and time over layers"),
            "linearity_throughout": (least_trend(T), "least Kendall's tau of TL and time over layers"),
            "surrogate_with_layer": (np.diff(np.log(S[:, :, -1]), axis=1).min(1),
                                     "least log step of the surrogate to the next layer"),
            "linearity_with_layer": (np.diff(T[:, :, -1], axis=1).min(1), "least step of TL to the next layer"),
            "surrogate_exponential": (lead_of_law(t, S, "exponential"), law),
            "linearity_logarithmic": (lead_of_law(t, T, "logarithmic"), law),
        }  # fmt: skip
        if data_set in least_linearity:
            level = least_linearity[data_set]
            tests["last_layer"] = (T[:, -1, -1] - level, f"last layer's TL minus {level:g}")
        accuracies = {part: curves(accuracy, "seed")[:, -1] for part in ("train", "test")
                      if len(accuracy := selected.where(quantity=f"{part}_accuracy"))}  # fmt: skip
        if least_accuracy is not None and accuracies:
            tests["fitted"] = (accuracies["train"] - least_accuracy, f"training accuracy minus {least_accuracy:g}")
        parts |= {f"{data_set}, {name}": positive(values, what) for name, (values, what) in tests.items()}
        numbers |= {f"{data_set}, {part} accuracy": float(values.mean()) for part, values in accuracies.items()}
        failed = [name.replace("_", " ") for name, (values, _) in tests.items() if values.mean() <= 0]
        measured.append(f"{data_set}, last-layer TL {T[:, -1, 0].mean():.3f} → {T[:, -1, -1].mean():.3f}"
                        + (f", fails: {', '.join(failed)}" if failed else ""))  # fmt: skip
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers}, measured="; ".join(measured))


def draw(rows: pd.DataFrame, claim: ModuleType, levels: Mapping[str, tuple[float, str]] = NOTHING) -> Figure:
    """Draw for each data set both quantities against the epoch as in the paper: layers from yellow to dark purple.

    ``levels``: by data set the printed Target Linearity of the last layer, and how its legend shows it.
    """
    data_sets = [name for name in DATA_SETS if name in set(rows["case"])]
    figure, grid = style.panels(claim, columns=2, rows=len(data_sets), height=0.9 + 2.5 * len(data_sets), width=7.6)
    for panels, data_set in zip(grid, data_sets, strict=True):
        panels[0].set_yscale("log")
        selected = rows[rows["case"] == data_set]
        trained = selected[selected["arm"] == "claim"]
        for axes, (quantity, label) in zip(panels, PANELS.items(), strict=True):
            style.layers(axes, trained[trained["quantity"] == quantity])
            for arm in style.controls(selected):
                control = selected[(selected["arm"] == arm) & (selected["quantity"] == quantity)]
                for layer in sorted(control["layer"].unique())[-1:]:
                    style.band(axes, control[control["layer"] == layer], "x", style.CONTROL, linestyle=":", marker="X",
                               markersize=3, label=f"layer {layer}, {arm}")  # fmt: skip
            axes.set(xlabel="epoch", ylabel=label)
            style.accuracies(axes, trained)
        if data_set in levels:
            panels[1].axhline(levels[data_set][0], color=style.PRINTED, linewidth=0.8, linestyle="-.",
                              label=f"paper's layer 4: {', '.join(levels[name][1] for name in data_sets)}")  # fmt: skip
        panels[0].set_title(displayed_name(data_set, rows), fontsize=9, loc="left")
        panels[1].set_ylim(top=1)
    intervals = interval_over_seeds(rows[rows["arm"] == "claim"])
    legend_below(figure, [grid[0, 1]], 3, f"mean (surrogate: geometric) and {intervals}")
    return figure
