"""B.fig3: the centered NFA of one quadratic network on alignment-reversing data, predicted and observed.

One network for all data sets; R's moments are means over other networks, as Appendix H says. Of all the arms the data
are the same but for the scale of X₁: as printed there is none (1); ``corrected`` has d^-0.8 (docs/centered_nfa.md).
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from gramlab.data.alignment import alignment_reversing
from gramlab.streams import stream
from gramlab.theory import centered_nfa, mean_term, moments
from tasks.settings.fields import Count, Probability
from tasks.settings.simulation import Simulation

POWER = -0.8  # of the dimension, the scale of X₁
FIRST_ORDER = "control: first-order term alone"


class Settings(Simulation):
    """Settings of this experiment."""

    sizes: list[Count]  # of the matrices
    draws: Count  # networks drawn for one average
    balances: list[Probability]  # of the alignment-reversing data


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: predicted, observed and mean term at each balance x, by data seed."""
    (size,) = settings.sizes
    a, W = network(size, 0)
    drawn = (network(size, 1 + other) for other in range(settings.draws))
    r = np.mean([moments(scaled.T @ scaled) for scaled in (a[:, None] * W for a, W in drawn)], axis=0).tolist()
    few = (settings.balances[0], settings.balances[len(settings.balances) // 2], settings.balances[-1])
    for seed in range(settings.instances):
        for balance in settings.balances:
            for arm, scale in (("claim", 1.0), ("corrected", size**POWER)):
                if arm == "claim" and balance not in few:
                    continue  # it is 1 throughout
                data = alignment_reversing(size, size, balance, scale=scale, seed=seed)
                X, y = data.x_train, data.y_train
                about = {"case": f"n = d = k = {size}", "seed": seed, "x": balance}
                seen, guess = observed(X, y, a, W), {arm: centered_nfa(X, y, r)}
                if arm == "corrected":
                    guess[FIRST_ORDER] = mean_term(X, y, None)
                    yield {**about, "arm": arm, "quantity": "fig3/mean term", "value": mean_term(X, y, size)}
                for name, value in guess.items():
                    yield {**about, "arm": name, "quantity": "fig3/predicted", "value": value}
                    yield {**about, "arm": name, "quantity": "fig3/observed", "value": seen}


def network(size: int, number: int) -> tuple[Tensor, Tensor]:
    """a ~ N(0, 1) (k,) and W ~ N(0, 1/k) (k, d), k = d; number 0 is the one observed."""
    draw = stream("b_fig3", "network", number)
    return torch.from_numpy(draw.normal(size=size)), torch.from_numpy(draw.normal(size=(size, size))) / size**0.5


def observed(X: Tensor, y: Tensor, a: Tensor, W: Tensor) -> float:
    """ρ(ẆᵀẆ, ẆᵀKẆ) for f = ½ aᵀ(Wx)², from Ẇ = JᵀYX and K = JᵀJ with J = ∂f/∂h (n, k), through S = ẆẆᵀ (k, k)."""
    J = X @ W.T * a
    step = J.T @ (y * X)
    S = step @ step.T
    KS = J.T @ J @ S
    return float((KS * S).sum() / (S.norm() * (KS * KS.T).sum().sqrt()))
