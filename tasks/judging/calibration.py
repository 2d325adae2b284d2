"""How often each statistical rule is wrong, and how often it finds a true effect, on simulated seeds.

The truth lies on the border of what a rule tests: a mean at the end of the range, series in random order. There
``holds`` and ``fails`` are both wrong, and a rule may give each in at most 2.5 % of the draws. The power is that of an
effect for which ``tasks/judging/power.py`` promises 90 %.

Rows in ``OUTSIDE`` show what a rule does not test. ``trend`` asks whether the orders of a series' points are equally
likely. Points along training are not: a driftless random walk rises or falls by accident, and ``trend`` finds that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramlab.streams import stream
from tasks.judging.power import ALPHA, seeds_needed
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive, rate, trend, within
from tasks.judging.statistics import log_variance_ratio, welch

DRAWS = 10_000
EFFECTS = (2.0, 1.0)  # in standard deviations over seeds
PARTS = 4  # of a statement that is judged on several data sets
RIGHT = {  # the right answers of these rules; of all other rules both answers are wrong
    "equals, a print that differs": ("fails",),
    "equals, a print of the same law": ("holds",),
}
OUTSIDE = {  # draws that the null of a rule does not describe; their answers are no errors of the rule
    "trend, driftless random walks": "each curve rises or falls by accident, and that it does is found",
}
POINTS = 20  # of a random walk
Rule = Callable[[np.random.Generator, float], Finding]  # the number: standard deviations above the null


def table(draws: int = DRAWS) -> list[dict[str, Any]]:
    """A row for each rule and number of seeds: shares of the draws in which it is wrong, and its power."""
    rows = []
    for effect in EFFECTS:
        seeds = seeds_needed(effect)
        for name, rule in _rules(seeds).items():
            null = _shares(name, rule, seeds, 0.0, draws)
            row = {"rule": name, "seeds": seeds, "draws": draws, "holds": null[True], "fails": null[False]}
            answers = () if name in OUTSIDE else ("holds", "fails")
            row["wrong"] = [answer for answer in answers if answer not in RIGHT.get(name, ())]
            if name in OUTSIDE:
                row["outside"] = OUTSIDE[name]
            if name in ("positive", "within"):
                shares = _shares(name, rule, seeds, effect, draws // 10)
                row |= {"effect": effect, "power": shares[True], "promised power": 0.9}
            rows.append(row)
    return rows


def error(draws: int) -> float:
    """The standard error of a share of 2.5 % of the draws."""
    return (ALPHA * (1 - ALPHA) / draws) ** 0.5


def limit(draws: int) -> float:
    """The share of wrong answers that a rule with a true share of 2.5 % exceeds once in a thousand calibrations."""
    return ALPHA + 3.1 * error(draws)


def _shares(name: str, rule: Rule, seeds: int, effect: float, draws: int) -> dict[bool | None, float]:
    random = stream("calibration", name, seeds, str(effect))
    findings = [rule(random, effect).holds for _ in range(draws)]
    return {answer: findings.count(answer) / draws for answer in (True, False, None)}


def _rules(seeds: int) -> dict[str, Rule]:
    """Rules by name, on seeds whose mean lies ``effect`` standard deviations above the end of the tested range."""

    def normal(random: np.random.Generator, effect: float = 0.0) -> np.ndarray:
        return random.normal(effect, size=seeds)

    return {
        "positive": lambda random, effect: positive(normal(random, effect), "mean"),
        "within": lambda random, effect: within(normal(random, effect), 0.0, 100.0, "mean"),
        "trend": lambda random, _: trend(random.normal(size=(seeds, 5)), "series"),
        "trend, tied": lambda random, _: trend(random.integers(0, 3, size=(seeds, 5)), "series"),
        "all parts at the null": lambda random, _: all_of(
            **{str(part): positive(normal(random), "mean") for part in range(PARTS)}
        ),
        "equals, a print that differs": lambda random, _: equals(normal(random), 1.0 + 0.05, 0.1),
        "equals, a print of the same law": lambda random, _: equals(normal(random), float(random.normal()), 0.0),
        "rate": lambda random, _: _rate(random, seeds),
        "trend, driftless random walks": lambda random, _: trend(
            random.normal(size=(seeds, POINTS)).cumsum(axis=1), "series"
        ),
        "control like its claim": lambda random, _: _control(random, seeds, 1.0),
        "control like its claim, spread 4 times": lambda random, _: _control(random, seeds, 4.0),
        "ratio of variances": lambda random, _: positive(
            log_variance_ratio(random.normal(size=(seeds, POINTS)), random.normal(size=(seeds, POINTS))), "ratio"
        ),
    }


def _control(random: np.random.Generator, seeds: int, spread: float) -> Finding:
    """Compare a control of the claim's mean and another spread: True if judged worse, False if judged better."""
    claim, control = random.normal(size=seeds), random.normal(scale=spread, size=seeds)
    _, low, high = welch(control, claim)
    return Finding(True if high < 0 else False if low > 0 else None, 0.0, "", "direction")


def _rate(random: np.random.Generator, seeds: int) -> Finding:
    """Errors that fall with the size as its power -3/4, the end of the range that is tested."""
    sizes = np.array([16.0, 32.0, 64.0, 128.0])
    values = random.normal(size=(seeds, len(sizes))) * sizes**-0.75
    seed, size = np.indices(values.shape)
    return rate(Rows({"seed": seed.ravel(), "x": sizes[size.ravel()], "value": values.ravel()}), -1)
