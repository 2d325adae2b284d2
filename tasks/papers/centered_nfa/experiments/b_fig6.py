"""B.fig6: the first layer's centered NFA in networks of two hidden layers at initialization, and its first-order term.

The data are Gaussian with covariance eigenvalues 1/(1 + k^α) in a random basis. The targets are the chain monomial of
rank 5 and the polynomial of high rank. n = d, and the paper shows one seed. As in the theory, the labels take the place
of the residuals (outputs 0); the correlation with the residuals of the sampled network is recorded as well.

The paper prints no formula for its prediction, and its authors published no program for this figure. It says that
"additional terms corresponding to the nonlinear part of φ' in ReLU networks" are missing there. So its prediction is
taken with the linear part of φ', the terms of degree 0 and 1 of its Hermite series. For the quadratic, whose φ' is
linear, that is the whole expectation.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

import gramlab
from gramlab.data import DataSet
from gramlab.data.polynomials import chain_monomial, high_rank_polynomial
from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from gramlab.theory import expected_kernel, first_order
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are seeds."""

    sizes: list[Count]  # a single one: n = d
    widths: list[Count]  # of the networks: the dashed and the solid line


DECAYS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)  # α; the paper does not print its values
TARGETS: dict[str, Callable[..., DataSet]] = {
    "low rank": partial(chain_monomial, rank=5),
    "high rank": high_rank_polynomial,
}
HIDDEN = ("quadratic", "relu")  # activations
LINEAR, WHOLE = "fig6/predicted, linear", "fig6/predicted"
ISOTROPIC, ALL_TERMS = "control: prediction for isotropic inputs", "control: prediction with all terms of φ′"


def measure(settings: Settings) -> Iterator[dict]:
    """Rows at each decay x; the layer column holds the width (0: any).

    fig6/predicted            with the whole expected kernel
    fig6/predicted, linear    with the linear part of φ', as the paper's
    fig6/observed             and its null

    Controls: both predictions for isotropic inputs; the whole one in place of the paper's.
    """
    (n,) = settings.sizes
    for seed in range(settings.instances):
        networks = {width: initial_weights(n, width, seed) for width in settings.widths}
        for target, sample in TARGETS.items():
            isotropic = sample(n, n, seed=seed).x_train
            isotropic_kernels = {phi: kernels(isotropic, phi) for phi in HIDDEN}
            for decay in DECAYS:
                data = sample(n, n, decay=decay, seed=seed)
                X, y = data.x_train, data.y_train
                for phi in HIDDEN:
                    labels = {"case": f"{phi}, {target}", "seed": seed, "x": decay}
                    predicted = {"claim": (X, kernels(X, phi)), ISOTROPIC: (isotropic, isotropic_kernels[phi])}
                    for arm, (inputs, by_quantity) in predicted.items():
                        for quantity, kernel in by_quantity.items():
                            value = first_order(inputs, y, kernel)
                            yield {**labels, "arm": arm, "layer": "0", "quantity": quantity, "value": value}
                            if (arm, quantity) == ("claim", WHOLE):
                                yield {**labels, "arm": ALL_TERMS, "layer": "0", "quantity": LINEAR, "value": value}
                    for width, weights in networks.items():
                        J, outputs = tangents(X, weights, phi)
                        labels["layer"] = str(width)
                        observed = correlation(J, X, y)
                        for arm in (*predicted, ALL_TERMS):
                            yield {**labels, "arm": arm, "quantity": "fig6/observed", "value": observed}
                        yield {**labels, "arm": "claim", "quantity": "fig6/observed, residuals",
                               "value": correlation(J, X, y - outputs)}  # fmt: skip
                        yield {**labels, "arm": "claim", "quantity": "null/fig6/observed",
                               "value": gramlab.cosine_null(*derivatives(J, X, y))[0]}  # fmt: skip


def kernels(X: Tensor, activation: str) -> dict[str, Tensor]:
    """The expected kernels of both predictions, by the quantity that they give."""
    all_terms = expected_kernel(X, [activation, activation])
    return {WHOLE: all_terms, LINEAR: all_terms if activation == "quadratic" else relu_with_linear_slopes(X)}


def relu_with_linear_slopes(X: Tensor) -> Tensor:
    """ReLU's expected kernel (n, n) with the linear part of φ', 1/2 + u/√(2π Var u), for both hidden layers.

    Then E[φ'(u) φ'(v)] = 1/4 + corr(u, v)/(2π), where the whole one has (π − arccos corr(u, v))/(2π).
    """
    covariance, kernel = X @ X.T / X.shape[1], torch.ones(len(X), len(X), dtype=X.dtype)
    for _ in range(2):
        deviation = covariance.diagonal().sqrt()
        norms = deviation[:, None] * deviation
        cosine = (covariance / norms).clamp(-1, 1)
        kernel = kernel * (0.25 + cosine / (2 * math.pi))
        covariance = norms * ((1 - cosine.square()).sqrt() + (math.pi - torch.arccos(cosine)) * cosine) / (2 * math.pi)
    return kernel


def initial_weights(d: int, k: int, seed: int) -> list[Tensor]:
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
    """ρ(ẆᵀẆ, ẆᵀKẆ)."""
    nfm, agop = derivatives(J, X, residual)
    return float((nfm * agop).sum() / (nfm.norm() * agop.norm()))


def derivatives(J: Tensor, X: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
    """ẆᵀẆ and ẆᵀKẆ (d, d), from Ẇ = JᵀYX and K = JᵀJ."""
    W_dot = J.T @ (residual * X)
    J_W_dot = J @ W_dot
    nfm, agop = W_dot.T @ W_dot, J_W_dot.T @ J_W_dot
    return nfm, agop
