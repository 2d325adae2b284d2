"""How often each statistical rule is wrong, and how often it finds a true effect, on simulated seeds.

The truth lies on the border of what a rule tests: a mean at the end of the range, series in random order. There
``holds`` and ``fails`` are both wrong, and a rule may give each in at most 2.5 % of the draws. A rule that gives one of
them more often is tried again on four times as many new draws, and the table shows both shares. The second share tells
a rule that is truly wrong more often from the chance of the simulation. ``EXCESSES`` names the rules that are.

The power is the share of draws in which a rule finds a true effect, which the row names. For the t tests of one mean
it is an effect for which ``tasks/judging/power.py`` promises 90 %.

Driftless random walks show what a rule does not test. ``trend`` asks whether the orders of a series' points are equally
likely. Points along training are not: a driftless random walk rises or falls by accident, and ``trend`` finds that.
``trend_along`` must not find it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramlab.streams import stream
from tasks.judging import calibration_of_means
from tasks.judging.power import ALPHA, POWER, seeds_needed
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive, rate, trend, trend_along, within
from tasks.judging.statistics import log_variance_ratio, welch

DRAWS = 10_000
AGAIN = 4  # times as many draws, where a share is above 2.5 %
EFFECTS = (4.0, 2.0, 1.0)  # in standard deviations over seeds; they take 3, 5 and 13 seeds
PARTS = 4  # of a statement that is judged on several data sets
POINTS, STEPS = 20, 4  # points of a random walk; steps of a series that rises
FROM_PRINT = 4.0  # standard deviations of a mean from the print
VARIANCES = 4.0  # the ratio of two variances
ERRORS = 16  # of each size and seed, where the rate has to be found
WALKS = 5  # seeds of random walks
APPROXIMATE = "Welch's interval is an approximation, whose error shows at so few seeds with so different spreads"
EXCESSES = {  # rules, with their numbers of seeds or means, that are truly wrong in more than 2.5 % of the draws
    ("control like its claim, spread 4 times", 3): APPROXIMATE,
    ("control like its claim, spread 4 times", 5): APPROXIMATE,
    ("trend_along, driftless random walks", 3): "Kendall's taus are bounded, and Student's t test of so few errs more",
    ("Monte Carlo means, D.alg1, paper", 400): "4 standard errors are too few for so many skewed means",
}
Draw = Callable[[np.random.Generator], Finding]


@dataclass(frozen=True)
class Simulated:
    """A rule on simulated seeds.

    Parameters
    ----------
    border
        The rule's finding on one draw whose truth lies on the border of what the rule tests.
    power
        For an answer that is right where an effect is true: the effect in words, and the finding on one draw.
    right
        The answers that are right on the border.
    promised
        Whether ``tasks/judging/power.py`` promises the power of the effect.
    outside
        Why the null of the rule does not describe the draws, if so; no answer is then an error of the rule.
    """

    border: Draw
    power: dict[str, tuple[str, Draw]] = field(default_factory=dict)
    right: tuple[str, ...] = ()
    promised: bool = False
    outside: str = ""


def table(draws: int = DRAWS) -> list[dict[str, Any]]:
    """A row for each rule and number of seeds: shares of the draws in which it is wrong, and its power."""
    rows = []
    for effect in EFFECTS:
        seeds = seeds_needed(effect)
        rows += [_row(name, simulated, seeds, draws) for name, simulated in _rules(seeds, effect).items()]
    rows += calibration_of_means.rows(draws)
    for row in rows:
        if (kind := (row["rule"], row["number"])) in EXCESSES:
            row["excess"] = EXCESSES[kind]
    return rows


def _row(name: str, simulated: Simulated, seeds: int, draws: int) -> dict[str, Any]:
    wrong = [] if simulated.outside else [answer for answer in ("holds", "fails") if answer not in simulated.right]
    row: dict[str, Any] = {"rule": name, "number": seeds, "units": "seeds", "draws": draws, "wrong": wrong}
    shares = _shares(simulated.border, (name, seeds, "0.0"), draws)
    if (name, seeds) in EXCESSES or any(shares[answer] > ALPHA for answer in wrong):
        row |= {"first": {"draws": draws, **shares}, "draws": AGAIN * draws}
        shares = _shares(simulated.border, (name, seeds, "again"), AGAIN * draws)
    row |= shares
    if simulated.outside:
        row["outside"] = simulated.outside
    of_effect = draws if simulated.promised else draws // 10
    promise = {"promised": POWER} if simulated.promised else {}
    row["power"] = [
        {"effect": effect, "answer": answer, "draws": of_effect, **promise,
         "share": _shares(draw, (name, seeds, effect), of_effect)[answer]}
        for answer, (effect, draw) in simulated.power.items()
    ]  # fmt: skip
    return row


def error(draws: int) -> float:
    """The standard error of a share of 2.5 % of the draws."""
    return (ALPHA * (1 - ALPHA) / draws) ** 0.5


def limit(draws: int) -> float:
    """The share of wrong answers that a rule with a true share of 2.5 % exceeds once in a thousand calibrations."""
    return ALPHA + 3.1 * error(draws)


def _shares(draw: Draw, name: tuple[str | int, ...], draws: int) -> dict[str, float]:
    """The shares of the draws in which a rule answers ``holds`` and ``fails``."""
    random = stream("calibration", *name)
    findings = [draw(random).holds for _ in range(draws)]
    return {"holds": findings.count(True) / draws, "fails": findings.count(False) / draws}


def _rules(seeds: int, effect: float) -> dict[str, Simulated]:
    """Rules by name, on so many seeds; the effect is in standard deviations over seeds."""

    def normal(random: np.random.Generator, mean: float = 0.0) -> np.ndarray:
        return random.normal(mean, size=seeds)

    def parts(random: np.random.Generator, *means: float) -> Finding:
        return all_of(**{str(part): positive(normal(random, mean), "mean") for part, mean in enumerate(means)})

    def rising(random: np.random.Generator) -> np.ndarray:
        return random.normal(size=(seeds, STEPS + 1)) + step * np.arange(STEPS + 1)

    def tied(random: np.random.Generator, rise: float = 0.0) -> np.ndarray:
        return random.integers(0, 3, size=(seeds, STEPS + 1)) + np.floor(rise * np.arange(STEPS + 1))

    def walks(random: np.random.Generator, drift: float = 0.0) -> np.ndarray:
        return (random.normal(size=(seeds, POINTS)) + drift).cumsum(axis=1)

    def curves(random: np.random.Generator, ratio: float = 1.0) -> Finding:
        first, second = random.normal(scale=ratio**0.5, size=(seeds, POINTS)), random.normal(size=(seeds, POINTS))
        return positive(log_variance_ratio(first, second), "ratio")

    step = effect / STEPS
    mean, rise = _deviations(effect), f"{_deviations(step)} a step, {STEPS} steps"
    others = (effect,) * (PARTS - 1)
    slopes = Slopes(seeds)
    simulated = {
        "positive": Simulated(
            lambda random: positive(normal(random), "mean"),
            {"holds": (f"mean {mean} above 0", lambda random: positive(normal(random, effect), "mean"))},
            promised=True,
        ),
        "within": Simulated(
            lambda random: within(normal(random), 0.0, 100.0, "mean"),
            {"holds": (f"mean {mean} inside the range", lambda random: within(normal(random, effect), 0, 100, "mean"))},
            promised=True,
        ),
        "trend": Simulated(
            lambda random: trend(random.normal(size=(seeds, STEPS + 1)), "series"),
            {"holds": (f"rise of {rise}", lambda random: trend(rising(random), "series"))},
        ),
        "trend, tied": Simulated(
            lambda random: trend(tied(random), "series"),
            {"holds": (f"values of 0 to 2 and a rise of {effect:g} in {STEPS} steps",
                       lambda random: trend(tied(random, step), "series"))},
        ),
        "trend_along, driftless random walks": Simulated(
            lambda random: trend_along(walks(random), "series"),
            {"holds": (f"walks of {POINTS - 1} steps that end {mean} higher",
                       lambda random: trend_along(walks(random, effect / (POINTS - 1) ** 0.5), "series"))},
        ),
        f"all_of, {PARTS} parts": Simulated(
            lambda random: parts(random, *[0.0] * PARTS),
            {"holds": (f"every mean {mean} above 0", lambda random: parts(random, effect, *others)),
             "fails": (f"one mean {mean} below 0, the others as far above",
                       lambda random: parts(random, -effect, *others))},
        ),
        "equals, a print that differs": Simulated(
            lambda random: equals(normal(random), 1.0 + 0.05, 0.1),
            {"fails": (f"print {FROM_PRINT:g} standard deviations from the mean",
                       lambda random: equals(normal(random), FROM_PRINT, 0.1))},
            right=("fails",),
        ),
        "equals, a print of the same law": Simulated(
            lambda random: equals(normal(random), float(random.normal()), 0.0),
            {"holds": ("print equal to the mean", lambda random: equals(normal(random), 0.0, 0.0))},
            right=("holds",),
        ),
        "rate": Simulated(
            lambda random: slopes.finding(random, -0.75, 1),
            {"holds": (f"slope -1, the middle of the range, {ERRORS} errors of each size and seed",
                       lambda random: slopes.finding(random, -1.0, ERRORS)),
             "fails": (f"slope -1/2, {ERRORS} errors of each size and seed",
                       lambda random: slopes.finding(random, -0.5, ERRORS))},
        ),
        "control like its claim": Simulated(
            lambda random: _control(random, seeds, 1.0),
            {"holds": (f"control's mean {mean} below", lambda random: _control(random, seeds, 1.0, effect))},
        ),
        "control like its claim, spread 4 times": Simulated(
            lambda random: _control(random, seeds, 4.0),
            {"holds": (f"control's mean {effect:g} of its own standard deviations below",
                       lambda random: _control(random, seeds, 4.0, 4 * effect))},
        ),
        "ratio of variances": Simulated(
            curves, {"holds": (f"variance {VARIANCES:g} times the other", lambda random: curves(random, VARIANCES))}
        ),
    }  # fmt: skip
    if seeds == WALKS:
        simulated["trend, driftless random walks"] = Simulated(
            lambda random: trend(walks(random), "series"),
            outside="each curve rises or falls by accident, and that it does is found",
        )
    return simulated


def _deviations(number: float) -> str:
    return f"{number:g} standard deviation{'s' * (number != 1)}"


def _control(random: np.random.Generator, seeds: int, spread: float, below: float = 0.0) -> Finding:
    """Compare a control of another spread and a lower mean: True if judged worse than the claim, False if better."""
    claim, control = random.normal(size=seeds), random.normal(-below, spread, size=seeds)
    _, low, high = welch(control, claim)
    return Finding(True if high < 0 else False if low > 0 else None, 0.0, "", "direction")


class Slopes:
    """Errors that fall with the size as a power of it; ``rate`` tests the powers -1.25 to -0.75."""

    SIZES = np.array([16.0, 32.0, 64.0, 128.0])

    def __init__(self, seeds: int):
        self.tables = {}  # by the number of errors: building a table for each draw would take half of the time
        for errors in (1, ERRORS):
            seed, size, _ = np.indices((seeds, len(self.SIZES), errors))
            self.tables[errors] = Rows({"seed": seed.ravel(), "x": self.SIZES[size.ravel()], "value": 0.0})

    def finding(self, random: np.random.Generator, power: float, errors: int) -> Finding:
        """The rule's finding on new errors."""
        rows = self.tables[errors]
        rows.frame["value"] = random.normal(size=len(rows)) * rows.x**power
        return rate(rows, -1)
