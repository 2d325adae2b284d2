"""B.fig6: the first layer's centered NFA in networks of two hidden layers at initialization, and its first-order term.

Gaussian data with eigenvalues 1/(1 + k^α) in a random basis; the chain monomial (r = 5), the polynomial of high rank.
Labels in place of residuals, as the theory has it (outputs 0); and beside it with the residuals of the sampled network.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gramlab.data.polynomials import chain_monomial, high_rank_polynomial
from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from gramlab.theory import expected_kernel, first_order
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

DECAYS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)  # α; the paper's are not printed
ACTIVE = ("quadratic", "relu")
WHITE = "control: prediction for isotropic inputs"


class Settings(Simulation):
    """Settings of this experiment."""

    sizes: list[Count]  # of the matrices
    widths: list[Count]  # of the networks


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: fig6/predicted and fig6/observed at each decay x; the layer column holds the width (0: any)."""
    (n,) = settings.sizes
    for seed in range(settings.instances):
        drawn = {k: weights(n, k, seed) for k in settings.widths}
        for target, make in (("low rank", low_rank), ("high rank", high_rank_polynomial)):
            white = make(n, n, seed=seed).x_train
            kernels = {one: expected_kernel(white, [one, one]) for one in ACTIVE}
            for decay in DECAYS:
                data = make(n, n, decay=decay, seed=seed)
                X, y = data.x_train, data.y_train
                for activation in ACTIVE:
                    about = {"case": f"{activation}, {target}", "seed": seed, "x": decay}
                    guess = {"claim": first_order(X, y, expected_kernel(X, [activation, activation])),
                             WHITE: first_order(white, y, kernels[activation])}  # fmt: skip
                    for arm, value in guess.items():
                        yield {**about, "arm": arm, "layer": "0", "quantity": "fig6/predicted", "value": value}
                    for k, chosen in drawn.items():
                        J, f = tangents(X, chosen, activation)
                        seen, about["layer"] = correlation(J, X, y), str(k)
                        for arm in guess:
                            yield {**about, "arm": arm, "quantity": "fig6/observed", "value": seen}
                        yield {**about, "arm": "claim", "quantity": "fig6/observed, residuals",
                               "value": correlation(J, X, y - f)}  # fmt: skip


def low_rank(n: int, d: int, **options: Any) -> Any:
    """The chain monomial of rank 5."""
    return chain_monomial(n, d, 5, **options)


def weights(d: int, k: int, seed: int) -> list[Tensor]:
    """Two hidden layers and the output, N(0, 1/fan-in): initialization scale 1."""
    draw = stream("b_fig6", "network", k, seed)
    return [torch.from_numpy(draw.normal(size=shape)) / shape[1] ** 0.5 for shape in ((k, d), (k, k), (1, k))]


def tangents(X: Tensor, weights: list[Tensor], activation: str) -> tuple[Tensor, Tensor]:
    """∂f/∂h (n, k) at the first layer's pre-activations, by automatic differentiation, and the outputs (n, 1)."""
    first, second, last = weights
    phi = ACTIVATIONS[activation]()
    h = (X @ first.T).requires_grad_()
    f = phi(phi(h) @ second.T) @ last.T
    (J,) = torch.autograd.grad(f.sum(), h)
    return J, f.detach()


def correlation(J: Tensor, X: Tensor, residual: Tensor) -> float:
    """ρ(ẆᵀẆ, ẆᵀKẆ) from Ẇ = JᵀYX and K = JᵀJ."""
    step = J.T @ (residual * X)
    carried = J @ step
    nfm, agop = step.T @ step, carried.T @ carried
    return float((nfm * agop).sum() / (nfm.norm() * agop.norm()))
