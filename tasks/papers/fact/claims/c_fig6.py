"""Addition modulo 61 is learned by both updates with delay: all of the table's other half, long after the first.

FACT-RFM with geometric averaging and NFA-RFM: their best iterate is right on every sample of that half. From 95 % on
they are said to generalise, which without feature learning neither does. The features are then block-circulant: within
each block an entry depends on i - j, or on i + j, modulo p alone.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "C.fig6"
KIND = "statistical"
TITLE = "Modular addition: delayed generalisation and circulant features"
PRINTED = "100 % test accuracy of both within 75 iterations, block-circulant features, Figure 6"
QUANTITIES = ("modular/accuracy", "modular/train accuracy", "modular/circulancy", "modular/feature")
LINES = ("accuracy", "train accuracy", "circulancy")
FITTED, LEARNED = 0.99, 0.95  # accuracies from which a machine has fitted, and generalises


def rule(rows: Rows) -> Finding:
    """By seeds, for both: all right at the best iterate, a delay, half of the features' variance circulant."""
    parts, measured = {}, []
    for (case,), machine in rows.by("case").items():
        found: dict[str, list[float]] = {"delay": [], "circulancy": []}
        best, last = [], []
        for seed in machine.by("seed").values():
            line = {name: seed.where(quantity=f"modular/{name}") for name in LINES}
            x = np.sort(line["accuracy"].x)
            test, train, circulant = (one.value[np.argsort(one.x)] for one in line.values())
            learned = bool((test >= LEARNED).any())
            best.append(float(test.max()))
            last.append(float(test[-1]))
            fitted = bool((train >= FITTED).any())
            delay = x[(test >= LEARNED).argmax()] - x[(train >= FITTED).argmax()]
            found["delay"].append(float(delay) if learned and fitted else -1.0)
            found["circulancy"].append(float(circulant[-1]))
        parts[f"{case}: 100 %"] = _everywhere(np.array(best), float(np.mean(last)))
        measured.append(f"{case} reaches 100 % in {sum(one == 1 for one in best)} of {len(best)} seeds")
        measured[-1] += f", at least {100 * min(best):.4g} %"
        least = {"delay": 0.0, "circulancy": 0.5}
        what = {
            "delay": f"iterates from a training accuracy of {FITTED} to a test accuracy of {LEARNED} (never: -1)",
            "circulancy": "circulant share of the features' variance",
        }
        for name, values in found.items():
            finding = positive(np.array(values) - least[name], f"{what[name]} - {least[name]:g}")
            parts[f"{case}: {name}"] = replace(finding, numbers={"mean": float(np.mean(values))})
    return replace(every(**parts), measured="; ".join(measured))


def _everywhere(best: np.ndarray, last: float) -> Finding:
    """Printed is 100 %, of one run: true in every seed, in none, or undecided. No mean is above 1, as t tests need."""
    share = float(np.mean(best == 1))
    holds = {1.0: True, 0.0: False}.get(share)
    rule = f"share of {len(best)} seeds whose best test accuracy is 1: holds if all, fails if none"
    numbers = {"mean of the best iterates": float(best.mean()), "mean at the last iterate": last}
    return Finding(holds, share, rule, "direction", p=0.0 if holds else 1.0, numbers=numbers, sample=tuple(best))


CURVES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "circulancy": (style.PRINTED, "-.")}
NAMES = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "circulancy": "circulant share"}
DOTS = {"control: no feature learning": ("accuracy", ":"), "control: numbers relabelled": ("circulancy", "-.")}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a column for each update: the curves, with the controls', and under them the first seed's features."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), rows=2, height=6.6, width=3.6 * len(cases))
    for column, case in enumerate(cases):
        one, axes = rows[rows["case"] == case], grid[0, column]
        for what, (color, dashes) in CURVES.items():
            line = one[(one["arm"] == "claim") & (one["quantity"] == f"modular/{what}")]
            style.band(axes, line, "x", color, linestyle=dashes, label=NAMES[what])
        for arm, (what, dashes) in DOTS.items():
            line = one[(one["arm"] == arm) & (one["quantity"] == f"modular/{what}")]
            style.band(axes, line, "x", style.CONTROL, linestyle=dashes, label=f"{NAMES[what]}, {arm}")
        axes.set(title=case, xlabel="iteration", ylim=(-0.02, 1.02))
        features = one[(one["arm"] == "claim") & (one["quantity"] == "modular/feature")]
        style.image(grid[1, column], features, "M at the last iteration (first seed)")
    title = f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7, title=title)
    return figure
