"""Find the winner of a cell: compare the laws in pairs, each above its null, over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramlab.streams import stream
from tasks.judging.statistics import interval

# the laws of a family are nearly the same matrix, and the best of them competes; any other law is a family by itself
FAMILIES = {
    "AGOP^1/2": "AGOP", "AGOP^s": "AGOP", "AGOP^1": "AGOP",
    "centered NFA": "centered NFA",
    "FACT": "FACT", "symmetric FACT": "FACT",
    "eNFA^1/2": "eNFA",
    "virtual shifts": "virtual shifts",
    "accumulated FACT": "accumulated FACT",
}  # fmt: skip


def family(law: str) -> str:
    """The family of a law.

    Examples
    --------
    >>> family("symmetric FACT"), family("a law of your own")
    ('FACT', 'a law of your own')
    """
    return FAMILIES.get(law, law)


def same_matrix(law: str, target: str, weight_decay: float) -> str:
    """Another law of the contest with the same matrix; empty if there is none.

    Without weight decay accumulated FACT less W₀ᵀW₀ is the sum of the virtual shifts, step by step. Then only one of
    the two laws competes, because a law cannot be ahead of itself.

    Examples
    --------
    >>> same_matrix("accumulated FACT", "change", 0.0), same_matrix("accumulated FACT", "change", 0.01)
    ('virtual shifts', '')
    """
    return "virtual shifts" if law == "accumulated FACT" and target == "change" and not weight_decay else ""


def badge_against(target: str, law: str, badge: str, optimizer: str, weight_decay: float) -> str:
    """The badge of a law against a target. The table's ``badge`` does not depend on the target.

    SGD with momentum μ and without weight decay takes the steps −γ Σ_s μ^(t−s) G_s. To first order in γ they change the
    Gram matrix by 1/(1 − μ) times the virtual shifts. The score ignores the factor, so there the virtual shifts are an
    identity, as under SGD without momentum.

    Examples
    --------
    >>> badge_against("change", "virtual shifts", "", "momentum", 0.0)
    'identity'
    >>> badge_against("change", "virtual shifts", "", "adam", 0.0)
    ''
    """
    name = same_matrix(law, target, weight_decay) or law
    return "identity" if name == "virtual shifts" and optimizer == "momentum" and not weight_decay else badge


def differs_when_scrambled(law: str, side: str) -> bool:
    """Whether a law's scrambled copy can differ from the law.

    On the side of the layer's output FACT is −(1/λ) W Gᵀ with the gradient G. A rotation Q of the signals makes it
    −(1/λ) W Gᵀ Qᵀ, and (FACT FACTᵀ)^½ does not change. There the copy is the law itself, which no law can exceed.

    Examples
    --------
    >>> differs_when_scrambled("symmetric FACT", "forward"), differs_when_scrambled("symmetric FACT", "backward")
    (True, False)
    """
    return (law, side) != ("symmetric FACT", "backward")


NOBODY, TIE = "nobody", "tie"


def skill(scores: np.ndarray, nulls: np.ndarray) -> np.ndarray:
    """How far scores are above their nulls, as a share of what is possible: (score − null) / (1 − null).

    A perfect law has the skill 1 for any null. The plain difference would rank an imperfect law with a low null before
    a perfect law with a high null.

    Examples
    --------
    >>> skill(np.array([1.0, 0.5, 0.75]), np.array([0.9, 0.5, 0.5]))
    array([1. , 0. , 0.5])
    """
    return (scores - nulls) / (1 - np.minimum(nulls, 1 - 1e-12))


LEVEL = 0.95


@dataclass(frozen=True)
class Verdict:
    """The outcome of a contest.

    Attributes
    ----------
    winner : str
        A family; "tie" if the interval of the lead contains 0; "nobody" if no law is above chance.
    law, runner_up : str
        The leading law, and the best law of another family; empty if there is none.
    lead : tuple of three floats or None
        The mean over seeds of the leader's skill less the runner-up's, and its paired 95 % interval.
    above_chance : dict of str to bool
        Whether each law of the contest is above chance.
    """

    winner: str
    law: str = ""
    runner_up: str = ""
    lead: tuple[float, float, float] | None = None
    above_chance: dict[str, bool] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The verdict in JSON's types."""
        return {"winner": self.winner, "law": self.law, "runner_up": self.runner_up,
                "lead": None if self.lead is None else list(self.lead), "above_chance": self.above_chance}  # fmt: skip


def judge(
    laws: Mapping[str, np.ndarray], nulls: Mapping[str, np.ndarray], scrambled: Mapping[str, np.ndarray],
    controls: Mapping[str, np.ndarray], contrast: str = "above null",
) -> Verdict:  # fmt: skip
    """Judge a contest.

    A comparison takes the means over the same layers for both sides. Laws compete on the layers in which all of them
    have scores. A control or a scrambled copy is compared with a law in those of these layers that have it, if any.

    A law is above chance if its score exceeds its null, the score of its scrambled copy, and every control, each in the
    mean over seeds with a paired t interval that excludes 0; the level is 95 % after Bonferroni's correction over the
    laws. Of the laws above chance the best one wins if its lead over the best law of another family excludes a tie.

    Parameters
    ----------
    laws, nulls : mapping of str to ndarray of shape (layers, seeds)
        Scores and their nulls by the law's name; NaN in a layer where the law is undefined. (seeds,) is one layer.
    scrambled : mapping of str to ndarray of shape (layers, seeds)
        Scores of the scrambled copies, by the law's name; NaN in a layer without a copy.
    controls : mapping of str to ndarray of shape (layers, seeds)
        Scores of the entrants that must lose; NaN in a layer without the control.
    contrast : {"above null", "raw"}, optional
        Whether laws are ranked by their `skill` or by the score itself.

    Returns
    -------
    Verdict
        Nobody wins if no layer has all laws.

    Examples
    --------
    >>> import numpy as np
    >>> laws = {"FACT": np.array([0.98, 0.99, 0.97]), "AGOP^1/2": np.array([0.70, 0.72, 0.71])}
    >>> nulls = {"FACT": np.full(3, 0.2), "AGOP^1/2": np.full(3, 0.5)}
    >>> judge(laws, nulls, {}, {}).winner
    'FACT'
    """
    if not laws:
        return Verdict(NOBODY)
    laws, nulls, scrambled, controls = (
        {name: np.atleast_2d(values) for name, values in scores.items()}
        for scores in (laws, nulls, scrambled, controls)
    )
    common = common_layers(*laws.values())
    if not common.any():
        return Verdict(NOBODY, above_chance=dict.fromkeys(laws, False))
    level = 1 - (1 - LEVEL) / len(laws)

    def exceeds(values: np.ndarray, others: np.ndarray) -> bool:
        layers = common & common_layers(others)
        return not layers.any() or interval((values - others)[layers].mean(0), level)[1] > 0

    above = {
        name: exceeds(values, nulls[name])
        and (name not in scrambled or exceeds(values, scrambled[name]))
        and all(exceeds(values, control) for control in controls.values())
        for name, values in laws.items()
    }
    means = {name: (values[common].mean(0), nulls[name][common].mean(0)) for name, values in laws.items()}
    ranked = {name: skill(*pair) if contrast == "above null" else pair[0] for name, pair in means.items()}
    order = sorted((name for name in laws if above[name]), key=lambda name: -float(ranked[name].mean()))
    if not order:
        return Verdict(NOBODY, above_chance=above)
    law = order[0]
    others = sorted(
        (name for name in laws if family(name) != family(law)), key=lambda name: -float(ranked[name].mean())
    )
    if not others:
        return Verdict(family(law), law, above_chance=above)
    lead = interval(ranked[law] - ranked[others[0]], LEVEL)
    return Verdict(family(law) if lead[1] > 0 else TIE, law, others[0], lead, above)


def common_layers(*entrants: np.ndarray) -> np.ndarray:
    """The layers in which all entrants have scores.

    Examples
    --------
    >>> common_layers(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[np.nan, np.nan], [0.5, 0.6]]))
    array([False,  True])
    """
    return np.logical_and.reduce([~np.isnan(scores).any(1) for scores in entrants])


def half_of(names: Sequence[str]) -> dict[str, int]:
    """Assign each cell to one of two random halves, the same at every call.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    dict of str to int
    """
    order = stream("atlas", "halves").permutation(len(names))
    ordered = sorted(names)
    return {ordered[index]: place % 2 for place, index in enumerate(order)}
