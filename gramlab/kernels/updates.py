"""The next feature matrix M of a recursive feature machine (paper C, Section 4).

M = WᵀW. Every update is a fixed point where its ansatz holds: M = AGOP^s, or M = FACT.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.arguments import Check
from gramlab.kernels.functions import Kernel, agop, fact, times
from gramlab.kernels.solve import dual, dual_left_out
from gramlab.losses import all_finite

UPDATES = ("agop", "fact", "fact-geometric", "fact-simplified")


def next_features(
    update: str, kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None, *, power: float = 0.5,
    centered: bool = False,
) -> Tensor:  # fmt: skip
    """Return M after one update of the machine K_M(·, x) alpha (paper C, Section 4).

    ================  ============================  ==========================================================
    update            M becomes                     paper C
    ================  ============================  ==========================================================
    agop              AGOP^power                    the NFA-RFM update, W = AGOP^{power/2}
    fact              (FACT FACTᵀ)^{1/2}            the FACT-RFM update, W = (FACT FACTᵀ)^{1/4}
    fact-geometric    (FACT M M FACTᵀ)^{1/4}        FACT-RFM update′. FACT M is symmetric: it is |FACT M|^{1/2}
    fact-simplified   (FACT M)^{1/2}                update′ for the inner-product kernels here, whose power series
                                                    have no negative coefficient, so that FACT M is positive
                                                    semi-definite (after Proposition 5.1, corrected)
    ================  ============================  ==========================================================

    Parameters
    ----------
    update : {"agop", "fact", "fact-geometric", "fact-simplified"}
    kernel : Kernel
    x : Tensor of shape (n, d)
    alpha : Tensor of shape (n, c)
    M : Tensor of shape (d, d), or None for the identity
    power : float, default 0.5
        Of the AGOP, paper C's s.
    centered : bool, default False
        Whether the AGOP is of the gradients minus their mean.

    Returns
    -------
    Tensor of shape (d, d)
        With infinite or NaN entries, and no error, if AGOP or FACT leave the range of numbers.

    Raises
    ------
    ValueError
        On another update, and on "fact-simplified" with a radial kernel.

    Examples
    --------
    >>> x, alpha = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0]])
    >>> next_features("fact", Kernel("quadratic"), x, alpha, None)  # FACT is 10 x xᵀ, and so is the root of FACT FACTᵀ
    tensor([[10., 20.],
            [20., 40.]])
    """
    if update == "agop":
        G = agop(kernel, x, x, alpha, M, centered=centered)
        return G if power == 1 or not all_finite(G) else _power((G + G.mT) / 2, power)
    Check(ValueError).choice("update", update, UPDATES)
    if update == "fact-simplified" and kernel.radial:
        raise ValueError(f"update fact-simplified needs an inner-product kernel; {kernel.name} is radial")
    F = fact(kernel, x, alpha, M)
    if not all_finite(F):
        return F
    if update == "fact":
        U, S, _ = torch.linalg.svd(F)
        return (U * S) @ U.mT
    G = times(F, M)
    if not all_finite(G):
        return G
    values, vectors = torch.linalg.eigh((G + G.mT) / 2)
    root = values.abs() if update == "fact-geometric" else values.clamp_min(0)
    return (vectors * root.sqrt()) @ vectors.mT


def _power(G: Tensor, power: float) -> Tensor:
    """Return the power of an AGOP; it has no negative eigenvalues but round-off, which counts as zero.

    In float32 the AGOP over pairs may have more round-off than ``gramlab.psd_power`` allows.
    """
    values, vectors = torch.linalg.eigh(G.double())
    positive = values > len(G) * torch.finfo(torch.float64).eps * values.abs().max()
    powers = torch.where(positive, torch.where(positive, values, 1.0) ** power, 0.0)
    return ((vectors * powers) @ vectors.mT).to(G)


@dataclass(frozen=True)
class Iterate:
    """A kernel machine during the iteration.

    Attributes
    ----------
    M : Tensor of shape (d, d)
        Its features.
    alpha : Tensor of shape (n, c)
        Its dual weights.
    ridge : float
        The ridge that was used.
    left_out : Tensor of shape (n, c), or None
        Its leave-one-out errors.
    """

    M: Tensor
    alpha: Tensor
    ridge: float
    left_out: Tensor | None


def iterates(
    update: str, kernel: Kernel, x: Tensor, y: Tensor, ridge: float, *, power: float = 0.5, centered: bool = False,
    leave_one_out: bool = False,
) -> Iterator[Iterate]:  # fmt: skip
    """Yield the machines of paper C's Algorithm 1 without end, the first with M = I.

    Parameters
    ----------
    update, kernel, power, centered
        As for ``next_features``.
    x : Tensor of shape (n, d)
    y : Tensor of shape (n, c)
    ridge : float
        The number on the kernel matrix's diagonal, nλ in Algorithm 1.
    leave_one_out : bool, default False
        Whether to compute leave-one-out errors (gramlab.kernels.solve.dual_left_out).

    Yields
    ------
    Iterate

    Examples
    --------
    >>> from itertools import islice
    >>> import torch
    >>> from gramlab.kernels.functions import Kernel
    >>> from gramlab.kernels.updates import iterates
    >>> x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> first, second = islice(iterates("agop", Kernel("gaussian", 2.0), x, x[:, :1].sin(), ridge=1e-3), 2)
    >>> int(second.M.diagonal().argmax())  # the first coordinate alone matters
    0
    """
    M = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    while True:
        left_out = None
        if leave_one_out:
            alpha, used_ridge, left_out = dual_left_out(lambda: kernel.matrix(x, None, M), y, ridge)  # noqa: B023
        else:
            alpha, used_ridge = dual(lambda: kernel.matrix(x, None, M), y, ridge)  # noqa: B023
        yield Iterate(M, alpha, used_ridge, left_out)
        M = next_features(update, kernel, x, alpha, M, power=power, centered=centered)
