"""B.fig3: the centered NFA of one quadratic network on alignment-reversing data, predicted and observed.

As in Appendix H, n = d = k, one network is used for all data sets, R's moments are means over 30 other networks, and
there are 10 data seeds. The paper does not print the balances. The arms differ in the scale of X₁ alone: 1 as printed,
d^-0.8 in the arm ``corrected`` (docs/centered_nfa.md). The control of the first-order term has the data of the form
that it is set against. In another control all inputs are drawn like X₁: nothing is reversed.

By Proposition 10, with M = XᵀYX and B = XᵀX, the expected second derivative of the NFM is M² and that of the AGOP has
the additional term MBM. Its cosine with the identity is measured, and the share of M²'s squared norm off the diagonal.
One control has M² in place of MBM. Another has the inputs in the basis of M's eigenvectors, where M² is diagonal.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

import gramlab
from gramlab.data.alignment import alignment_reversing
from gramlab.streams import stream
from gramlab.theory import centered_nfa, mean_term, moments
from gramlab.theory.nfa import statistics
from tasks.papers.centered_nfa.experiments.shared.appendix_e import derivatives
from tasks.settings.fields import Count, Probability
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are data seeds."""

    sizes: list[Count]  # a single one: n = d = k
    draws: Count  # networks over which R's moments are averaged
    balances: list[Probability]  # of the alignment-reversing data


POWER = -0.8  # of the dimension, in the corrected scale of X₁
FIRST_ORDER = {  # the control of each form
    "claim": "control: first-order term alone",
    "corrected": "control: first-order term alone, corrected",
}
NOT_REVERSED = "control: data that are not reversed"
NFM_FOR_TERM = {"claim": "control: the NFM for the term", "corrected": "control: the NFM for the term, corrected"}
EIGENBASIS = {"claim": "control: basis of eigenvectors", "corrected": "control: basis of eigenvectors, corrected"}


def measure(settings: Settings) -> Iterator[dict]:
    """Rows at each balance x, by seed: predicted, observed, mean term, alignment of the inputs, nulls, expectations."""
    (size,) = settings.sizes
    a, W = network(size, 0)
    others = (network(size, 1 + number) for number in range(settings.draws))
    r = np.mean([moments(scaled.T @ scaled) for scaled in (a[:, None] * W for a, W in others)], axis=0).tolist()
    # the printed arm has few balances, since its correlations are all 1
    few = (settings.balances[0], settings.balances[len(settings.balances) // 2], settings.balances[-1])
    for seed in range(settings.instances):
        not_reversed = alignment_reversing(size, size, 1.0, scale=size**POWER, seed=seed).x_train
        for balance in settings.balances:
            for arm, scale in (("claim", 1.0), ("corrected", size**POWER)):
                if arm == "claim" and balance not in few:
                    continue
                data = alignment_reversing(size, size, balance, scale=scale, seed=seed)
                X, y = data.x_train, data.y_train
                labels = {"case": f"n = d = k = {size}", "seed": seed, "x": balance}
                correlation = observed(X, y, a, W)
                yield {**labels, "arm": arm, "quantity": "null/fig3/observed", "value": by_chance(X, y, a, W)}
                for predicted_arm, value in ((arm, centered_nfa(X, y, r)), (FIRST_ORDER[arm], mean_term(X, y, None))):
                    yield {**labels, "arm": predicted_arm, "quantity": "fig3/predicted", "value": value}
                    yield {**labels, "arm": predicted_arm, "quantity": "fig3/observed", "value": correlation}
                yield from ({**labels, "arm": arm, **row} for row in alignment(X, y))
                yield from ({**labels, **row} for row in expectations(X, y, arm))
                if arm == "corrected":
                    yield {**labels, "arm": NOT_REVERSED, "quantity": "fig3/observed",
                           "value": observed(not_reversed, y, a, W)}  # fmt: skip
                    yield from ({**labels, "arm": NOT_REVERSED, **row} for row in alignment(not_reversed, y))
                    yield {**labels, "arm": arm, "quantity": "fig3/mean term", "value": mean_term(X, y, size)}


def network(size: int, number: int) -> tuple[Tensor, Tensor]:
    """a ~ N(0, 1) (k,) and W ~ N(0, 1/k) (k, d), k = d; number 0 is the observed network."""
    draw = stream("b_fig3", "network", number)
    return torch.from_numpy(draw.normal(size=size)), torch.from_numpy(draw.normal(size=(size, size))) / size**0.5


def observed(X: Tensor, y: Tensor, a: Tensor, W: Tensor) -> float:
    """ρ(ẆᵀẆ, ẆᵀKẆ) for f = ½ aᵀ(Wx)²."""
    S, KS = derivatives(X, y, a, W)
    return float((KS * S).sum() / (S.norm() * (KS * KS.T).sum().sqrt()))


def by_chance(X: Tensor, y: Tensor, a: Tensor, W: Tensor) -> float:
    """The mean of ρ where ẆᵀKẆ has random eigenvectors: tr(ẆᵀẆ) tr(ẆᵀKẆ)/d over the norms (gramlab.cosine_null)."""
    S, KS = derivatives(X, y, a, W)
    return float(S.trace() * KS.trace() / X.shape[1] / (S.norm() * (KS * KS.T).sum().sqrt()))


def alignment(X: Tensor, y: Tensor) -> Iterator[dict]:
    """Rows of ρ(XᵀX, XᵀYX), and of its mean if the eigenvectors were independent (``null``)."""
    M, B = statistics(X, y)
    yield {"quantity": "fig3/alignment", "value": gramlab.cosine(B, M)}
    yield {"quantity": "null/fig3/alignment", "value": gramlab.cosine_null(B, M)[0]}


def expectations(X: Tensor, y: Tensor, form: str) -> Iterator[dict]:
    """Rows of the cosine of MBM and the identity, of M²'s share off the diagonal, and of both in their controls."""
    M, B = statistics(X, y)
    nfm, identity = M @ M, torch.eye(len(M), dtype=M.dtype)
    for arm, term in ((form, M @ B @ M), (NFM_FOR_TERM[form], nfm)):
        yield {"arm": arm, "quantity": "cosine/unique term", "value": gramlab.cosine(term, identity)}
    basis = torch.linalg.eigh(M)[1]
    for arm, matrix in ((form, nfm), (EIGENBASIS[form], basis.T @ nfm @ basis)):
        off_diagonal = matrix - torch.diag(matrix.diagonal())
        yield {"arm": arm, "quantity": "off-diagonal/mass", "value": float((off_diagonal.norm() / matrix.norm()) ** 2)}
