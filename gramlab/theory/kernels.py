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

from gramlab.arguments import Check
from gramlab.theory.nfa import check_finite, check_samples, matrix_cosine, near_one

Function = Callable[[Tensor], Tensor]
TERMS, NODES = 120, 200  # at most so many terms of the Hermite series; nodes of the quadrature for its coefficients
CLOSE = 1e-4  # the allowed relative error
TINY = torch.finfo(torch.float64).tiny  # numbers below it have fewer digits

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
    """Return the first-order prediction of the centered NFA for a fixed kernel (paper B, Appendix C).

        ρ(XᵀY𝒦YX, XᵀY𝒦²YX),    Y = diag(y)

    This is eq. (4) (Proposition 4) with 𝒦 replaced by its expectation. It does not change when X, y or 𝒦 is multiplied
    by a number. Computed in float64.

    Parameters
    ----------
    X : Tensor of shape (n, d)
    y : Tensor of shape (n,) or (n, 1)
        Labels or residuals.
    kernel : Tensor of shape (n, n)
        𝒦, for instance from ``expected_kernel``.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, and if XᵀY𝒦YX is zero.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> X, y = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([1.0, -1.0])
    >>> theory.first_order(X, y, torch.eye(2).double())  # with the identity, both matrices are equal
    1.0
    """
    X, y = check_samples(X, y)
    kernel = torch.as_tensor(kernel, dtype=torch.float64)
    if kernel.shape != (len(X), len(X)):
        raise ValueError(f"first_order needs a kernel ({len(X)}, {len(X)}), not {tuple(kernel.shape)}")
    check_finite("the kernel", kernel)
    YX = near_one(near_one(y)[:, None] * near_one(X))
    KYX = near_one(near_one(kernel) @ YX)
    return matrix_cosine(YX.T @ KYX, KYX.T @ KYX, "the first-order prediction", "XᵀY𝒦YX")


def expected_kernel(X: Tensor, activations: Sequence[str]) -> Tensor:
    """Return the expected tangent kernel of the first layer at infinite width (paper B, Appendix C).

        E[𝒦]_ij = Π_l E[φ_l'(u) φ_l'(v)],   (u, v) ~ N(0, Σ_l on i, j),   Σ_1 = XXᵀ/d,   Σ_{l+1} = E[φ_l(u) φ_l(v)]

    ReLU has closed forms, in which its derivative at 0 is 0, as torch's is. The others are Hermite series: exact for
    polynomials, and to a relative error of 1e-4 for the rest (``hermite``).

    Parameters
    ----------
    X : Tensor of shape (n, d)
    activations : sequence of {"relu", "linear", "quadratic", "tanh", "softplus", "gelu"}
        One for each hidden layer.

    Returns
    -------
    Tensor of shape (n, n)
        In float64.

    Raises
    ------
    ValueError
        On another name, on NaN and infinities, if the kernel or variances of pre-activations leave float64's range,
        and if a series does not converge: tanh's, for instance, where pre-activations have variances much above 1.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> theory.expected_kernel(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["relu"])
    tensor([[0.5000, 0.2500],
            [0.2500, 0.5000]], dtype=torch.float64)
    """
    X, _ = check_samples(X, torch.zeros(len(X)))
    allowed = ["relu", *SMOOTH]
    activations = list(activations)
    Check(ValueError).choices("activations", activations, allowed)
    S, kernel = X @ X.T / X.shape[1], torch.ones(len(X), len(X), dtype=torch.float64)
    is_zero = (X == 0).all(1)
    for name in activations:
        # beside ReLU's correlations, which have no unit, squares that underflow would be samples of zeros
        if name == "relu" and bool(((S.diagonal() < 1e-290) & ~is_zero).any()):
            raise ValueError("the variances of X's pre-activations leave float64's range: scale X")
        S, slopes = _relu(S) if name == "relu" else (hermite(function, S) for function in SMOOTH[name])
        kernel = kernel * slopes
    # a diagonal that underflows has lost digits, or has become that of samples of zeros
    is_lost = (kernel.diagonal() < TINY) & ~is_zero
    if not bool(torch.isfinite(kernel).all()) or bool(is_lost.any()):
        raise ValueError("the kernel of X leaves float64's range: scale X")
    return kernel


def _relu(S: Tensor) -> tuple[Tensor, Tensor]:
    """E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for ReLU: the arc-cosine kernels of Cho and Saul (2009), of order 1 and 0."""
    cosine, norms = _correlation(S)
    cosine = cosine.clamp(-1, 1)
    angle = torch.arccos(cosine)
    slopes = (math.pi - angle) / (2 * math.pi) * (norms > 0)
    return norms * (torch.sin(angle) / (2 * math.pi) + slopes * cosine), slopes


def _correlation(S: Tensor) -> tuple[Tensor, Tensor]:
    """Correlations and their denominators; the correlation with a constant is 0."""
    deviation = S.diagonal().sqrt()
    norms = deviation[:, None] * deviation
    cosine = torch.where(norms > 0, S / norms, 0.0)
    # 1 exactly: near it the arc-cosine multiplies round-off
    cosine.diagonal().copy_(norms.diagonal() > 0)
    return cosine, norms


@cache
def quadrature(nodes: int = NODES) -> tuple[Tensor, Tensor]:
    """Return nodes and weights of the Gauss quadrature for the expectation over a standard normal number."""
    places, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(nodes))
    return places, weights / math.sqrt(2 * math.pi)


def hermite(function: Function, S: Tensor) -> Tensor:
    """Return E[function(u) function(v)] for (u, v) ~ N(0, S on i, j), by Mehler's formula.

        E[function(u) function(v)] = Σ_m c_m(S_ii) c_m(S_jj) corr_ij^m,    c_m the Hermite coefficients

    The error is at most 1e-4 of (E[function(u)²] E[function(v)²])^½: this bounds the omitted terms, and the difference
    of the coefficients between quadratures of NODES and NODES - 1 nodes.

    Parameters
    ----------
    function : callable Tensor -> Tensor
        Elementwise.
    S : Tensor of shape (n, n)
        A covariance matrix, in float64.

    Returns
    -------
    Tensor of shape (n, n)

    Raises
    ------
    ValueError
        If this precision takes more than TERMS terms.

    Examples
    --------
    >>> S = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    >>> hermite(lambda u: u**2, S)  # E[u² v²] = 1 + 2 · 0.5²
    tensor([[3.0000, 1.5000],
            [1.5000, 3.0000]], dtype=torch.float64)
    """
    deviation, (correlation, _) = S.diagonal().sqrt(), _correlation(S)
    rules = [quadrature(nodes) for nodes in (NODES, NODES - 1)]
    places = [nodes for nodes, _ in rules]
    values = [function(deviation[:, None] * nodes) for nodes in places]
    scale = _power_of_two(values[0])  # so that no square underflows; by powers of two no digit changes
    values = [value / scale[:, None] for value in values]
    square = values[0].square() @ rules[0][1]
    values = [value * weights for value, (_, weights) in zip(values, rules, strict=True)]
    before, now = [torch.zeros_like(x) for x in places], [torch.ones_like(x) for x in places]  # He_m / √m!
    total, power = torch.zeros_like(S), torch.ones_like(S)
    omitted, difference = square.clone(), torch.zeros_like(square)
    for m in range(TERMS):
        c, other = (value @ polynomial for value, polynomial in zip(values, now, strict=True))
        total += c[:, None] * c * power
        omitted, difference = omitted - c.square(), difference + (c - other).square()
        if bool((omitted <= 1e-8 * square).all()):
            break
        power = power * correlation
        after = [(x * p - math.sqrt(m) * q) / math.sqrt(m + 1) for x, p, q in zip(places, now, before, strict=True)]
        before, now = now, after
    if bool(((omitted > CLOSE * square) | (difference > CLOSE**2 * square)).any()):
        variance = float(S.diagonal().max())
        raise ValueError(f"the Hermite series does not converge at pre-activations of variance {variance:.3g}")
    return total * scale[:, None] * scale


def _power_of_two(values: Tensor) -> Tensor:
    """The largest power of two up to the largest value of each row, in magnitude; 1 for zeros and infinities."""
    largest = values.abs().amax(1)
    is_number = (largest > 0) & (largest < math.inf)
    exponent = torch.where(is_number, torch.frexp(largest).exponent - 1, 0)
    return torch.ldexp(torch.ones_like(largest), exponent)
