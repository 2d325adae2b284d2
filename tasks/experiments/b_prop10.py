"""B.prop10: E[ẆᵀẆ] and E[ẆᵀKẆ] of the quadratic network over (a, W), by Monte Carlo, at several widths.

The means of a batch of networks are decomposed by least squares, E[ẆᵀẆ] into M² and M and E[ẆᵀKẆ] into tr(XᵀX) M²,
M XᵀX M and M, with M = XᵀYX; M, scaled to the norm of the others, belongs to neither formula and must get 0. The data
are such that these matrices are far from parallel: nearly orthogonal points, the shorter the larger their labels, of
both signs. Batches are the seeds. As in the paper's 𝒦, the 2 of (t²)' = 2t is left out.
"""

from collections.abc import Iterator
from math import isqrt
from typing import Any

import torch
from torch import Tensor

from gramlab.streams import stream

DIMENSIONS = (3, 4)  # of the data sets, each of as many points
CONTROL = "control: a_s of one sign and size"


def measure(settings: Any) -> Iterator[dict]:
    """Rows: prop10/(coefficient) over the formula's less 1 (or itself, where that is 0), at each width x."""
    for d in DIMENSIONS:
        X, y = data(d)
        for k in settings.widths:
            for seed in range(settings.instances):
                for control in (False, True):
                    networks = settings.draws // isqrt(k) // (10 if control else 1)  # wide ones average by themselves
                    found = coefficients(X, y, *means(X, y, k, networks, seed, control))
                    for arm in [CONTROL] if control else ["claim", "corrected"]:
                        for name, value in found.items():
                            wanted = formula(name, 1 if arm == "claim" else k)
                            error = value / wanted - 1 if wanted else value
                            yield {"arm": arm, "case": f"n = d = {d}", "seed": seed, "x": float(k),
                                   "quantity": f"prop10/{name}", "value": error}  # fmt: skip


def data(d: int) -> tuple[Tensor, Tensor]:
    """X (d, d) with rows of lengths about 1, 0.5, 0.25, …, nearly orthogonal, and labels ±1/length² (d, 1)."""
    length = torch.tensor([[0.5**place] for place in range(d)], dtype=torch.float64)
    noise = torch.from_numpy(stream("b_prop10", "data", d).normal(size=(d, d)))
    signs = torch.tensor([[1.0], [-1.0]], dtype=torch.float64).repeat(d, 1)[:d]
    return length * (torch.eye(d) + 0.1 * noise), signs / length**2


def formula(name: str, k: int) -> float:
    """The coefficient that Proposition 10 should have at width k; its print has those of k = 1."""
    return {"nfm": 1.0, "agop, trace": 3 / k, "agop, product": 1 + 5 / k}.get(name, 0.0)


def means(X: Tensor, y: Tensor, k: int, networks: int, seed: int, control: bool) -> tuple[Tensor, Tensor]:
    """Means of ẆᵀẆ and ẆᵀKẆ over networks with a ~ N(0, 1), W ~ N(0, 1/k); of the control a_s = 1."""
    draw = stream("b_prop10", "networks", *X.shape, k, seed)
    a, W = (torch.from_numpy(draw.normal(size=shape)) for shape in ((networks, 1, k), (networks, k, X.shape[1])))
    J = X @ W.transpose(1, 2) / k**0.5 * (torch.ones_like(a) if control else a)
    step = J.transpose(1, 2) @ (y * X)
    carried = J @ step
    return tuple(torch.einsum("bij,bik->jk", one, one) / networks for one in (step, carried))  # type: ignore[return-value]


def coefficients(X: Tensor, y: Tensor, nfm: Tensor, agop: Tensor) -> dict[str, float]:
    """Of the two means in the matrices of Proposition 10, and in M itself."""
    B, M = X.T @ X, X.T @ (y * X)
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
