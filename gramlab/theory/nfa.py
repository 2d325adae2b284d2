"""Paper B's prediction of the centered NFA at initialization, for f(x) = ½ aᵀ(Wx)². Derivation: docs/centered_nfa.md.

With M = XᵀYX, A = M², B = XᵀX and R = Wᵀ diag(a²) W, the second derivatives of the centered NFM and AGOP are twice

    ẆᵀẆ = M R M,        ẆᵀKẆ = M R B R M.

R is free of {A, B} as the sizes grow together, so every trace is a sum over non-crossing partitions.
"""

from collections.abc import Sequence
from math import isfinite, prod, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from gramlab.theory.free import mixed_moment, noncrossing

SLACK = 1e-9  # relative, of moments that round-off moved


class Traces(NamedTuple):
    """The three traces of eq. (10), each over the dimension d: tr[M] = (1/d) Σ M_ii."""

    numerator: float  # tr(ẆᵀẆ ẆᵀKẆ) = tr[ARARBR], eq. (20)
    nfm: float  # tr((ẆᵀẆ)²) = tr[ARAR], eq. (22)
    agop: float  # tr((ẆᵀKẆ)²) = tr[ARBRARBR], eq. (28) with its last term corrected

    @property
    def correlation(self) -> float:
        """Eq. (10), with the square roots of its denominator where eq. (4) has them."""
        return self.numerator / sqrt(self.nfm * self.agop)


def centered_nfa(X: Tensor, y: Tensor, weight_moments: Sequence[float]) -> float:
    """The predicted ρ(ẆᵀẆ, ẆᵀKẆ) at initialization, in [0, 1] up to the error of finite sizes (paper B, eq. (10)).

    X (n, d), y (n,) or (n, 1) labels or residuals; ``weight_moments`` are tr[R], tr[R²], tr[R³] and tr[R⁴], from
    ``moments`` of drawn networks or from ``gaussian_moments``. Costs a few products of (d, d) matrices, in float64.
    The result does not change when X, y or R is multiplied by a number.
    Raises ValueError on shapes that do not fit, on NaN and infinities, on moments that no R ≥ 0 has, and where XᵀYX is
    0, for which there is no correlation.
    """
    first, second, third, fourth = check_moments(weight_moments)
    X, y = about_one(X, y)
    found = traces(X, y, (1.0, second / first**2, third / first**3, fourth / first**4))
    if not found.nfm * found.agop > 0:
        raise ValueError("the centered NFA is undefined: XᵀYX is zero")
    return found.correlation


def traces(X: Tensor, y: Tensor, weight_moments: Sequence[float]) -> Traces:
    """The predicted traces that ``centered_nfa`` is the ratio of; arguments as there."""
    return combined(data_moments(X, y), weight_moments)


def combined(data: dict[str, float], weight_moments: Sequence[float]) -> Traces:
    """``traces`` of data whose moments are there already: many networks on one data set cost as much as one."""
    check_moments(weight_moments)
    return Traces(*(alternating(word, data, weight_moments) for word in ("AAB", "AA", "ABAB")))


def data_moments(X: Tensor, y: Tensor) -> dict[str, float]:
    """The traces over d of A = (XᵀYX)², of B = XᵀX and of the products of both that the prediction needs, by name."""
    M, B = statistics(X, y)
    A = M @ M
    AB = A @ B
    sums = {
        "A": A.trace(), "B": B.trace(), "AA": A.square().sum(), "AB": AB.trace(), "BB": B.square().sum(),
        "AAB": (A * AB).sum(), "ABB": (AB * B).sum(), "ABAB": (AB * AB.T).sum(),
    }  # fmt: skip
    return {word: float(total) / len(B) for word, total in sums.items()}


def alternating(word: str, data: dict[str, float], weight_moments: Sequence[float]) -> float:
    """tr[c₁ R c₂ R … c_n R] for the word c₁c₂…c_n of data matrices, free of R, from the traces of its subwords.

    Subwords of up to three letters are looked up in alphabetical order, in which turning and transposing puts them.
    """

    def moment(block: tuple[int, ...]) -> float:
        letters = "".join(word[place] for place in block)
        return data[letters if len(letters) > 3 else "".join(sorted(letters))]

    return mixed_moment(len(word), lambda block: weight_moments[len(block) - 1], moment)


def statistics(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """M = XᵀYX and B = XᵀX, (d, d), in float64."""
    X, y = check_samples(X, y)
    return X.T @ (y[:, None] * X), X.T @ X


def check_samples(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """X (n, d) and y (n,) in float64. Raises ValueError where they are not of these shapes, or not finite."""
    X, y = torch.as_tensor(X).double(), torch.as_tensor(y).double()
    if X.ndim != 2 or y.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(f"X (n, d) and y (n,) are needed, not {tuple(X.shape)} and {tuple(y.shape)}")
    for name, one in (("X", X), ("y", y)):
        if not bool(torch.isfinite(one).all()):
            raise ValueError(f"{name} holds a NaN or an infinity")
    return X, y.reshape(-1)


def about_one(X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """``check_samples`` of both, each times what brings its largest number to 1: eighth powers are in range then."""
    X, y = (one / one.abs().max().clamp_min(torch.finfo(one.dtype).tiny) for one in check_samples(X, y))
    return X, y


def check_moments(given: Sequence[float]) -> tuple[float, float, float, float]:
    """Four numbers that are moments of an R ≥ 0, not 0 (Stieltjes), up to round-off. Raises ValueError on others."""
    if len(given) != 4:
        raise ValueError(f"four moments of R are needed, not {len(given)}")
    first, second, third, fourth = (float(one) for one in given)
    unit = first > 0 and all(isfinite(one) for one in given)
    m2, m3, m4 = (one / first**power if unit else 0.0 for power, one in ((2, second), (3, third), (4, fourth)))
    inner = m2 * m4 + 2 * m2 * m3 - m2**3 - m3**2 - m4  # det of the Hankel matrix of 1, 1, m2, m3, m4
    if not unit or m2 < 1 - SLACK or m3 < m2**2 - SLACK * m3 or inner < -SLACK * m2 * m4:
        raise ValueError(f"no matrix R ≥ 0 has the moments tr[R], … = {first:g}, {second:g}, {third:g}, {fourth:g}")
    return first, second, third, fourth


def moments(R: Tensor) -> tuple[float, float, float, float]:
    """tr[R], tr[R²], tr[R³], tr[R⁴] of a symmetric (d, d) matrix, each over d."""
    square = R @ R
    powers = (R.trace(), square.trace(), (R * square).sum(), square.square().sum())
    first, second, third, fourth = (float(power) / len(R) for power in powers)
    return first, second, third, fourth


def gaussian_moments(dimension: int, width: int) -> tuple[float, float, float, float]:
    """The moments of R = Wᵀ diag(a²) W for a_s ~ N(0, 1), W_sj ~ N(0, 1/width) (width, dimension), as both grow.

    R is then compound free Poisson: its free cumulants are κ_m = (d/k)^(m−1) E[a^2m] = (d/k)^(m−1) (2m − 1)!!.
    At finite sizes E tr[R²] is larger by 5/k, and networks differ by O(k^−½), for a⁸ has a large variance.
    """
    c = dimension / width
    cumulant = {1: 1.0, 2: 3 * c, 3: 15 * c**2, 4: 105 * c**3}
    first, second, third, fourth = (
        sum(prod(cumulant[len(block)] for block in one) for one in noncrossing(n)) for n in (1, 2, 3, 4)
    )
    return first, second, third, fourth


def expected_derivatives(X: Tensor, y: Tensor, width: int | None) -> tuple[Tensor, Tensor]:
    """E[ẆᵀẆ] and E[ẆᵀKẆ], (d, d), at any finite width k (paper B, Proposition 10, corrected); None is k = ∞.

    E[ẆᵀẆ] = M² and E[ẆᵀKẆ] = (3/k) tr(XᵀX) M² + (1 + 5/k) M XᵀX M with M = XᵀYX and the sum tr: the print has k = 1.
    a_s ~ N(0, 1), W_sj ~ N(0, 1/k). X (n, d), y (n,) or (n, 1). Raises ValueError on shapes that do not fit, on NaN and
    infinities, and on widths below 1.
    """
    if width is not None and not width >= 1:
        raise ValueError(f"no width {width}: a network has 1 hidden unit or more, or (None) infinitely many")
    M, B = statistics(X, y)
    A, part = M @ M, 0.0 if width is None else 1 / width
    return A, 3 * part * B.trace() * A + (1 + 5 * part) * M @ B @ M


def mean_term(X: Tensor, y: Tensor, width: int | None) -> float:
    """The correlation of E[ẆᵀẆ] with E[ẆᵀKẆ]: eq. (5) and its like without their covariances.

    At width None, ∞, this is the first-order term of Appendix C, in which 𝒦 is replaced by its expectation. Raises
    ValueError as ``expected_derivatives`` does, and where XᵀYX is 0.
    """
    X, y = about_one(X, y)
    nfm, agop = expected_derivatives(X, y, width)
    if not nfm.norm() > 0:
        raise ValueError("the mean term is undefined: XᵀYX is zero")
    return float((nfm * agop).sum() / (nfm.norm() * agop.norm()))
