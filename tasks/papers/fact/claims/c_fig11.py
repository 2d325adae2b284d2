"""In deep linear networks of L layers, trained with weight decay, cos(AGOP^(1/L), W_1^T W_1) is close to 1.

Other powers are worse, FACT's cosine is at least 0.999 at every depth, and the layers are balanced: their singular
values agree. "Close to 1" means above 0.99; singular values agree if they differ by at most 5 % of the largest.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive

ID = "C.fig11"
KIND = "statistical"
TITLE = "Deep linear networks: AGOP needs the power 1/L, FACT none"
AGOP, FACT, SPREAD = 0.99, 0.999, 0.05  # least cosines (FACT's is printed), largest spread of singular values
PRINTED = f"AGOP^(1/L) close to 1, FACT ≥ {FACT} for every depth, singular values identical, Figure 11"
QUANTITIES = ("cosine/agop", "cosine/fact", "balance", "null/agop", "null/fact")


def rule(rows: Rows) -> Finding:
    """Each depth separately, Student's t over seeds; powers and nulls are compared in Fisher's z."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), depth in rows.by("case").items():
        by_power = depth.where(quantity="cosine/agop").by("x")
        cosines = {power: power_rows.value[np.argsort(power_rows.seed)] for (power,), power_rows in by_power.items()}
        agop = cosines.pop(1 / int(case.removeprefix("L")))
        fact, spread = (depth.where(quantity=name).value for name in ("cosine/fact", "balance"))
        lead = _z(agop) - _z(np.max(list(cosines.values()), axis=0))
        parts |= {
            f"{case}, AGOP": positive(agop - AGOP, f"{case}: cosine of AGOP^(1/L) minus {AGOP:g}"),
            f"{case}, other powers": positive(lead, f"{case}: z of the power 1/L minus z of the best other"),
            f"{case}, FACT": positive(fact - FACT, f"{case}: FACT's cosine minus {FACT:g}"),
            f"{case}, balance": positive(SPREAD - spread, f"{case}: {SPREAD:g} minus the spread of singular values"),
        }
        for name, values in (("agop", agop), ("fact", fact)):
            if len(null := depth.where(quantity=f"null/{name}").value):  # older tables have no null
                text = f"z of {name} minus its null's 97.5 % quantile, where the table has one"
                parts[f"{case}, {name} above its null"] = positive(_z(values) - np.arctanh(null), text)
        means = {"AGOP^(1/L)": agop, "FACT": fact, "spread": spread}
        numbers |= {f"{case}: {name}": float(values.mean()) for name, values in means.items()}
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers})


def _z(cosines: np.ndarray) -> np.ndarray:
    return np.arctanh(np.minimum(cosines, 1 - 1e-15))


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw mean and Student's interval over seeds of each power of AGOP; the power 1/L is marked."""
    cases = sorted(case for case in rows["case"].unique() if case.startswith("L") and "," not in case)
    figure, grid = style.panels(claim, columns=len(cases), height=3.3, width=7.8)
    for axes, case in zip(grid[0], cases, strict=True):
        for arm in ["claim", *style.controls(rows)]:
            arm_rows = rows[(rows["case"] == case) & (rows["arm"] == arm)]
            color = style.CLAIM if arm == "claim" else style.CONTROL
            mark = style.MARKS["claim" if arm == "claim" else "control"]
            agop = arm_rows[arm_rows["quantity"] == "cosine/agop"]
            style.band(axes, agop, "x", color, marker=mark, label=f"AGOP^s, {arm}")
            fact = arm_rows[arm_rows["quantity"] == "cosine/fact"]["value"].mean()
            axes.axhline(fact, color=color, linestyle="--", linewidth=1, label=f"FACT, {arm}")
        depth = int(case.removeprefix("L"))
        axes.axvline(1 / depth, color=style.PRINTED, linestyle=":", linewidth=1, label="s = 1/L")
        axes.set(title=f"L = {depth}", xlabel="power s")
    grid[0, 0].set_ylabel("cosine with W₁ᵀW₁")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure
