"""B.prop10: E[ẆᵀẆ] and E[ẆᵀKẆ] of the quadratic network over (a, W), by Monte Carlo, at several widths.

ẆᵀẆ = M R M and ẆᵀKẆ = M R B R M with M = XᵀYX, B = XᵀX, R = Wᵀ diag(a²) W (B.rmt checks this by (21) and (23)). So the
means of R and of R ⊗ R over networks suffice for all data sets. Least squares decomposes each mean: E[ẆᵀẆ] into M² and
M, E[ẆᵀKẆ] into tr(B) M², M B M and M. Here M is scaled to the norm of M² or tr(B) M². Neither formula has M, so its
coefficient must be 0. The data make these matrices far from parallel: the points are nearly orthogonal, and their
labels have both signs and are larger for shorter points. Batches of networks replace seeds; wide networks have smaller
batches. As in the paper's 𝒦, the factor 2 of (t²)' = 2t is omitted.
"""

from collections.abc import Iterator
from math import isqrt

import torch
from torch import Tensor

from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are batches of networks."""

    draws: Count  # networks in a batch at width 1
    widths: list[Count]  # of the networks


DIMENSION, SETS = 4, 2
CONTROL = "control: W of unequal columns"
UNEQUAL = torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64)  # standard deviations of the columns, times k^-½


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop10/COEFFICIENT at each width x: its relative error, or its value if it must be 0."""
    for k in settings.widths:
        for seed in range(settings.instances):
            for control in (False, True):
                networks = settings.draws // isqrt(k) // (10 if control else 1)  # a wide network averages over units
                R, RR = means(k, networks, seed, control)
                for number in range(SETS):
                    X, y = data(number)
                    B, M = X.T @ X, X.T @ (y * X)
                    measured = coefficients(B, M, M @ R @ M, M @ torch.einsum("ijkl,jk->il", RR, B) @ M)
                    for arm in [CONTROL] if control else ["claim", "corrected"]:
                        for name, value in measured.items():
                            derived = formula(name, 1 if arm == "claim" else k)
                            error = value / derived - 1 if derived else value
                            yield {"arm": arm, "case": f"data set {number}", "seed": seed, "x": float(k),
                                   "quantity": f"prop10/{name}", "value": error}  # fmt: skip


def data(number: int) -> tuple[Tensor, Tensor]:
    """X (d, d) with nearly orthogonal rows of lengths about 1, 0.5, 0.25, … and labels ±1/length² (d, 1)."""
    length = torch.tensor([[0.5**place] for place in range(DIMENSION)], dtype=torch.float64)
    draw = stream("b_prop10", "data", number)
    noise = torch.from_numpy(draw.normal(size=(DIMENSION, DIMENSION)))
    signs = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]], dtype=torch.float64)
    return length * (torch.eye(DIMENSION) + 0.1 * noise), signs / length**2


def formula(name: str, k: int) -> float:
    """The derived coefficient at width k; the printed ones are those of k = 1."""
    return {"nfm": 1.0, "agop, trace": 3 / k, "agop, product": 1 + 5 / k}.get(name, 0.0)


def means(k: int, networks: int, seed: int, control: bool) -> tuple[Tensor, Tensor]:
    """Means of R (d, d) and R ⊗ R (d, d, d, d) over networks, a ~ N(0, 1), W ~ N(0, 1/k)."""
    draw = stream("b_prop10", "networks", k, seed)
    a, W = (torch.from_numpy(draw.normal(size=shape)) for shape in ((networks, k, 1), (networks, k, DIMENSION)))
    aW = a * W * UNEQUAL if control else a * W
    flat_R = (aW.transpose(1, 2) @ aW / k).flatten(1)
    return flat_R.mean(0).unflatten(0, (DIMENSION,) * 2), (flat_R.T @ flat_R / networks).reshape((DIMENSION,) * 4)


def coefficients(B: Tensor, M: Tensor, nfm: Tensor, agop: Tensor) -> dict[str, float]:
    """Coefficients of both means in the matrices of Proposition 10 and in M."""
    M2, MBM, unit = M @ M, M @ B @ M, M / M.norm()
    bases = (
        (nfm, {"nfm": M2, "nfm, rest": M2.norm() * unit}),
        (agop, {"agop, trace": B.trace() * M2, "agop, product": MBM, "agop, rest": B.trace() * M2.norm() * unit}),
    )
    solutions: dict[str, float] = {}
    for mean, basis in bases:
        design = torch.stack([matrix.flatten() for matrix in basis.values()], 1)
        solution = torch.linalg.lstsq(design, mean.flatten()[:, None]).solution[:, 0]
        solutions |= dict(zip(basis, solution.tolist(), strict=True))
    return solutions
