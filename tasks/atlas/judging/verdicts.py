"""Judge the atlas's table. ``judge_all`` returns the JSON from which the pages are made:

    {"cells": {NAME: {"architecture", "task", "group", "stage", "optimizer", "lr", "weight_decay", "steps", "answer",
                      "facts": {"test_error", "kernel_test_error", "gain": [mean, low, high], "helped": true/false/null,
                                "train_loss", "stationarity", "layers", ...},
                      "sides": {"forward": {"gram": CONTEST, "change": CONTEST}, "backward": {...}},
                      "multiverse": {"choices", "agree", "undecided", "winners": {FAMILY: count}}}},
     "exponents": {...}, "known": [...], "controls": [...], "prediction": {...}, "missing": [NAMES],
     "diverged": [NAMES], "seeds": 5}

A CONTEST is a `tasks.atlas.judging.contest.Verdict`, with "entrants": {ENTRANT: {"badge", "same_as", "score", "null",
"skill", "scrambled", "layers"}}, where score and skill are [mean, low, high] over seeds, "same_as" names a law with the
same matrix, which competes in its place, and "layers" counts the layers in which the entrant has scores. A CONTEST also
has "curves": {ENTRANT: [[step, score], ...]}. The numbers of an entrant are means of the cosine over its layers; two
entrants are compared over the layers that both have.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tasks.atlas.cells import Cell
from tasks.atlas.judging.choices import CHOICES, PRIMARY, Choice
from tasks.atlas.judging.contest import (
    NOBODY,
    TIE,
    Verdict,
    badge_against,
    common_layers,
    differs_when_scrambled,
    family,
    half_of,
    judge,
    same_matrix,
    skill,
)
from tasks.atlas.judging.prediction import predict
from tasks.atlas.table import SCORES
from tasks.judging.statistics import interval

FITTED = "AGOP^s"
POWER = "AGOP^"
Entrants = dict[tuple[str, str], dict[str, np.ndarray]]  # by entrant and badge: by score (layers, seeds)


@dataclass
class CellScores:
    """The rows of one cell.

    Attributes
    ----------
    cell : Cell
    rows : pandas.DataFrame
        Of the table.
    """

    cell: Cell
    rows: pd.DataFrame

    @cached_property
    def steps(self) -> list[int]:
        """The snapshots' steps."""
        return sorted(self.rows["step"].unique().tolist())

    @cached_property
    def depths(self) -> list[int]:
        """The layers' numbers from the input."""
        return sorted(self.rows["depth"].unique().tolist())

    @cached_property
    def _scores(self) -> dict[tuple[str, str, int], Entrants]:
        """The entrants' scores (layers, seeds) by side, target and step; NaN in a layer that a seed lacks."""
        numbers = [name for name in self.rows.columns if name.split("_")[-1] in SCORES]
        labels = ["side", "target", "step", "entrant", "badge"]
        seeds = sorted(self.rows["seed"].unique().tolist())
        wide = self.rows.set_index([*labels, "depth", "seed"])[numbers].unstack(["depth", "seed"])
        wide = wide.reindex(columns=pd.MultiIndex.from_product([numbers, self.depths, seeds]))
        shape = len(wide), len(numbers), len(self.depths), len(seeds)
        blocks = wide.to_numpy(dtype=np.float64, copy=True).reshape(shape)
        scores: dict[tuple[str, str, int], Entrants] = {}
        for (side, target, step, entrant, badge), block in zip(wide.index, blocks, strict=True):
            values = dict(zip(numbers, block, strict=True))
            unpaired = np.isnan(values["cosine"]).any(1)  # an entrant that is missing in some seeds cannot be paired
            for name in numbers:
                is_the_law = name.startswith("scrambled_") and not differs_when_scrambled(entrant, side)
                values[name][unpaired | is_the_law] = np.nan
            scores.setdefault((side, target, step), {})[entrant, badge] = values
        return scores

    def entrants_at(self, side: str, target: str, step: int, layer: str = "mean") -> Entrants:
        """Arrays (layers, seeds) by entrant and badge, and by score; empty if the target is undefined.

        Entrants without any layer are left out.
        """
        last = max(self.depths[-1] - 1, 0)  # the layer before the readout
        chosen = [layer == "mean" or depth == {"first": 0, "last": last}[layer] for depth in self.depths]
        entrants = {label: {name: values[chosen] for name, values in frame.items()}
                    for label, frame in self._scores.get((side, target, step), {}).items()}  # fmt: skip
        return {label: frame for label, frame in entrants.items() if not np.isnan(frame["cosine"]).all()}

    def badge(self, target: str, entrant: str, badge_of_law: str) -> str:
        """The badge of an entrant against a target."""
        return badge_against(target, entrant, badge_of_law, self.cell.optimizer, self.cell.weight_decay)

    def verdict(self, choice: Choice, exponent: str, side: str = "forward") -> Verdict:
        """The verdict under a choice. ``exponent`` is the fitted exponent of the AGOP."""
        step = self.steps[-1] if choice.snapshot == "last" else self.steps[len(self.steps) * 2 // 3]
        entrants = self.entrants_at(side, choice.target, step, choice.layer)
        power = {"1/2": "1/2", "s": exponent, "1": "1"}[choice.exponent]
        chosen: dict[str, dict[str, np.ndarray]] = {}
        controls: dict[str, np.ndarray] = {}
        for (entrant, badge_of_law), frame in entrants.items():
            badge = self.badge(choice.target, entrant, badge_of_law)
            if badge == "control":
                controls[entrant] = frame[choice.score]
            elif badge == "identity" or same_matrix(entrant, choice.target, self.cell.weight_decay):
                continue
            elif entrant.startswith(POWER):
                if entrant == f"{POWER}{power}":
                    chosen[FITTED if choice.exponent == "s" else entrant] = frame
            else:
                chosen[entrant] = frame
        nulls = {name: frame[f"null_{choice.score}"] for name, frame in chosen.items()}
        scrambled = {name: frame[f"scrambled_{choice.score}"] for name, frame in chosen.items()}
        laws = {name: frame[choice.score] for name, frame in chosen.items()}
        return judge(laws, nulls, scrambled, controls, choice.contrast)


def judge_all(cells: Mapping[str, Cell], scores: pd.DataFrame, facts: pd.DataFrame) -> dict[str, Any]:
    """Judge every cell of the table.

    Parameters
    ----------
    cells : mapping of str to Cell
        All cells that the atlas should have.
    scores, facts : pandas.DataFrame
        Rows of the table, and of the facts.

    Returns
    -------
    dict
        As the module says.
    """
    by_cell = {
        name: CellScores(cells[name], rows) for name, rows in scores.groupby("cell", sort=False) if name in cells
    }
    grid = [name for name, cell_scores in by_cell.items() if not cell_scores.cell.answer]
    halves = half_of(grid)
    exponents = fitted_exponents({name: by_cell[name] for name in grid}, halves)
    diverged = facts[facts["quantity"] == "diverged"]["case"].tolist()
    result: dict[str, Any] = {"seeds": int(scores["seed"].nunique()), "cells": {}, "diverged": diverged,
                              "missing": [name for name in cells if name not in by_cell]}  # fmt: skip
    for name in (name for name in cells if name in by_cell):
        cell_scores, cell = by_cell[name], cells[name]
        exponent = exponents["used"][1 - halves[name]] if name in halves else "1/2"
        fact_rows = facts[facts["case"] == name]
        entry = {"architecture": cell.shared.architecture, "task": cell.shared.task, "group": cell.group,
                 "optimizer": cell.optimizer, "lr": cell.lr, "weight_decay": cell.weight_decay,
                 "steps": cell_scores.steps[-1], "answer": cell.answer, "exponent": exponent,
                 "facts": cell_facts(fact_rows) | {"layers": int(cell_scores.rows["layer"].nunique())}}  # fmt: skip
        entry["sides"] = {
            side: {target: contest(cell_scores, side, target, exponent) for target in ("gram", "change")}
            for side in ("forward", "backward")
        }
        entry["multiverse"] = multiverse(cell_scores, exponent)
        result["cells"][name] = entry
    result["exponents"] = exponents
    result["known"] = [known_answer(by_cell[name]) for name in by_cell if by_cell[name].cell.answer]
    result["controls"] = [row for name in grid for row in controls_ahead(by_cell[name])]
    result["prediction"] = predict({name: result["cells"][name] for name in grid})
    return result


def contest(cell_scores: CellScores, side: str, target: str, exponent: str) -> dict[str, Any]:
    """The contest of one side and target, with all entrants and their curves along training."""
    choice = Choice(target=target)
    last = cell_scores.entrants_at(side, target, cell_scores.steps[-1])
    if not last:
        return {**Verdict(NOBODY).as_json(), "entrants": {}, "curves": {}}
    entrants = {}
    for (entrant, badge_of_law), frame in last.items():
        badge = cell_scores.badge(target, entrant, badge_of_law)
        layers = common_layers(frame["cosine"])
        values, nulls, copy = (frame[name][layers].mean(0) for name in ("cosine", "null_cosine", "scrambled_cosine"))
        same_as = same_matrix(entrant, target, cell_scores.cell.weight_decay)
        entrants[entrant] = {"badge": badge, "same_as": same_as, "score": list(interval(values)),
                             "null": float(nulls.mean()), "skill": list(interval(skill(values, nulls))),
                             "scrambled": None if np.isnan(copy).any() else float(copy.mean()),
                             "layers": int(layers.sum())}  # fmt: skip
    curves: dict[str, list[list[float]]] = {name: [] for name in entrants}
    for step in cell_scores.steps:
        for (entrant, _), frame in cell_scores.entrants_at(side, target, step).items():
            if entrant in curves:
                curves[entrant].append([step, float(frame["cosine"][common_layers(frame["cosine"])].mean())])
    return {**cell_scores.verdict(choice, exponent, side).as_json(), "entrants": entrants, "curves": curves}


def cell_facts(rows: pd.DataFrame) -> dict[str, Any]:
    """Other numbers of a cell's networks at the last snapshot: means over seeds and layers."""
    if rows.empty:
        return {}
    last = rows[rows["step"] == rows["step"].max()]
    facts: dict[str, Any] = {name: float(group["value"].mean()) for name, group in last.groupby("quantity")}
    kernel = rows[rows["quantity"] == "kernel_test_error"].set_index("seed")["value"]
    network = last[last["quantity"] == "test_error"].set_index("seed")["value"]
    if len(kernel):
        mean, low, high = interval((kernel - network).to_numpy())
        facts |= {"kernel_test_error": float(kernel.mean()), "gain": [mean, low, high]}
        facts["helped"] = True if low > 0 else False if high < 0 else None
    curve = rows[rows["quantity"] == "stationarity"].groupby("step")["value"].mean()
    return {**facts, "stationarity_curve": [[int(step), float(value)] for step, value in curve.items()]}


def fitted_exponents(grid: Mapping[str, CellScores], halves: Mapping[str, int]) -> dict[str, Any]:
    """Fit the power s of the AGOP on each half of the cells, by the best mean skill, and judge it on the other half.

    Returns
    -------
    dict
        "used": the power that each half fits. "judged": for each half the mean skills, and on the other half the
        interval over cells of the gain: the skill of the fitted power less that of 1/2.
    """
    powers: dict[str, dict[str, float]] = {}
    for name, cell_scores in grid.items():
        last = powers_of(cell_scores.entrants_at("forward", PRIMARY.target, cell_scores.steps[-1]))
        layers = common_layers(*(frame["cosine"] for frame in last.values())) if last else np.array([])
        if layers.any():
            powers[name] = {
                power: float(skill(*(frame[score][layers].mean(0) for score in ("cosine", "null_cosine"))).mean())
                for power, frame in last.items()
            }
    used, judged = [], []
    for half in (0, 1):
        fit = [values for name, values in powers.items() if halves[name] == half]
        means = {power: float(np.mean([values[power] for values in fit])) for power in (fit[0] if fit else ())}
        used.append(max(means, key=lambda power: means[power]) if means else "1/2")
        others = [values for name, values in powers.items() if halves[name] != half]
        gains = [values[used[-1]] - values["1/2"] for values in others]
        judged.append({"fitted_on": half, "power": used[-1], "means": means, "cells": len(others),
                       "gain_over_half": list(interval(gains)) if len(gains) > 1 else None})  # fmt: skip
    return {"used": used, "judged": judged}


def powers_of(entrants: Entrants) -> dict[str, dict[str, np.ndarray]]:
    """The scores of the AGOP's powers, by the power."""
    return {entrant.removeprefix(POWER): frame for (entrant, _), frame in entrants.items() if entrant.startswith(POWER)}


def known_answer(cell_scores: CellScores) -> dict[str, Any]:
    """Compare a cell's outcome with its known answer, in the first layer and for WᵀW.

    A balanced deep linear network of L layers: the AGOP wins the contest with its power 1/L, with a score above 0.999
    and above every other power's. Theorem 3.4's network: FACT wins. Initialisation: nobody.
    """
    cell, step = cell_scores.cell, cell_scores.steps[-1]
    power = cell.answer.removeprefix(POWER) if cell.answer.startswith(POWER) else ""
    choice = Choice(target="gram", layer="first", exponent="s" if power else "1/2")
    verdict = cell_scores.verdict(choice, power)
    result = {"cell": cell.name, "answer": cell.answer, "verdict": verdict.as_json()}
    if not power:
        return {**result, "found": verdict.winner, "right": verdict.winner == cell.answer}
    frames = powers_of(cell_scores.entrants_at("forward", "gram", step, "first"))
    scores = {f"{POWER}{name}": float(frame["cosine"].mean()) for name, frame in frames.items()}
    best = max(scores, key=lambda name: scores[name])
    outcome = best if verdict.winner == family(FITTED) else verdict.winner
    return {**result, "found": outcome, "scores": scores, "right": outcome == cell.answer and scores[best] > 0.999}


def controls_ahead(cell_scores: CellScores) -> list[dict[str, Any]]:
    """The controls that do not lose, and the lead of each over the best law.

    The best law is the one with the highest score in the layers that have the control.
    """
    rows = []
    for target in ("gram", "change"):
        last = cell_scores.entrants_at("forward", target, cell_scores.steps[-1])
        badges = {entrant: cell_scores.badge(target, entrant, badge) for entrant, badge in last}
        scores = {entrant: frame["cosine"] for (entrant, _), frame in last.items()}
        for control in (entrant for entrant, badge in badges.items() if badge == "control"):
            layers = common_layers(scores[control])
            laws = {entrant: scores[entrant][layers].mean(0) for entrant, badge in badges.items()
                    if badge == "" and common_layers(scores[entrant])[layers].all()}  # fmt: skip
            if not laws:
                continue
            best = max(laws, key=lambda name: laws[name].mean())
            lead = interval(scores[control][layers].mean(0) - laws[best])
            if lead[2] > 0:  # the interval does not exclude that the control is ahead
                rows.append({"cell": cell_scores.cell.name, "target": target, "control": control, "best_law": best,
                             "lead": list(lead)})  # fmt: skip
    return rows


def multiverse(cell_scores: CellScores, exponent: str) -> dict[str, Any]:
    """Count the choices that give the map's verdict."""
    primary = cell_scores.verdict(PRIMARY, exponent).winner
    winners: dict[str, int] = {}
    for choice in CHOICES:
        winner = cell_scores.verdict(choice, exponent).winner
        winners[winner] = winners.get(winner, 0) + 1
    undecided = sum(winners.get(name, 0) for name in (TIE, NOBODY)) if primary not in (TIE, NOBODY) else 0
    return {"choices": len(CHOICES), "agree": winners[primary], "undecided": undecided,
            "winners": dict(sorted(winners.items(), key=lambda item: -item[1]))}  # fmt: skip
