"""The next feature matrix M of a recursive feature machine, from the one it was fitted with (paper C, Section 4).

M = WᵀW. Every update is a fixed point where its ansatz holds: M = AGOP^s, or M = FACT.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, agop, fact, times
from gramlab.kernels.solve import dual, dual_left_out
from gramlab.losses import all_finite
from gramlab.measures.powers import psd_power

UPDATES = ("agop", "fact", "fact-geometric", "fact-simplified")


def updated(
    update: str, kernel: Kernel, x: Tensor, alpha: Tensor, M: Tensor | None, *, power: float = 0.5,
    centered: bool = False,
) -> Tensor:  # fmt: skip
    """M after one step, (d, d), of the machine K_M(·, x) alpha; x is (n, d), alpha (n, c), M (d, d) or None for I.

    agop: AGOP^power, of the gradients less their mean if ``centered`` (the NFA-RFM update, W = AGOP^{power/2}).
    fact: (FACT FACTᵀ)^{1/2} (the FACT-RFM update, W = (FACT FACTᵀ)^{1/4}).
    fact-geometric: (FACT M M FACTᵀ)^{1/4} (FACT-RFM update′). FACT M is symmetric for all of these kernels, so it is
    |FACT M|^{1/2}.
    fact-simplified: (FACT M)^{1/2} (update′ for inner-product kernels, for which FACT M is psd: Proposition 5.1);
    ValueError for the others.

    Where AGOP or FACT leave the range of numbers, so does M: infinite or NaN entries, and no error.
    """
    if update == "agop":
        found = agop(kernel, x, x, alpha, M, centered=centered)
        return found if power == 1 or not all_finite(found) else psd_power((found + found.mT) / 2, power).to(x)
    if update not in UPDATES:
        raise ValueError(f"update must be one of {', '.join(UPDATES)}, not {update!r}")
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


@dataclass(frozen=True)
class Iterate:
    """A kernel machine on the way: its features M (d, d), dual weights (n, c), and errors (n, c) if asked for."""

    M: Tensor
    alpha: Tensor
    ridge: float
    left_out: Tensor | None


def iterates(
    update: str, kernel: Kernel, x: Tensor, y: Tensor, ridge: float, *, power: float = 0.5, centered: bool = False,
    leave_one_out: bool = False,
) -> Iterator[Iterate]:  # fmt: skip
    """The machines of Algorithm 1, from M = I on and without end; x is (n, d), y (n, c), ridge on the diagonal.

    With ``leave_one_out`` each comes with its leave-one-out errors (gramlab.kernels.solve.dual_left_out).
    """
    M = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    while True:
        left_out = None
        if leave_one_out:
            alpha, used, left_out = dual_left_out(lambda: kernel.matrix(x, None, M), y, ridge)  # noqa: B023
        else:
            alpha, used = dual(lambda: kernel.matrix(x, None, M), y, ridge)  # noqa: B023
        yield Iterate(M, alpha, used, left_out)
        M = updated(update, kernel, x, alpha, M, power=power, centered=centered)
