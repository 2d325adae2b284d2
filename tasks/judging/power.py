"""How many seeds a statement needs: 90 % power for the effect that the paper shows, from a pilot on other seeds."""

import math

ALPHA = 0.025  # one-sided level of every test, as of the two sides of a 95 % interval
POWER, MOST = 0.9, 1000  # the probability of finding an effect; the largest number of seeds that is tried


def power_of(effect: float, seeds: int, alpha: float = ALPHA) -> float:
    """Power of the one-sided t test of a mean that lies ``effect`` standard deviations above 0."""
    from scipy import stats  # here: it takes a second to load, and of the programs only the calibration needs it

    freedom = seeds - 1
    return float(stats.nct.sf(stats.t.ppf(1 - alpha, freedom), freedom, effect * math.sqrt(seeds)))


def seeds_needed(effect: float, tests: int = 1) -> int:
    """The least number of seeds with this power, where Holm's correction divides the level by up to ``tests``.

    Parameters
    ----------
    effect
        The mean that the paper shows over the pilot's standard deviation.
    tests
        The number of asserted statements of the paper: Holm's strictest level is 0.025 over it.

    Raises
    ------
    ValueError
        If 1,000 seeds are too few.

    Examples
    --------
    >>> seeds_needed(2.0)
    5
    >>> seeds_needed(2.0, tests=20)
    10
    """
    for seeds in range(2, MOST + 1):
        if power_of(effect, seeds, ALPHA / tests) >= POWER:
            return seeds
    raise ValueError(f"an effect of {effect:g} standard deviations needs more than {MOST} seeds")
