"""Kernels with a feature matrix M: their values, and the AGOP and FACT of a kernel machine f = K(·, z) alpha.

Rows are samples: x is (n, d), centers z are (m, d), alpha is (m, c), and M is (d, d), symmetric and psd, or a vector
(d,), its diagonal, or None, the identity. Every kernel is a function g of one number per pair: the squared distance
(x - z)ᵀM(x - z) of a radial kernel, the inner product xᵀMz of the others. Everything comes from g and g′ by a constant
number of matrix products, in blocks of rows: beside the arguments at most one n x m matrix is ever held, and that only
where the docstring says so. Numbers are as exact as the arguments' dtype; float64 arguments give float64 throughout.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.kernels.arguments import number, one_of, whole

RADIAL = ("laplace", "gaussian")
INNER = ("exponential", "polynomial", "quadratic")
FAR = 100  # times the median row's squared length: from there on a row is far
BLOCK = 2**20  # numbers in a temporary block: 8 MiB in float64
ROWS = 256  # which it has at least: a product of fewer is no faster than memory


@dataclass(frozen=True)
class Kernel:
    """A kernel, with r the distance and t the inner product under M, and L the bandwidth.

    laplace exp(-r/L), gaussian exp(-r²/(2L²)), exponential exp(t/L²), quadratic (t/L²)²,
    polynomial (t/L² + offset)^degree. Raises BadInput on another name, a bandwidth that is not a positive number,
    a degree below 1, or a negative offset, with which the polynomial is no kernel.
    """

    name: str = "laplace"
    bandwidth: float = 1.0
    degree: int = 3
    offset: float = 1.0

    def __post_init__(self):
        one_of("kernel", self.name, RADIAL + INNER)
        number("bandwidth", self.bandwidth)
        whole("degree", self.degree, 1)
        number("offset", self.offset, positive=False)

    @property
    def radial(self) -> bool:
        """Whether it is a function of the distance."""
        return self.name in RADIAL

    def matrix(self, x: Tensor, z: Tensor | None = None, M: Tensor | None = None) -> Tensor:
        """K(x, z), (n, m); K(x, x) without z."""
        return self._values(_own_pairs(self, x, M) if z is None else _Pairs(self, z, M)(x))

    def slopes(self, x: Tensor, z: Tensor, M: Tensor | None = None) -> Tensor:
        """g′ at every pair, (n, m). Laplace's is infinite at distance 0, where its gradient is taken as 0."""
        return self._slopes(_Pairs(self, z, M)(x))

    def _values(self, s: Tensor) -> Tensor:
        """G of every entry, in place."""
        L = self.bandwidth
        if self.name == "laplace":
            return s.sqrt_().mul_(-1 / L).exp_()
        if self.name == "gaussian":
            return s.mul_(-1 / (2 * L * L)).exp_()
        if self.name == "exponential":
            return s.mul_(1 / (L * L)).exp_()
        offset, degree = self._power()
        return s.mul_(1 / (L * L)).add_(offset).pow_(degree)

    def _slopes(self, s: Tensor) -> Tensor:
        """g′ of every entry, in place but for Laplace, which needs one more block."""
        L = self.bandwidth
        if self.name == "laplace":
            r = s.sqrt_()
            slope = (r * (-1 / L)).exp_().div_(r).mul_(-1 / (2 * L))
            return slope.masked_fill_(r == 0, 0.0)
        if self.name == "gaussian":
            return s.mul_(-1 / (2 * L * L)).exp_().mul_(-1 / (2 * L * L))
        if self.name == "exponential":
            return s.mul_(1 / (L * L)).exp_().mul_(1 / (L * L))
        offset, degree = self._power()
        return s.mul_(1 / (L * L)).add_(offset).pow_(degree - 1).mul_(degree / (L * L))

    def _power(self) -> tuple[float, int]:
        return (0.0, 2) if self.name == "quadratic" else (self.offset, int(self.degree))


def times(x: Tensor, M: Tensor | None) -> Tensor:
    """X M, for M whole (d, d), diagonal (d,), or None."""
    if M is None:
        return x
    return x * M if M.ndim == 1 else x @ M


class _Pairs:
    """The squared distance or the inner product under M of every pair of a row of x with one of z, (n, m).

    What is z's alone is computed once, for all blocks of x. What is round-off is 0. A call overwrites the one before:
    blocks of their own would not all find the freed ones' memory again.

    Distances have the round-off of xᵀMx about z's mean: a row that is 10^k times as far out as the others moves the
    mean, and takes about k digits from all distances.
    """

    def __init__(self, kernel: Kernel, z: Tensor, M: Tensor | None):
        # distances don't change, and lose fewer digits about the mean
        self.mean = z.mean(0) if kernel.radial else None
        centered = z if self.mean is None else z - self.mean
        self.M, self.zM = M, times(centered, M)
        if kernel.radial:
            self.columns = (self.zM * centered).sum(1)
            # round-off of a sum of d products; any more at distance 0 would be a huge slope of Laplace's kernel
            unit = max(8.0, 4 * z.shape[1] ** 0.5) * torch.finfo(z.dtype).eps
            self.least = unit * float(self.columns.max()) if len(z) else 0.0
            # each column's own bound, not above the common one, which would hide other rows behind one far away; one
            # more pass over all pairs, and so only where there is such a row
            self.own = unit * (_norm(M, z) * centered.square().sum(1)) if len(z) else self.columns
            self.far = len(z) > 0 and self.least > FAR * float(self.own.median())
            self.own.clamp_(0.0, self.least)
        self.block = z.new_empty(0)

    def __call__(self, x: Tensor, first: int = 0) -> Tensor:
        """With z's rows from ``first`` on."""
        zM = self.zM[first:]
        if self.block.numel() < len(x) * len(zM):
            self.block = x.new_empty(len(x) * len(zM))
        s = self.block[: len(x) * len(zM)].view(len(x), len(zM))
        if self.mean is None:
            return torch.mm(x, zM.mT, out=s)
        x = x - self.mean
        lengths = (times(x, self.M) * x).sum(1)
        torch.mm(x.mul_(-2), zM.mT, out=s).add_(lengths[:, None]).add_(self.columns[first:])
        if self.far:
            for part in rows(s, len(zM)):
                s[part].masked_fill_(s[part] <= self.own[first:], 0.0)
            return s
        return torch.nn.functional.threshold(s, self.least, 0.0, inplace=True)


def _own_pairs(kernel: Kernel, x: Tensor, M: Tensor | None) -> Tensor:
    """``_Pairs`` of x with itself, from the blocks right of the diagonal; the distance to oneself is 0."""
    s, pairs = x.new_empty(len(x), len(x)), _Pairs(kernel, x, M)
    for part in rows(x, len(x)):
        block = pairs(x[part], part.start)
        s[part, part.start :] = block
        s[part.stop :, part] = block[:, len(block) :].mT
    return s.fill_diagonal_(0.0) if kernel.radial else s


def rows(x: Tensor, columns: int) -> Iterator[slice]:
    """Slices of x's rows, so that a block of that many rows and columns stays small."""
    step = max(ROWS, BLOCK // max(1, columns))
    for first in range(0, len(x), step):
        yield slice(first, first + step)


def _norm(M: Tensor | None, z: Tensor) -> Tensor:
    """An upper bound of M's largest eigenvalue, as a tensor of no dimension."""
    if M is None:
        return z.new_ones(())
    return M.max() if M.ndim == 1 else M.norm()


def predict(kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """f(x) = K(x, z) alpha, (n, c), in blocks of rows."""
    pairs, out = _Pairs(kernel, z, M), x.new_empty(len(x), alpha.shape[1])
    for part in rows(x, len(z)):  # a list of small results would keep the freed blocks between them from being reused
        out[part] = kernel._values(pairs(x[part])) @ alpha
    return out


def gradients(kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """The Jacobian of f at every row of x, (n, c, d). For a few rows: its size is n c d."""
    found = x.new_empty(len(x), alpha.shape[1], x.shape[1])
    for part, outputs, J in _jacobians(kernel, x, z, alpha, M):
        found[part, outputs] = J
    return found


def agop(
    kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None, *, centered: bool = False,
    hold: bool = True,
) -> Tensor:  # fmt: skip
    """The average gradient outer product (1/n) Σ_i J_iᵀJ_i of f over the rows of x, (d, d). Paper C, Algorithm 1.

    With ``centered`` the Jacobian's mean over x is subtracted first.
    Two ways, by cost: the Jacobians through one product of (n, m) with (m, c d), in blocks; or, where z is x itself and
    c d exceeds n, Proposition 5.1's sum over pairs, with τ = DᵀD/n of the slopes D, which holds D whole: one (n, n)
    matrix, not taken unless ``hold``. That one has squares of sums that cancel: where an ill-conditioned alpha leaves
    less than half of the digits, it is undone and the first way taken.
    """
    n, d = x.shape
    pairs = hold and x is z and alpha.shape[1] * d > n
    if pairs:
        total, mean, terms = _over_pairs(kernel, x, alpha, M)
        pairs = terms * torch.finfo(x.dtype).eps ** 0.5 < float(total.diagonal().sum())
    if not pairs:
        total = x.new_zeros(d, d)
        mean = x.new_zeros(alpha.shape[1], d)
        for _, outputs, J in _jacobians(kernel, x, z, alpha, M):
            flat = J.flatten(0, 1)
            total += flat.mT @ flat
            mean[outputs] += J.sum(0)
    total, mean = total / n, mean / n
    return total - mean.mT @ mean if centered else total


def fact(kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """The FACT Σ_ij ∂K(x_i, x_j) α_jᵀα_i x_iᵀ of a kernel machine at its own samples, (d, d). Paper C, Lemma F.1.

    It is -(1/(nλ)) Σ_i ∇_x ℓ(f(x_i), y_i) x_iᵀ where alpha = (K + nλI)⁻¹y (Algorithm 1's convention), and
    M Xᵀ B X for an inner-product kernel, 2 M Xᵀ (diag(B1) - B) X for a radial one, B_ij = g′_ij α_iᵀα_j.
    """
    total = x.new_zeros(x.shape[1], x.shape[1])
    z = x - x.mean(0) if kernel.radial else x  # a Laplacian's rows sum to 0: it doesn't see the mean
    pairs = _Pairs(kernel, x, M)
    zM = pairs.zM
    for part in rows(x, len(x)):
        B = kernel._slopes(pairs(x[part])).mul_(alpha[part] @ alpha.mT)
        if kernel.radial:
            total += 2 * ((zM[part] * B.sum(1, keepdim=True) - B @ zM).mT @ z[part])
        else:
            total += (B @ zM).mT @ z[part]
    return total


def _jacobians(
    kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Blocks of the Jacobian: the rows, the outputs, and (rows, outputs, d).

    M comes before the sums over samples: after them, what it shrinks would leave its round-off in the rest.
    """
    m, d = z.shape
    outputs = alpha.shape[1]
    step, pairs = max(1, BLOCK // (m * d)), _Pairs(kernel, z, M)
    for part in rows(x, max(m, min(step, outputs) * d)):
        D = kernel._slopes(pairs(x[part]))
        xM = None if pairs.mean is None else times(x[part] - pairs.mean, M)
        for first in range(0, outputs, step):
            weights = alpha[:, first : first + step]
            J = (D @ (weights[:, :, None] * pairs.zM[:, None]).flatten(1)).view(-1, weights.shape[1], d)
            if xM is not None:
                J = ((D @ weights)[:, :, None] * xM[:, None]).sub_(J).mul_(2)
            yield part, slice(first, first + step), J


def _over_pairs(kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None) -> tuple[Tensor, Tensor, float]:
    """Sums over x of JᵀJ, (d, d), and of J, (c, d), at its own samples: n³ instead of n² c d.

    With D the slopes, A = D alpha and B_ij = D_ij A_iᵀα_j, the first is MXᵀSXM: S = D² * (alpha alphaᵀ) of an
    inner-product kernel, 4 (D² * (alpha alphaᵀ) - B - Bᵀ + diag(A Aᵀ)) of a radial one.
    And the sum of the squares of all terms of J, of which those of one entry may cancel.
    """
    D = _own_pairs(kernel, x, M)
    x = times(x - x.mean(0) if kernel.radial else x, M)
    terms, sizes, scale = 0.0, alpha.square().sum(1) * x.square().sum(1), 4.0 if kernel.radial else 1.0
    for part in rows(x, len(x)):
        D[part] = kernel._slopes(D[part])
        terms += scale * float((D[part].square() @ sizes).sum())
    A = D @ alpha
    total = x.new_zeros(x.shape[1], x.shape[1])
    for part in rows(x, len(x)):
        rest = slice(part.start, None)
        # S is symmetric: the blocks right of the diagonal count twice
        S = (D[part] @ D[:, rest]).mul_(alpha[part] @ alpha[rest].mT)
        if kernel.radial:
            S -= (A[part] @ alpha[rest].mT).addmm_(alpha[part], A[rest].mT).mul_(D[part, rest])
            S.diagonal().add_(A[part].square().sum(1))
        S[:, len(S) :] *= 2
        total.addmm_(x[part].mT, S @ x[rest], alpha=scale)
    total = (total + total.mT) / 2
    mean = alpha.mT @ (D.sum(0)[:, None] * x)
    return total, (2 * (A.mT @ x - mean) if kernel.radial else mean), terms
