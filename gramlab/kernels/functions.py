"""Kernels with a feature matrix M: their values, and the AGOP and FACT of a kernel machine f = K(·, z) alpha.

Rows are samples: x is (n, d), centers z are (m, d), alpha is (m, c). M is (d, d), symmetric and positive semi-definite;
or a vector (d,), its diagonal; or None, the identity. Every kernel is a function g of one number per pair: the squared
distance (x - z)ᵀM(x - z) of a radial kernel, the inner product xᵀMz of the others. Everything is computed from g and g′
by a constant number of matrix products, in blocks of rows: beside the arguments at most one n x m matrix is held, and
only where the docstring says so. The arguments' dtype decides the precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.kernels.tensors import CHECK

RADIAL = ("laplace", "gaussian")
INNER = ("exponential", "polynomial", "quadratic")
FAR = 100  # a row is far if its squared length exceeds the median by this factor
BLOCK = 2**20  # numbers in a temporary block: 8 MiB in float64
CANCELLED = 1e-3  # gradients that vary by a smaller part of their squares are summed around their mean
ROWS = 256  # the least rows of a block: a product of fewer is no faster than memory


@dataclass(frozen=True)
class Kernel:
    """A kernel function.

    With r the distance and t the inner product under M, and L the bandwidth:

        laplace exp(-r/L),  gaussian exp(-r²/(2L²)),  exponential exp(t/L²),  quadratic (t/L²)²,
        polynomial (t/L² + offset)^degree.

    Parameters
    ----------
    name : {"laplace", "gaussian", "exponential", "polynomial", "quadratic"}, default "laplace"
    bandwidth : float, default 1.0
        L > 0, in the units of the inputs.
    degree : int, default 3
        Of the polynomial, at least 1.
    offset : float, default 1.0
        Of the polynomial, at least 0: with a negative offset it is no kernel.

    Raises
    ------
    BadInput
        On another name, and on a parameter out of range.

    Examples
    --------
    >>> import torch
    >>> from gramlab.kernels.functions import Kernel
    >>> Kernel("laplace", bandwidth=2.0).matrix(torch.tensor([[0.0], [2.0]]))
    tensor([[1.0000, 0.3679],
            [0.3679, 1.0000]])
    """

    name: str = "laplace"
    bandwidth: float = 1.0
    degree: int = 3
    offset: float = 1.0

    def __post_init__(self):
        CHECK.choice("kernel", self.name, RADIAL + INNER)
        CHECK.number("bandwidth", self.bandwidth, "a positive number")
        CHECK.integer("degree", self.degree)
        CHECK.number("offset", self.offset, "a number of at least 0")

    @property
    def radial(self) -> bool:
        """Whether the kernel is a function of the distance."""
        return self.name in RADIAL

    def matrix(self, x: Tensor, z: Tensor | None = None, M: Tensor | None = None) -> Tensor:
        """Return K(x, z), (n, m); K(x, x) without z."""
        return self._values(_self_pairs(self, x, M) if z is None else _Pairs(self, z, M)(x))

    def slopes(self, x: Tensor, z: Tensor, M: Tensor | None = None) -> Tensor:
        """Return g′ of every pair, (n, m). Laplace's is infinite at distance 0; there its gradient is taken as 0."""
        return self._slopes(_Pairs(self, z, M)(x))

    def _values(self, s: Tensor) -> Tensor:
        """The values g of every entry, in place."""
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
        """The slopes g′ of every entry, in place except for Laplace, which needs one more block."""
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
    """Return X M, for M a matrix (d, d), a diagonal (d,), or None."""
    if M is None:
        return x
    return x * M if M.ndim == 1 else x @ M


class _Pairs:
    """The squared distances or inner products under M of rows of x with rows of z, (n, m).

    What depends on z alone is computed once, for all blocks of x. Round-off around 0 is set to 0. A call overwrites the
    previous result: separate blocks could not all reuse the freed blocks' memory.

    Distances have the round-off of xᵀMx around z's mean: a row that is 10^k times as far out as the n others moves
    the mean, and takes about 2 (k - log10 n) digits from all distances.
    """

    def __init__(self, kernel: Kernel, z: Tensor, M: Tensor | None):
        # distances do not depend on the origin, and lose fewer digits around the mean
        self.mean = z.mean(0) if kernel.radial else None
        centered = z if self.mean is None else z - self.mean
        self.M, self.zM = M, times(centered, M)
        if kernel.radial:
            self.columns = (self.zM * centered).sum(1)
            # round-off of a sum of d products; a larger value at distance 0 would be a huge slope of Laplace's kernel
            unit = max(8.0, 4 * z.shape[1] ** 0.5) * torch.finfo(z.dtype).eps
            self.bound = unit * float(self.columns.max()) if len(z) else 0.0
            # a bound for each column, at most the common one, which would hide other rows behind one far away. It takes
            # another pass over all pairs, and so is used only if there is such a row
            self.bounds = unit * (_eigenvalue_bound(M, z) * centered.square().sum(1)) if len(z) else self.columns
            self.far = len(z) > 0 and self.bound > FAR * float(self.bounds.median())
            self.bounds.clamp_(0.0, self.bound)
        self.block = z.new_empty(0)

    def __call__(self, x: Tensor, first: int = 0) -> Tensor:
        """Return the pairs with z's rows from ``first`` on."""
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
            for part in row_blocks(s, len(zM)):
                s[part].masked_fill_(s[part] <= self.bounds[first:], 0.0)
            return s
        return torch.nn.functional.threshold(s, self.bound, 0.0, inplace=True)


def _self_pairs(kernel: Kernel, x: Tensor, M: Tensor | None) -> Tensor:
    """``_Pairs`` of x with itself, from the blocks right of the diagonal; the distance of a row to itself is 0."""
    s, pairs = x.new_empty(len(x), len(x)), _Pairs(kernel, x, M)
    for part in row_blocks(x, len(x)):
        block = pairs(x[part], part.start)
        s[part, part.start :] = block
        s[part.stop :, part] = block[:, len(block) :].mT
    return s.fill_diagonal_(0.0) if kernel.radial else s


def row_blocks(x: Tensor, columns: int) -> Iterator[slice]:
    """Yield slices of x's rows, so that a block of that many rows and columns stays small."""
    step = max(ROWS, BLOCK // max(1, columns))
    for first in range(0, len(x), step):
        yield slice(first, first + step)


def _eigenvalue_bound(M: Tensor | None, z: Tensor) -> Tensor:
    """An upper bound of M's largest eigenvalue, as a tensor of no dimension."""
    if M is None:
        return z.new_ones(())
    return M.max() if M.ndim == 1 else M.norm()


def predict(kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """Return f(x) = K(x, z) alpha, in blocks of rows.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
    z : Tensor of shape (m, d)
        The centers.
    alpha : Tensor of shape (m, c)
        Their weights.
    M : Tensor of shape (d, d) or (d,), optional
        The feature matrix, its diagonal, or None for the identity.

    Returns
    -------
    Tensor of shape (n, c)

    Examples
    --------
    >>> centers, alpha = torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [-1.0]])
    >>> predict(Kernel("laplace"), torch.tensor([[1.0], [2.0]]), centers, alpha)  # exp(-1) - exp(-1), exp(-2) - 1
    tensor([[ 0.0000],
            [-0.8647]])
    """
    pairs, outputs = _Pairs(kernel, z, M), x.new_empty(len(x), alpha.shape[1])
    for part in row_blocks(x, len(z)):  # a list of small results would keep freed blocks between them from being reused
        outputs[part] = kernel._values(pairs(x[part])) @ alpha
    return outputs


def gradients(kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """Return the Jacobian of f at every row of x, (n, c, d). For a few rows: it has n c d numbers.

    The arguments are those of ``predict``.
    """
    J = x.new_empty(len(x), alpha.shape[1], x.shape[1])
    for part, outputs, block in _jacobians(kernel, x, z, alpha, M):
        J[part, outputs] = block
    return J


def agop(
    kernel: Kernel, x: Tensor, z: Tensor, alpha: Tensor, M: Tensor | None = None, *, centered: bool = False,
    hold: bool = True,
) -> Tensor:  # fmt: skip
    """Return the average gradient outer product of f over the rows of x (paper C, Algorithm 1; paper D, Section 3.3).

        AGOP = (1/n) Σ_i J_iᵀJ_i,    J_i = ∂f/∂x at x_i

    There are two ways, chosen by cost: the Jacobians by one product of (n, m) with (m, c d), in blocks; or, where z is
    x itself and c d exceeds n, the sum over pairs of paper C's Proposition 5.1, with τ = DᵀD/n of the slopes D. The
    second way holds D, an (n, n) matrix, and sums squares that cancel: if an ill-conditioned alpha leaves less than
    half of the digits, the result is dropped and the first way taken.

    Parameters
    ----------
    kernel, x, z, alpha, M
        As for ``predict``.
    centered : bool, default False
        Whether to subtract the Jacobian's mean over x first.
    hold : bool, default True
        Whether the second way may be taken.

    Returns
    -------
    Tensor of shape (d, d)

    Examples
    --------
    >>> x, center, alpha = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0]]), torch.tensor([[1.0]])
    >>> agop(Kernel("quadratic"), x, center, alpha)  # f(x) = 9 x_1², with the gradient (18, 0)
    tensor([[324.,   0.],
            [  0.,   0.]])
    """
    n, d = x.shape
    over_pairs = hold and x is z and alpha.shape[1] * d > n
    if over_pairs:
        total, mean, terms = _agop_over_pairs(kernel, x, alpha, M)
        over_pairs = terms * torch.finfo(x.dtype).eps ** 0.5 < float(total.diagonal().sum())
    if not over_pairs:
        total = x.new_zeros(d, d)
        mean = x.new_zeros(alpha.shape[1], d)
        for _, outputs, J in _jacobians(kernel, x, z, alpha, M):
            flat = J.flatten(0, 1)
            total += flat.mT @ flat
            mean[outputs] += J.sum(0)
    total, mean = total / n, mean / n
    if not centered:
        return total
    around_mean = total - mean.mT @ mean
    if float(around_mean.diagonal().sum()) > CANCELLED * float(total.diagonal().sum()):
        return around_mean
    # f is nearly linear: the difference has lost digits
    around_mean = x.new_zeros(d, d)
    for _, outputs, J in _jacobians(kernel, x, z, alpha, M):
        flat = (J - mean[outputs]).flatten(0, 1)
        around_mean += flat.mT @ flat
    return around_mean / n


def fact(kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None = None) -> Tensor:
    """Return the FACT of a kernel machine at its own samples (paper C, Lemma F.1).

        FACT = Σ_ij ∂K(x_i, x_j) α_jᵀα_i x_iᵀ

    With alpha = (K + nλI)⁻¹y, the convention of Algorithm 1, it is −(1/(nλ)) Σ_i ∇_x ℓ(f(x_i), y_i) x_iᵀ. With
    B_ij = g′_ij α_iᵀα_j it is M Xᵀ B X for an inner-product kernel and 2 M Xᵀ (diag(B1) − B) X for a radial one.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
    alpha : Tensor of shape (n, c)
    M : Tensor of shape (d, d) or (d,), optional

    Returns
    -------
    Tensor of shape (d, d)

    Examples
    --------
    >>> x, alpha = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0]])
    >>> fact(Kernel("quadratic"), x, alpha)  # g′ = 2 ‖x‖² = 10, so that FACT is 10 x xᵀ
    tensor([[10., 20.],
            [20., 40.]])
    """
    total = x.new_zeros(x.shape[1], x.shape[1])
    z = x - x.mean(0) if kernel.radial else x  # a Laplacian's rows sum to 0: the mean does not matter
    pairs = _Pairs(kernel, x, M)
    zM = pairs.zM
    for part in row_blocks(x, len(x)):
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

    M is applied before the sums over samples: applied after them, it would leave the round-off of directions that it
    shrinks in the other directions.
    """
    m, d = z.shape
    outputs = alpha.shape[1]
    step, pairs = max(1, BLOCK // (m * d)), _Pairs(kernel, z, M)
    for part in row_blocks(x, max(m, min(step, outputs) * d)):
        D = kernel._slopes(pairs(x[part]))
        xM = None if pairs.mean is None else times(x[part] - pairs.mean, M)
        for first in range(0, outputs, step):
            weights = alpha[:, first : first + step]
            J = (D @ (weights[:, :, None] * pairs.zM[:, None]).flatten(1)).view(-1, weights.shape[1], d)
            if xM is not None:
                J = ((D @ weights)[:, :, None] * xM[:, None]).sub_(J).mul_(2)
            yield part, slice(first, first + step), J


def _agop_over_pairs(kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None) -> tuple[Tensor, Tensor, float]:
    """Sums over x of JᵀJ, (d, d), and of J, (c, d), at its own samples: n³ instead of n² c d.

    With D the slopes, A = D alpha and B_ij = D_ij A_iᵀα_j, the first is MXᵀSXM, where S = D² * (alpha alphaᵀ) for an
    inner-product kernel and 4 (D² * (alpha alphaᵀ) - B - Bᵀ + diag(A Aᵀ)) for a radial one. The third result is the
    sum of the squares of all terms of J, whose size says how far the terms cancel.
    """
    D = _self_pairs(kernel, x, M)
    x = times(x - x.mean(0) if kernel.radial else x, M)
    terms, sizes, scale = 0.0, alpha.square().sum(1) * x.square().sum(1), 4.0 if kernel.radial else 1.0
    for part in row_blocks(x, len(x)):
        D[part] = kernel._slopes(D[part])
        terms += scale * float((D[part].square() @ sizes).sum())
    A = D @ alpha
    total = x.new_zeros(x.shape[1], x.shape[1])
    for part in row_blocks(x, len(x)):
        columns = slice(part.start, None)
        # S is symmetric: the blocks right of the diagonal count twice
        S = (D[part] @ D[:, columns]).mul_(alpha[part] @ alpha[columns].mT)
        if kernel.radial:
            S -= (A[part] @ alpha[columns].mT).addmm_(alpha[part], A[columns].mT).mul_(D[part, columns])
            S.diagonal().add_(A[part].square().sum(1))
        S[:, len(S) :] *= 2
        total.addmm_(x[part].mT, S @ x[columns], alpha=scale)
    total = (total + total.mT) / 2
    mean = alpha.mT @ (D.sum(0)[:, None] * x)
    return total, (2 * (A.mT @ x - mean) if kernel.radial else mean), terms
