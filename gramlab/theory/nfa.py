"""Paper B's prediction of the centered NFA at initialization, for f(x) = ½ aᵀ(Wx)². Derivation: docs/centered_nfa.md.

With M = XᵀYX, A = M², B = XᵀX and R = Wᵀ diag(a²) W, the second derivatives of the centered NFM and AGOP are twice

    ẆᵀẆ = M R M,        ẆᵀKẆ = M R B R M.

R is free of {A, B} as the sizes grow together, so every trace is a sum over non-crossing partitions.
"""

from collections.abc import Sequence
from math import frexp, inf, isfinite, prod, sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gramlab.theory.free_probability import mixed_moment, noncrossing

SLACK = 1e-9  # relative, for the round-off of moments
ASYMMETRY = 1e-5  # relative, of a symmetric matrix that was computed in float32
SMALLEST = torch.finfo(torch.float64).tiny  # below it a float64 has fewer digits
OUT_OF_RANGE = "leave float64's range: scale X or y"


class Traces(NamedTuple):
    """The three traces of paper B's eq. (10), each over the dimension d: tr[M] = (1/d) Σ M_ii.

    Attributes
    ----------
    numerator : float
        tr(ẆᵀẆ ẆᵀKẆ) = tr[ARARBR], eq. (20).
    nfm : float
        tr((ẆᵀẆ)²) = tr[ARAR], eq. (22).
    agop : float
        tr((ẆᵀKẆ)²) = tr[ARBRARBR], eq. (28) with its last term corrected.

    Examples
    --------
    >>> from gramlab import theory
    >>> theory.Traces(numerator=3.0, nfm=4.0, agop=9.0).correlation
    0.5
    """

    numerator: float
    nfm: float
    agop: float

    @property
    def correlation(self) -> float:
        """Eq. (10), with the square roots of its denominator where eq. (4) has them."""
        if not SMALLEST <= abs(self.nfm * self.agop) < inf:  # the product leaves float64's range before its factors do
            return self.numerator / sqrt(self.nfm) / sqrt(self.agop)
        return self.numerator / sqrt(self.nfm * self.agop)


def centered_nfa(X: Tensor, y: Tensor, weight_moments: Sequence[float]) -> float:
    """Return the predicted centered NFA at initialization (paper B, eq. (10)).

        ρ(ẆᵀẆ, ẆᵀKẆ) = tr[ARARBR] / √(tr[ARAR] tr[ARBRARBR]),    A = (XᵀYX)²,  B = XᵀX,  R = Wᵀ diag(a²) W

    It does not change when X, y or R is multiplied by a number. Costs a few products of (d, d) matrices, in float64.

    Parameters
    ----------
    X : Tensor of shape (n, d)
    y : Tensor of shape (n,) or (n, 1)
        Labels or residuals.
    weight_moments : sequence of 4 floats
        tr[R], tr[R²], tr[R³] and tr[R⁴], from ``moments`` of drawn networks or from ``gaussian_moments``.

    Returns
    -------
    float
        In [0, 1], up to round-off.

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, on moments that no R ≥ 0 has, and if XᵀYX is 0, for which
        there is no correlation.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> X = torch.randn(64, 32, generator=torch.Generator().manual_seed(0))
    >>> 0 < theory.centered_nfa(X, X[:, 0].sign(), theory.gaussian_moments(dimension=32, width=128)) < 1
    True
    """
    first, second, third, fourth = check_moments(weight_moments)
    M, B = scaled_statistics(X, y)
    if not bool(M.any()):
        raise ValueError("the centered NFA is undefined: XᵀYX is zero")
    return combined(_moments(M, B), (1.0, second / first**2, third / first**3, fourth / first**4)).correlation


def traces(X: Tensor, y: Tensor, weight_moments: Sequence[float]) -> Traces:
    """Return the predicted traces of eq. (10), whose ratio is ``centered_nfa``.

    Parameters
    ----------
    X, y, weight_moments
        As for ``centered_nfa``.

    Returns
    -------
    Traces

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, on moments that no R ≥ 0 has, and if the traces leave
        float64's range: they grow with the eighth and the twelfth power of X.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> theory.traces(torch.eye(2), torch.ones(2), (1.0, 1.0, 1.0, 1.0))  # R = 1
    Traces(numerator=1.0, nfm=1.0, agop=1.0)
    """
    return combined(data_moments(X, y), weight_moments)


def combined(data: dict[str, float], weight_moments: Sequence[float]) -> Traces:
    """Return ``traces`` from the moments of the data. Many networks on one data set then cost as much as one.

    Parameters
    ----------
    data : dict of str to float
        From ``data_moments``.
    weight_moments : sequence of 4 floats
        As for ``centered_nfa``.

    Returns
    -------
    Traces

    Raises
    ------
    ValueError
        On moments that no R ≥ 0 has, and if the traces leave float64's range.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> data = theory.data_moments(torch.eye(2), torch.ones(2))
    >>> [theory.combined(data, theory.gaussian_moments(2, width)).correlation < 1 for width in (2, 20)]
    [True, True]
    """
    check_moments(weight_moments)
    combination = Traces(*(alternating(word, data, weight_moments) for word in ("AAB", "AA", "ABAB")))
    if data["A"] and not all(SMALLEST <= trace < inf for trace in combination):
        raise ValueError(f"the traces {OUT_OF_RANGE}, or R")
    return combination


def data_moments(X: Tensor, y: Tensor) -> dict[str, float]:
    """Return the traces of the products of A = (XᵀYX)² and B = XᵀX that eq. (10) needs (paper B, Appendix E).

    Parameters
    ----------
    X : Tensor of shape (n, d)
    y : Tensor of shape (n,) or (n, 1)

    Returns
    -------
    dict of str to float
        From the words "A", "B", "AA", "AB", "BB", "AAB", "ABB" and "ABAB" to their traces over d.

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, and if the traces leave float64's range.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> theory.data_moments(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.ones(2))["AB"]
    32.5
    """
    M, B = statistics(X, y)
    data = _moments(M, B)
    if not (all(SMALLEST <= moment < inf for moment in data.values()) or _is_zero(X, y)):
        raise ValueError(f"the traces of the words of (XᵀYX)² and XᵀX {OUT_OF_RANGE}")
    return data


def _moments(M: Tensor, B: Tensor) -> dict[str, float]:
    """``data_moments`` from M = XᵀYX and B = XᵀX."""
    A = M @ M
    AB = A @ B
    sums = {
        "A": A.trace(), "B": B.trace(), "AA": A.square().sum(), "AB": AB.trace(), "BB": B.square().sum(),
        "AAB": (A * AB).sum(), "ABB": (AB * B).sum(), "ABAB": (AB * AB.T).sum(),
    }  # fmt: skip
    return {word: float(total) / len(B) for word, total in sums.items()}


def alternating(word: str, data: dict[str, float], weight_moments: Sequence[float]) -> float:
    """Return tr[c₁ R c₂ R … c_n R] for the word c₁c₂…c_n of data matrices that are free of R.

    Subwords of up to three letters are looked up in alphabetical order; a trace does not change when its word is
    rotated or transposed.
    """

    def moment(block: tuple[int, ...]) -> float:
        letters = "".join(word[place] for place in block)
        return data[letters if len(letters) > 3 else "".join(sorted(letters))]

    return mixed_moment(len(word), lambda block: weight_moments[len(block) - 1], moment)


def statistics(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return M = XᵀYX and B = XᵀX, (d, d), in float64."""
    X, y = check_samples(X, y)
    return X.T @ (y[:, None] * X), X.T @ X


def check_samples(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return X (n, d) and y (n,) in float64. Raises ValueError on other or empty shapes, and on NaN and infinities."""
    X, y = (torch.as_tensor(values, dtype=torch.float64) for values in (X, y))  # lists keep all digits
    if X.ndim != 2 or y.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(f"X must be (n, d) and y (n,), not {tuple(X.shape)} and {tuple(y.shape)}")
    if X.numel() == 0:
        raise ValueError(f"X needs at least one sample and one input; its shape is {tuple(X.shape)}")
    check_finite("X", X)
    check_finite("y", y)
    return X, y.reshape(-1)


def check_finite(name: str, values: Tensor) -> None:
    """Raise ValueError on NaN and infinities."""
    if not bool(torch.isfinite(values).all()):
        raise ValueError(f"{name} holds a NaN or an infinity")


def scaled_statistics(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``statistics`` for other units of X, y, M and B, in which eighth powers stay in range."""
    X, y = (values / values.abs().max().clamp_min(SMALLEST) for values in check_samples(X, y))
    M, B = statistics(X, y)
    return near_one(M), near_one(B)


def _is_zero(X: Tensor, y: Tensor) -> bool:
    """Whether M = XᵀYX is 0. If not, XM is not 0 either, so that the traces of all words of M² and XᵀX are positive."""
    return not bool(scaled_statistics(X, y)[0].any())


def near_one(values: Tensor) -> Tensor:
    """Return float64 values times a power of two, for which the largest is from 1/2 to 1. No digit changes.

    Examples
    --------
    >>> near_one(torch.tensor([3e-300, 1.5e-300], dtype=torch.float64))
    tensor([0.5023, 0.2512], dtype=torch.float64)
    """
    _, exponent = frexp(float(values.abs().max()))
    half = exponent // 2  # one factor would leave the range of powers of two
    return values * 2.0**-half * 2.0 ** (half - exponent)


def check_moments(weight_moments: Sequence[float]) -> tuple[float, float, float, float]:
    """Return the four moments. Raises ValueError unless some R ≥ 0, not 0, has them up to round-off (Stieltjes)."""
    if len(weight_moments) != 4:
        raise ValueError(f"weight_moments must be the four moments tr[R], … tr[R⁴], not {len(weight_moments)} numbers")
    first, second, third, fourth = (float(moment) for moment in weight_moments)
    valid = first > 0 and all(isfinite(moment) for moment in weight_moments)
    scaled = ((2, second), (3, third), (4, fourth))
    try:
        m2, m3, m4 = (moment / first**power if valid else 0.0 for power, moment in scaled)
    except (OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"the powers of tr[R] = {first:g} leave float64's range: scale R") from error
    # the Hankel matrices of 1, 1, m2, m3, m4 and of 1, m2, m3 must have no negative principal minor
    minors = (m2 - 1, m3 - m2**2, m4 - m2**2, m2 * m4 - m3**2, m2 * m4 + 2 * m2 * m3 - m2**3 - m3**2 - m4)
    sizes = (1.0, m3, m4, m2 * m4, m2 * m4)
    if not valid or any(minor < -SLACK * size for minor, size in zip(minors, sizes, strict=True)):
        raise ValueError(f"no matrix R ≥ 0 has the moments tr[R], … = {first:g}, {second:g}, {third:g}, {fourth:g}")
    return first, second, third, fourth


def matrix_cosine(nfm: Tensor, agop: Tensor, prediction: str, quantity: str) -> float:
    """Return ρ of two matrices. Raises ValueError if the first one is zero: the prediction is then undefined."""
    if not nfm.norm() > 0:
        raise ValueError(f"{prediction} is undefined: {quantity} is zero")
    return float((nfm * agop).sum() / (nfm.norm() * agop.norm()))


def moments(R: Tensor | np.ndarray) -> tuple[float, float, float, float]:
    """Return the first four moments of a symmetric matrix, tr[R], tr[R²], tr[R³], tr[R⁴], each over d.

    Parameters
    ----------
    R : array of shape (d, d)
        For ``centered_nfa`` it is Wᵀ diag(a²) W. The moments are computed in float64.

    Returns
    -------
    tuple of 4 floats

    Raises
    ------
    ValueError
        If R is not square, is empty or is not symmetric up to round-off, and on NaN and infinities.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> theory.moments(torch.diag(torch.tensor([1.0, 3.0])))
    (2.0, 5.0, 14.0, 41.0)
    """
    R = torch.as_tensor(R, dtype=torch.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or len(R) == 0:
        raise ValueError(f"R must be a matrix (d, d) with d of at least 1, not {tuple(R.shape)}")
    check_finite("R", R)
    asymmetry, largest = float((R - R.mT).abs().max()), float(R.abs().max())
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"R must be symmetric: it differs from its transpose by up to {asymmetry:g}, of at most {largest:g}"
        )
    square = R @ R
    powers = (R.trace(), square.trace(), (R * square).sum(), square.square().sum())
    first, second, third, fourth = (float(power) / len(R) for power in powers)
    return first, second, third, fourth


def gaussian_moments(dimension: int, width: int) -> tuple[float, float, float, float]:
    """Return the limiting moments of R = Wᵀ diag(a²) W for Gaussian weights, as both sizes grow.

    For a_s ~ N(0, 1) and W_sj ~ N(0, 1/width), R is compound free Poisson with the free cumulants

        κ_m = (d/k)^(m−1) E[a^2m] = (d/k)^(m−1) (2m − 1)!!.

    At finite sizes E tr[R²] is larger by 5/k, and networks differ by O(k^−½), since a⁸ has a large variance.

    Parameters
    ----------
    dimension : int
        d, of the inputs.
    width : int
        k, of the hidden layer.

    Returns
    -------
    tuple of 4 floats
        tr[R], tr[R²], tr[R³] and tr[R⁴].

    Raises
    ------
    ValueError
        On sizes below 1.

    Examples
    --------
    >>> from gramlab import theory
    >>> theory.gaussian_moments(dimension=100, width=100)
    (1.0, 4.0, 25.0, 202.0)
    """
    for name, size in (("dimension", dimension), ("width", width)):
        if not size >= 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
    c = dimension / width
    cumulant = {1: 1.0, 2: 3 * c, 3: 15 * c**2, 4: 105 * c**3}
    first, second, third, fourth = (
        sum(prod(cumulant[len(block)] for block in partition) for partition in noncrossing(n)) for n in (1, 2, 3, 4)
    )
    return first, second, third, fourth


def expected_derivatives(X: Tensor, y: Tensor, width: int | None) -> tuple[Tensor, Tensor]:
    """Return the expectations of ẆᵀẆ and ẆᵀKẆ at any finite width k (paper B, Proposition 10, corrected).

        E[ẆᵀẆ] = M²,    E[ẆᵀKẆ] = (3/k) Tr(XᵀX) M² + (1 + 5/k) M XᵀX M,    M = XᵀYX

    with Tr the sum of the diagonal, for a_s ~ N(0, 1) and W_sj ~ N(0, 1/k). The print has k = 1.

    Parameters
    ----------
    X : Tensor of shape (n, d)
    y : Tensor of shape (n,) or (n, 1)
    width : int or None
        k; None is infinity.

    Returns
    -------
    nfm : Tensor of shape (d, d)
    agop : Tensor of shape (d, d)
        Both in float64.

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, on widths below 1, and if the matrices leave float64's range.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> theory.expected_derivatives(torch.tensor([[2.0]]), torch.tensor([1.0]), width=1)
    (tensor([[16.]], dtype=torch.float64), tensor([[576.]], dtype=torch.float64))
    """
    M, B = statistics(X, y)
    nfm, agop = _derivatives(M, B, width)
    if not (all(SMALLEST <= float(matrix.trace()) < inf for matrix in (nfm, agop)) or _is_zero(X, y)):
        raise ValueError(f"the expected derivatives {OUT_OF_RANGE}")
    return nfm, agop


def _derivatives(M: Tensor, B: Tensor, width: int | None) -> tuple[Tensor, Tensor]:
    """``expected_derivatives`` from M = XᵀYX and B = XᵀX."""
    if width is not None and not width >= 1:
        raise ValueError(f"width must be at least 1, or None for infinity, not {width}")
    A, inverse_width = M @ M, 0.0 if width is None else 1 / width
    return A, 3 * inverse_width * B.trace() * A + (1 + 5 * inverse_width) * M @ B @ M


def mean_term(X: Tensor, y: Tensor, width: int | None) -> float:
    """Return the correlation of E[ẆᵀẆ] with E[ẆᵀKẆ]: eq. (5) without its covariance term.

    At infinite width this is the first-order term of paper B's Appendix C, in which 𝒦 is replaced by its expectation.

    Parameters
    ----------
    X, y, width
        As for ``expected_derivatives``.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    ValueError
        On shapes that do not fit, on NaN and infinities, on widths below 1, and if XᵀYX is 0.

    Examples
    --------
    >>> import torch
    >>> from gramlab import theory
    >>> round(theory.mean_term(torch.eye(3), torch.tensor([1.0, -1.0, 1.0]), width=None), 12)
    1.0
    """
    nfm, agop = _derivatives(*scaled_statistics(X, y), width)
    return matrix_cosine(nfm, agop, "the mean term", "XᵀYX")
