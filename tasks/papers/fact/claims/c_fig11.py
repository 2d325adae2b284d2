"""In deep linear networks of L layers trained with weight decay cos(AGOP^(1/L), W_1^T W_1) is close to 1.

Other powers are worse, FACT's cosine is at least 0.999 at every depth, and the layers are balanced: their singular
values agree. "Close to 1": above 0.99; "identical" singular values: to 5 % of the largest.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, every, positive

ID = "C.fig11"
KIND = "statistical"
TITLE = "Deep linear networks: AGOP needs the power 1/L, FACT none"
PRINTED = "AGOP^(1/L) close to 1, FACT ≥ 0.999 for every depth, singular values identical, Figure 11"
QUANTITIES = ("cosine/agop", "cosine/fact", "balance", "null/agop", "null/fact")


def rule(rows: Rows) -> Finding:
    """Each depth by itself, Student's t over seeds; the best of the other powers is compared in Fisher's z."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), one in rows.by("case").items():
        agop = one.where(quantity="cosine/agop")
        at_power = {x: found.value[np.argsort(found.seed)] for (x,), found in agop.by("x").items()}
        own = at_power.pop(1 / int(case.removeprefix("L")))
        fact, balance = (one.where(quantity=name).value for name in ("cosine/fact", "balance"))
        others = np.max(list(at_power.values()), axis=0)
        lead = np.arctanh(np.minimum(own, 1 - 1e-15)) - np.arctanh(np.minimum(others, 1 - 1e-15))
        parts |= {
            f"{case}, AGOP": positive(own - 0.99, f"{case}: cosine of AGOP^(1/L) minus 0.99"),
            f"{case}, other powers": positive(lead, f"{case}: z of the power 1/L minus z of the best other"),
            f"{case}, FACT": positive(fact - 0.999, f"{case}: FACT's cosine minus 0.999"),
            f"{case}, balance": positive(0.05 - balance, f"{case}: 0.05 minus the spread of singular values"),
        }
        for name, values in (("agop", own), ("fact", fact)):  # tables of before it was measured have no null
            if len(null := one.where(quantity=f"null/{name}").value):
                lead = np.arctanh(np.minimum(values, 1 - 1e-15)) - np.arctanh(null)
                part = f"{case}, {name} above its null"
                parts[part] = positive(lead, f"z of {name} minus its null's 97.5 % quantile, where the table has one")
        numbers |= {f"{case}: AGOP^(1/L)": own.mean(), f"{case}: FACT": fact.mean(), f"{case}: spread": balance.mean()}
    found = every(**parts)
    return replace(found, numbers={**found.numbers, **{name: float(value) for name, value in numbers.items()}})


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw mean and Student's interval over seeds; the power 1/L is marked."""
    cases = sorted(case for case in rows["case"].unique() if case.startswith("L") and "," not in case)
    figure, grid = style.panels(claim, columns=len(cases), height=3.3, width=7.8)
    for axes, case in zip(grid[0], cases, strict=True):
        for arm in ["claim", *style.controls(rows)]:
            one = rows[(rows["case"] == case) & (rows["arm"] == arm)]
            color = style.CLAIM if arm == "claim" else style.CONTROL
            mark = style.MARKS["claim" if arm == "claim" else "control"]
            style.band(axes, one[one["quantity"] == "cosine/agop"], "x", color, marker=mark, label=f"AGOP^s, {arm}")
            fact = one[one["quantity"] == "cosine/fact"]["value"].mean()
            axes.axhline(fact, color=color, linestyle="--", linewidth=1, label=f"FACT, {arm}")
        depth = int(case.removeprefix("L"))
        axes.axvline(1 / depth, color=style.PRINTED, linestyle=":", linewidth=1, label="s = 1/L")
        axes.set(title=f"L = {depth}", xlabel="power s")
    grid[0, 0].set_ylabel("cosine with W₁ᵀW₁")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure
