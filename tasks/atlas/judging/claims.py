"""The papers' claims that depend on a choice: one comparison under all choices that the stored numbers allow.

Each comparison asks whether one quantity is ahead of another, paired by seed. It uses the stored tables alone. These
choices would need new measurements:

- the cosine for A.fig7 and paper C's claims, and Pearson's correlation for B.fig1, B.fig2 and D.fig10
- the change of WᵀW and the diagonals for all but A.fig7
- another layer or snapshot for A.fig7, B.fig1 and C.tab2
- nulls before the end of training for C.fig3 and C.fig8
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tasks.atlas.judging.contest import skill
from tasks.judging.statistics import interval

MEAN, FIRST, LAST = "mean of layers", "first layer", "last hidden layer"
END, BEFORE = "end of training", "two thirds of the snapshots"


@dataclass(frozen=True)
class Comparison:
    """A claim as a comparison of two quantities of a table.

    Attributes
    ----------
    claim, table : str
        Their keys.
    says : str
        What is compared, for people.
    first, second : str
        Names of quantities, in which ``{...}`` is a choice's value. ``second`` may be a null.
    choices : dict of str to tuple of str
        The values of each choice, the paper's value first.
    null : str
        The name of a quantity's null; empty if the table has none. ``{quantity}`` is the quantity's last part.
    layers, snapshots : tuple of str
        Some of MEAN, FIRST and LAST, and of END and BEFORE; the paper's choice first. Empty if the table has one only.
    null_snapshots : tuple of str
        The snapshots that have nulls.
    replacements : dict of str to (str, str)
        The arm and the quantity that replace ``second``, by the value of a choice.
    arm : str
    readout : str
        The name of the readout, where the table has it among its layers.
    """

    claim: str
    table: str
    says: str
    first: str
    second: str
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    null: str = ""
    layers: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    null_snapshots: tuple[str, ...] = (END, BEFORE)
    replacements: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    arm: str = "claim"
    readout: str = ""

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The values of every choice, the paper's value first."""
        axes = {**self.choices, "layer": self.layers, "snapshot": self.snapshots,
                "contrast": ("raw", "above null") if self.null else ()}  # fmt: skip
        return {name: values for name, values in axes.items() if values}

    @property
    def combinations(self) -> list[dict[str, str]]:
        """All combinations of values, by the choice's name; the paper's combination is the first."""
        combinations = [dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())]
        return [
            choice
            for choice in combinations
            if choice.get("contrast") != "above null" or choice.get("snapshot", END) in self.null_snapshots
        ]


OF_FACT = {"form of FACT": ("fact", "symmetric fact"), "side": ("", "back_")}
ROOTS = {**OF_FACT, "power of the AGOP": ("agop", "root agop")}
FACT_AHEAD = ("pearson/{side}{form of FACT}", "pearson/{side}{power of the AGOP}")
COMPARISONS = (
    Comparison("a_fig7", "a_fig7", "the virtual covariance shift is ahead of the AGOP",
               "pearson/vcs_{target}_{entries}",
               "pearson/agop_{target}_{entries}", {"target": ("gram", "change"), "entries": ("diagonal", "whole")},
               null="null/{quantity}"),
    Comparison("b_fig1", "b_fig1", "K is ahead of a matrix of its spectrum", "nfa/K", "nfa/Q",
               {"eigenvectors of the other matrix": ("random", "another network's")},
               replacements={"another network's": ("control: another network's eigenvectors", "nfa/K")}),
    Comparison("b_fig2", "b_centerings", "the centered NFA is ahead of the uncentered one", "nfa/centered",
               "nfa/uncentered", null="null/{quantity}", layers=(MEAN, FIRST, LAST), snapshots=(END, BEFORE)),
    Comparison("c_tab2", "c_tab2", "FACT is ahead of the AGOP, with the printed decay", *FACT_AHEAD, ROOTS,
               null="null/{quantity}"),
    Comparison("c_tab2", "c_tab2", "FACT is ahead of the AGOP, with ten times the decay", *FACT_AHEAD, ROOTS,
               null="null/{quantity}", arm="corrected"),
    Comparison("c_fig3", "c_fig8", "FACT is ahead of the AGOP in a network of five hidden layers", *FACT_AHEAD, ROOTS,
               null="null/{quantity}", layers=(MEAN, FIRST, LAST), snapshots=(END, BEFORE), null_snapshots=(END,),
               readout="10"),
    Comparison("c_fig8", "c_fig8", "FACT is ahead of the eNFA in a network of five hidden layers",
               "pearson/{side}{form of FACT}", "pearson/{side}{power of the eNFA}",
               {**OF_FACT, "power of the eNFA": ("enfa", "root enfa")},
               null="null/{quantity}", layers=(MEAN, FIRST, LAST), snapshots=(END, BEFORE), null_snapshots=(END,),
               readout="10"),
    Comparison("d_fig10", "d_mlp", "the NFA is above its null", "nfa", "nfa/null", layers=(MEAN, FIRST, LAST),
               snapshots=(END, BEFORE)),
)  # fmt: skip


def multiverse_of_claims(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Each comparison under all its choices, without comparisons whose table is missing.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Rows of gramlab tables by the experiment's key.

    Returns
    -------
    list of dict
        "claim", "says", "own" (the verdict with the paper's own choices), "choices" (their number), "ahead", "tie" and
        "behind" (the number of choices with each verdict), "agree" (with the paper's choices), and "others": the
        choices that disagree, with [mean, low, high].
    """
    return [_universe(comparison, tables[comparison.table]) for comparison in COMPARISONS if comparison.table in tables]


def _universe(comparison: Comparison, table: pd.DataFrame) -> dict[str, Any]:
    verdicts = []
    for choice in comparison.combinations:
        replaced = [comparison.replacements[value] for value in choice.values() if value in comparison.replacements]
        other = replaced[0] if replaced else (comparison.arm, comparison.second)
        first, second = (_by_seed(comparison, table[table["arm"] == arm], name, choice)
                         for arm, name in ((comparison.arm, comparison.first), other))  # fmt: skip
        seeds = first.index.intersection(second.index)
        mean, low, high = interval((first[seeds] - second[seeds]).to_numpy())
        verdict = "ahead" if low > 0 else "behind" if high < 0 else "tie"
        verdicts.append((choice, verdict, [mean, low, high]))
    papers_verdict = verdicts[0][1]
    counts = {name: sum(verdict == name for _, verdict, _ in verdicts) for name in ("ahead", "tie", "behind")}
    others = [{**choice, "verdict": verdict, "lead": lead} for choice, verdict, lead in verdicts
              if verdict != papers_verdict]  # fmt: skip
    return {"claim": comparison.claim, "says": comparison.says, "own": papers_verdict, "choices": len(verdicts),
            **counts, "agree": counts[papers_verdict], "others": others}  # fmt: skip


def _by_seed(comparison: Comparison, rows: pd.DataFrame, pattern: str, choice: dict[str, str]) -> pd.Series:
    """A quantity's mean for each seed: over cases, and over layers and snapshots as the choice says."""
    name = pattern.format(**choice)
    values = _values(comparison, rows, name, choice)
    if choice.get("contrast") == "above null":
        null = _values(comparison, rows, comparison.null.format(quantity=name.partition("/")[2]), choice)
        values = pd.Series(skill(values.to_numpy(), null.reindex(values.index).to_numpy()), values.index)
    return values.groupby("seed").mean()


def _values(comparison: Comparison, rows: pd.DataFrame, quantity: str, choice: dict[str, str]) -> pd.Series:
    rows = rows[rows["quantity"] == quantity]
    steps = sorted(rows["step"].unique())
    step = steps[-1] if choice.get("snapshot", END) == END else steps[len(steps) * 2 // 3]
    rows = rows[rows["step"] == step]
    layers = [layer for layer in dict.fromkeys(rows["layer"]) if layer not in ("", comparison.readout)]
    if layers and choice.get("layer", MEAN) != MEAN:
        rows = rows[rows["layer"] == (layers[0] if choice["layer"] == FIRST else layers[-1])]
    return rows.groupby(["seed", "case", "layer", "x"])["value"].mean().astype(np.float64)
