"""Both updates learn addition modulo 61 with a delay: long after the training half they know all of the other half.

FACT-RFM with geometric averaging and NFA-RFM are right on every test sample at their best iterate. A machine is said to
generalise from a test accuracy of 95 % on; without feature learning neither does. The features become block-circulant:
within each block an entry depends on i - j alone, or on i + j alone, modulo p.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "C.fig6"
KIND = "statistical"
TITLE = "Modular addition: delayed generalisation and circulant features"
PRINTED = "100 % test accuracy of both within 75 iterations, block-circulant features, Figure 6"
QUANTITIES = ("modular/accuracy", "modular/train accuracy", "modular/circulancy", "modular/feature")
FITTED, LEARNED = 0.99, 0.95  # a machine has fitted from this training accuracy, generalises from this test accuracy
LEAST = {"delay": 0.0, "circulancy": 0.5}
WORDS = {
    "delay": f"iterations from training accuracy {FITTED} to test accuracy {LEARNED}, or -1 if never,",
    "circulancy": "circulant share of the features' variance",
}
LINES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "circulancy": (style.PRINTED, "-.")}
LABELS = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "circulancy": "circulant share"}
CONTROL_LINES = {"control: no feature learning": ("accuracy", ":"), "control: numbers relabelled": ("circulancy", "-.")}


def rule(rows: Rows) -> Finding:
    """By seed, for both updates: 100 % at the best iterate, a delay, and over half of the variance circulant."""
    parts: dict[str, Finding] = {}
    measured = []
    for (case,), machine in rows.by("case").items():
        values: dict[str, list[float]] = {name: [] for name in LEAST}
        best, last = [], []
        for seed in machine.by("seed").values():
            (x, test), (_, train), (_, circulant) = (
                _curve(seed, name) for name in ("accuracy", "train accuracy", "circulancy")
            )
            best.append(float(test.max()))
            last.append(float(test[-1]))
            learned, fitted = test >= LEARNED, train >= FITTED
            delay = x[learned.argmax()] - x[fitted.argmax()]
            values["delay"].append(float(delay) if learned.any() and fitted.any() else -1.0)
            values["circulancy"].append(float(circulant[-1]))
        parts[f"{case}: 100 %"] = _all_seeds(np.array(best), float(np.mean(last)))
        reached = f"{best.count(1.0)} of {len(best)} seeds, at least {100 * min(best):.4g} %"
        measured.append(f"{case} reaches 100 % in {reached}")
        for name, least in LEAST.items():
            finding = positive(np.array(values[name]) - least, f"{WORDS[name]} minus {least:g}")
            parts[f"{case}: {name}"] = replace(finding, numbers={"mean": float(np.mean(values[name]))})
    return replace(all_of(**parts), measured="; ".join(measured))


def _curve(rows: Rows, name: str) -> tuple[np.ndarray, np.ndarray]:
    line = rows.where(quantity=f"modular/{name}")
    ascending = np.argsort(line.x)
    return line.x[ascending], line.value[ascending]


def _all_seeds(best: np.ndarray, last: float) -> Finding:
    """Whether the printed 100 %, of one run, is true in every seed, in none, or undecided.

    A t test cannot judge it: no mean is above 1.
    """
    share = float(np.mean(best == 1))
    holds = {1.0: True, 0.0: False}.get(share)
    text = f"share of {len(best)} seeds whose best test accuracy is 1: holds if all, fails if none"
    numbers = {"mean of the best iterates": float(best.mean()), "mean at the last iterate": last}
    return Finding(holds, share, text, "direction", p=0.0 if holds else 1.0, numbers=numbers, sample=tuple(best))


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a column for each update: its curves and the controls', and below them the first seed's features."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(cases), rows=2, height=6.6, width=3.6 * len(cases))
    for column, case in enumerate(cases):
        case_rows, axes = rows[rows["case"] == case], grid[0, column]
        for name, (color, dashes) in LINES.items():
            line = case_rows[(case_rows["arm"] == "claim") & (case_rows["quantity"] == f"modular/{name}")]
            style.band(axes, line, "x", color, linestyle=dashes, label=LABELS[name])
        for arm, (name, dashes) in CONTROL_LINES.items():
            line = case_rows[(case_rows["arm"] == arm) & (case_rows["quantity"] == f"modular/{name}")]
            style.band(axes, line, "x", style.CONTROL, linestyle=dashes, label=f"{LABELS[name]}, {arm}")
        axes.set(title=case, xlabel="iteration", ylim=(-0.02, 1.02))
        features = case_rows[(case_rows["arm"] == "claim") & (case_rows["quantity"] == "modular/feature")]
        style.image(grid[1, column], features, "M at the last iteration (first seed)")
    title = f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7, title=title)
    return figure
