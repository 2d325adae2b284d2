"""The expected pre-activation tangent kernel of a deep network, and the first-order prediction from it (B, Appendix C).

For f(x) = wᵀ φ_L(W_L … φ_1(W_1 x)) with weights N(0, 1/fan-in), as the widths grow, for the first layer

    E[𝒦]_ij = Π_l E[φ_l'(u) φ_l'(v)],   (u, v) ~ N(0, Σ_l on i, j),   Σ_1 = XXᵀ/d,   Σ_{l+1,ij} = E[φ_l(u) φ_l(v)].
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from gramlab.theory.nfa import check_samples

Function = Callable[[Tensor], Tensor]
TERMS, NODES = 120, 200  # of the Hermite series at most, and of the quadrature for its coefficients
CLOSE = 1e-4  # the relative error that may be

# activations whose expectations are Hermite series, each with its derivative; relu has closed forms
SMOOTH: dict[str, tuple[Function, Function]] = {
    "linear": (lambda t: t, torch.ones_like),
    "quadratic": (torch.square, lambda t: 2 * t),
    "tanh": (torch.tanh, lambda t: 1 - torch.tanh(t).square()),
    "softplus": (torch.nn.functional.softplus, torch.sigmoid),
    "gelu": (
        lambda t: t * torch.special.ndtr(t),
        lambda t: torch.special.ndtr(t) + t * torch.exp(-t.square() / 2) / math.sqrt(2 * math.pi),
    ),
}


def first_order(X: Tensor, y: Tensor, kernel: Tensor) -> float:
    """ρ(XᵀY𝒦YX, XᵀY𝒦²YX) for a fixed kernel (n, n): Proposition 4 with 𝒦 replaced by its expectation.

    X (n, d), y (n,) or (n, 1). Raises ValueError on shapes that do not fit, on NaN and infinities, and where XᵀY𝒦YX is
    zero.
    """
    X, y = check_samples(X, y)
    if kernel.shape != (len(X), len(X)):
        raise ValueError(f"a kernel ({len(X)}, {len(X)}) is needed, not {tuple(kernel.shape)}")
    YX = y[:, None] * X
    KYX = kernel @ YX
    nfm, agop = YX.T @ KYX, KYX.T @ KYX
    if not nfm.norm() > 0:
        raise ValueError("the first-order prediction is undefined: XᵀY𝒦YX is zero")
    return float((nfm * agop).sum() / (nfm.norm() * agop.norm()))


def expected_kernel(X: Tensor, activations: Sequence[str]) -> Tensor:
    """E[𝒦] (n, n) of the first layer at infinite width, one activation a hidden layer; X (n, d).

    Activations are relu, in closed form, and those of SMOOTH, by Hermite series: exact for polynomials, and for the
    others as ``hermite`` says. Of a sample of zeros too, where relu's derivative is 0, as torch's is.
    Raises KeyError on another name, and ValueError on NaN and infinities and where a series does not converge, as for
    tanh where pre-activations have variances much above 1.
    """
    X, _ = check_samples(X, torch.zeros(len(X)))
    S, kernel = X @ X.T / X.shape[1], torch.ones(len(X), len(X), dtype=torch.float64)
    for name in activations:
        S, slopes = _relu(S) if name == "relu" else (hermite(one, S) for one in SMOOTH[name])
        kernel = kernel * slopes
    return kernel


def _relu(S: Tensor) -> tuple[Tensor, Tensor]:
    """E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for ReLU: the arc-cosine kernels of Cho and Saul (2009), of order 1 and 0."""
    cosine, norms = _correlation(S)
    cosine = cosine.clamp(-1, 1)
    angle = torch.arccos(cosine)
    slopes = (math.pi - angle) / (2 * math.pi) * (norms > 0)
    return norms * (torch.sin(angle) / (2 * math.pi) + slopes * cosine), slopes


def _correlation(S: Tensor) -> tuple[Tensor, Tensor]:
    """Correlations, and what they were divided by; 0 with what does not vary."""
    size = S.diagonal().sqrt()
    norms = size[:, None] * size
    return torch.where(norms > 0, S / norms, 0.0), norms


@cache
def quadrature(nodes: int = NODES) -> tuple[Tensor, Tensor]:
    """Nodes and weights for the expectation over a standard normal number."""
    places, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(nodes))
    return places, weights / math.sqrt(2 * math.pi)


def hermite(function: Function, S: Tensor) -> Tensor:
    """E[function(u) function(v)] for (u, v) ~ N(0, S on i, j): Σ_m c_m(S_ii) c_m(S_jj) corr_ij^m (Mehler's formula).

    To 1e-4 of (E[function(u)²] E[function(v)²])^½: so much at most the terms left out may add, and c may differ between
    quadratures of NODES and of one node less. Raises ValueError where that takes more terms than TERMS.
    """
    size, (correlation, _) = S.diagonal().sqrt(), _correlation(S)
    rules = [quadrature(nodes) for nodes in (NODES, NODES - 1)]
    places = [nodes for nodes, _ in rules]
    values = [function(size[:, None] * nodes) for nodes in places]
    whole = values[0].square() @ rules[0][1]
    values = [one * weights for one, (_, weights) in zip(values, rules, strict=True)]
    before, now = [torch.zeros_like(one) for one in places], [torch.ones_like(one) for one in places]  # He_m / √m!
    total, power = torch.zeros_like(S), torch.ones_like(S)
    left, apart = whole.clone(), torch.zeros_like(whole)
    for m in range(TERMS):
        c, other = (one @ polynomial for one, polynomial in zip(values, now, strict=True))
        total += c[:, None] * c * power
        left, apart = left - c.square(), apart + (c - other).square()
        if bool((left <= 1e-8 * whole).all()):
            break
        power = power * correlation
        after = [(x * p - math.sqrt(m) * q) / math.sqrt(m + 1) for x, p, q in zip(places, now, before, strict=True)]
        before, now = now, after
    if bool(((left > CLOSE * whole) | (apart > CLOSE**2 * whole)).any()):
        raise ValueError(f"no converged series at pre-activations of variance {float(S.diagonal().max()):.3g}")
    return total
