"""B.prop10: E[ẆᵀẆ] and E[ẆᵀKẆ] of the quadratic network over (a, W), by Monte Carlo, at several widths.

ẆᵀẆ = M R M and ẆᵀKẆ = M R B R M with M = XᵀYX, B = XᵀX, R = Wᵀ diag(a²) W (to round-off: B.rmt, (21) and (23)), so the
means of R and of R ⊗ R over networks serve all data sets. Each mean is decomposed by least squares, E[ẆᵀẆ] into M² and
M and E[ẆᵀKẆ] into tr(B) M², M B M and M; M, scaled to the norm of M² or tr(B) M², belongs to neither formula and must
get 0. The data are such that these matrices are far from parallel: nearly orthogonal points, the shorter the larger
their labels, of both signs. Batches are the seeds. As in the paper's 𝒦, the 2 of (t²)' = 2t is left out.
"""

from collections.abc import Iterator
from math import isqrt

import torch
from torch import Tensor

from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

DIMENSION, SETS = 4, 2
CONTROL = "control: W of unequal columns"
UNEQUAL = torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64)  # their standard deviations, times k^-½


class Settings(Simulation):
    """Settings of this experiment."""

    draws: Count  # networks drawn for one average
    widths: list[Count]  # of the networks


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop10/(coefficient) over the formula's less 1 (or itself, where that is 0), at each width x."""
    for k in settings.widths:
        for seed in range(settings.instances):
            for control in (False, True):
                networks = settings.draws // isqrt(k) // (10 if control else 1)  # wide ones average by themselves
                R, RR = means(k, networks, seed, control)
                for number in range(SETS):
                    X, y = data(number)
                    B, M = X.T @ X, X.T @ (y * X)
                    found = coefficients(B, M, M @ R @ M, M @ torch.einsum("ijkl,jk->il", RR, B) @ M)
                    for arm in [CONTROL] if control else ["claim", "corrected"]:
                        for name, value in found.items():
                            wanted = formula(name, 1 if arm == "claim" else k)
                            error = value / wanted - 1 if wanted else value
                            yield {"arm": arm, "case": f"data set {number}", "seed": seed, "x": float(k),
                                   "quantity": f"prop10/{name}", "value": error}  # fmt: skip


def data(number: int) -> tuple[Tensor, Tensor]:
    """X (d, d) with rows of lengths about 1, 0.5, 0.25, …, nearly orthogonal, and labels ±1/length² (d, 1)."""
    length = torch.tensor([[0.5**place] for place in range(DIMENSION)], dtype=torch.float64)
    draw = stream("b_prop10", "data", number)
    noise = torch.from_numpy(draw.normal(size=(DIMENSION, DIMENSION)))
    signs = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]], dtype=torch.float64)
    return length * (torch.eye(DIMENSION) + 0.1 * noise), signs / length**2


def formula(name: str, k: int) -> float:
    """The coefficient that Proposition 10 should have at width k; its print has those of k = 1."""
    return {"nfm": 1.0, "agop, trace": 3 / k, "agop, product": 1 + 5 / k}.get(name, 0.0)


def means(k: int, networks: int, seed: int, control: bool) -> tuple[Tensor, Tensor]:
    """Means of R (d, d) and R ⊗ R (d, d, d, d) over networks, a ~ N(0, 1), W ~ N(0, 1/k)."""
    draw = stream("b_prop10", "networks", k, seed)
    a, W = (torch.from_numpy(draw.normal(size=shape)) for shape in ((networks, k, 1), (networks, k, DIMENSION)))
    scaled = a * W * UNEQUAL if control else a * W
    flat = (scaled.transpose(1, 2) @ scaled / k).flatten(1)
    return flat.mean(0).unflatten(0, (DIMENSION,) * 2), (flat.T @ flat / networks).reshape((DIMENSION,) * 4)


def coefficients(B: Tensor, M: Tensor, nfm: Tensor, agop: Tensor) -> dict[str, float]:
    """Of the two means in the matrices of Proposition 10, and in M itself."""
    A, C, rest = M @ M, M @ B @ M, M / M.norm()
    bases = {
        "nfm": (nfm, [A, A.norm() * rest], ("nfm", "nfm, rest")),
        "agop": (agop, [B.trace() * A, C, B.trace() * A.norm() * rest], ("agop, trace", "agop, product", "agop, rest")),
    }
    found: dict[str, float] = {}
    for mean, basis, names in bases.values():
        design = torch.stack([one.flatten() for one in basis], 1)
        found |= dict(
            zip(names, torch.linalg.lstsq(design, mean.flatten()[:, None]).solution[:, 0].tolist(), strict=True)
        )
    return found
